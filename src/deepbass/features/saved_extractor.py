"""An extractor as bytes and back, without pickle: a model that was trained on features predicts elsewhere with them."""

from __future__ import annotations

import json
from importlib import import_module

import numpy as np
import safetensors.numpy

from deepbass.core.checked_json import Kind as JsonKind
from deepbass.core.checked_json import read_json
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.foreign import decoding, excerpt
from deepbass.core.own_model import check_named, is_code
from deepbass.features.extractor import Extractor, State

_FACTS = "facts"  # all of a state that is no array, as the bytes of a JSON text
_KIND: dict[str, JsonKind] = {  # what must be in it, by name of the features
    "imagenet": {"identity": str, "side": int},
    "imagenet-depths": {"identity": str, "side": int},
    "sentences": {"identity": str},
    "words": {"version": int, "terms": [str]},
    "sentences-words": {"identity": str, "version": int, "terms": [str]},
    "series": {"version": int, "steps": int},
    "table": {"version": int, "numbers": [list], "categories": [list], "left_out": {"*": str}},
}
_MADE_BY = {  # by what: modules of this room
    "imagenet": ("deepbass.features.imagenet", "ImagenetFeatures"),
    "imagenet-depths": ("deepbass.features.imagenet_depths", "ImagenetDepths"),
    "sentences": ("deepbass.features.sentences", "SentenceFeatures"),
    "words": ("deepbass.features.tfidf", "WordFeatures"),
    "sentences-words": ("deepbass.features.sentences_words", "SentencesWords"),
    "series": ("deepbass.features.series", "SeriesFeatures"),
    "table": ("deepbass.features.tabular", "TableFeatures"),
}
_OWN: JsonKind = {"identity": str, "kind": str, "width": int}


def pack_extractor(extractor: Extractor) -> bytes:
    """Write what it takes to compute the same features elsewhere, as safetensors."""
    state = extractor.state()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    facts = {name: value for name, value in state.items() if name not in arrays}
    text = json.dumps(facts).encode("ascii")
    return safetensors.numpy.save({**arrays, _FACTS: np.frombuffer(text, dtype=np.uint8)})


def unpack_extractor(packed: bytes, where: object, *, named: str | None = None) -> Extractor:
    """Make an extractor again; ``where`` is the file, for errors.

    Features of somebody's own are code: what runs is what the user has ``named``, and nothing else. What is not
    installed, or of another version than the model was trained with, is an error that says so.
    """
    advice = "Restore it from a copy, or train again."
    with decoding(where, "description of features", advice, DataError):
        arrays = safetensors.numpy.load(packed)
        state: State = read_json(arrays.pop(_FACTS).tobytes(), {"name": str})
        name = state["name"]
        if not is_code(name) and name not in _KIND:
            raise ValueError(f"there are no features {excerpt(name)}")
        read_json(json.dumps(state), _OWN if is_code(name) else _KIND[name])
    check_named(name, named, where, f"features={name!r}", what="features")
    if named is not None and named != name and not (is_code(named) and is_code(name)):
        raise ConfigError(f"The features of {where} are {name!r}, not {named!r}: leave them out, or train again.")
    with decoding(where, "description of features", advice, DataError):
        return _make({**state, **arrays}, named)


def _make(state: State, named: str | None) -> Extractor:
    """Make an extractor of its state; each is imported only when it is needed."""
    if is_code(state["name"]):
        from deepbass.features.own_features import OwnFeatures

        return OwnFeatures.from_state(state, named or state["name"])
    place, made = _MADE_BY[state["name"]]
    found: Extractor = getattr(import_module(place), made).from_state(state)
    return found
