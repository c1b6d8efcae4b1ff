"""How a sample becomes what the network sees: extractors of photographs, texts and tables, and a cache."""

from deepbass.features.choice import PIXELS, Choice, choose
from deepbass.features.compute import Computed, compute_features, open_features
from deepbass.features.extractor import Extractor
from deepbass.features.feature_array import FeatureArray
from deepbass.features.saved_extractor import pack_extractor, unpack_extractor

__all__ = [
    "PIXELS",
    "Choice",
    "Computed",
    "Extractor",
    "FeatureArray",
    "choose",
    "compute_features",
    "open_features",
    "pack_extractor",
    "unpack_extractor",
]
