"""A session in a folder: what was taught and asked, and what was learned from it. Nothing is pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepbass.core.checked_json import read_json
from deepbass.core.config import OWN, Config, one_of
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.core.foreign import decoding
from deepbass.core.label_names import name_of_label
from deepbass.core.labels import Ids
from deepbass.core.loop import UNTRAINED, State
from deepbass.core.own_model import is_code
from deepbass.core.own_parts import PARTS, OwnParts
from deepbass.data.pool import Pool
from deepbass.features.saved_extractor import pack_extractor, unpack_extractor
from deepbass.learn.own_network import Networks
from deepbass.runs.given_again import named_in_full, parts_again
from deepbass.runs.identity import pool_fingerprint
from deepbass.runs.in_memory import Seen, look_again, stand_in
from deepbass.runs.packing import pack_labels, unpack_labels
from deepbass.runs.session_curve import SessionCurve
from deepbass.runs.stepwise import Stepwise
from deepbass.store.names import FEATURES_FILE, LABELS_FILE, LEARNER_FILE, SESSION_FILE

FORMAT = "deepbass session"
VERSION = 1
_KIND = {
    "format": str,
    "version": int,
    "config": dict,
    "classes": [(str, int, float, bool)],
    "closed": bool,
    "iteration": int,
    "stale": bool,
    "learner_classes": int,
    "rows": int,
    "samples": int,
    "shape": [int],
    "pixels": bool,
    "features": str,
    "fingerprint": str,
    "curve?": [[(int, float, type(None))]],
    "asked?": [int],
}
_RESTORE = "Restore it from a copy."
_LARGEST = 2**32  # side of a sample


def write_session(folder: Path, step: Stepwise, classes: Sequence[object], *, closed: bool) -> None:
    """Fill a folder."""
    pool = step.seen.pool
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "config": step.config.as_dict(),
        "classes": list(classes),
        "closed": closed,
        "iteration": step.state.iteration,
        "stale": step.stale,
        "learner_classes": 0 if step.learner is None else step.learner_classes,
        "rows": pool.row_map.total,
        "samples": len(pool),
        "shape": list(pool.shape),
        "pixels": pool.pixels,
        "features": step.seen.features,
        "fingerprint": pool_fingerprint(pool, pool.rows),
        "curve": step.curve.packed(),
        "asked": step.curve.asked,
    }
    (folder / SESSION_FILE).write_text(json.dumps(facts, indent=2, ensure_ascii=False), encoding="utf-8")
    (folder / LABELS_FILE).write_bytes(pack_labels(step.labels))
    if step.learner is not None:
        (folder / LEARNER_FILE).write_bytes(step.learner.state())
    if step.seen.extractor is not None:
        (folder / FEATURES_FILE).write_bytes(pack_extractor(step.seen.extractor))


def read_session(
    path: Path, X: Any, *, model: Any, features: str | None, parts: Mapping[str, Any]
) -> tuple[Stepwise, list[Any], bool]:
    """Read a session again: where it stands, its classes, and whether there may be no others."""
    facts = _facts(path)
    config = Config.of(facts["config"])
    own = _parts_again(path, config, parts)
    if config.model == OWN and model is None:
        raise ConfigError(f"The model of {path} was passed in Python: give it again, as in open(..., model=...).")
    extractor = None
    if (path / FEATURES_FILE).exists():
        content = _read(path / FEATURES_FILE)
        extractor = unpack_extractor(content, path / FEATURES_FILE, named=features)
    like = Seen(stand_in(facts["shape"], facts["pixels"]), facts["features"], extractor)
    seen = look_again(X, like)
    _check_same(path, facts, seen.pool)
    networks = Networks(model, seen.pool.shape)
    step = Stepwise(seen, config, len(facts["classes"]), networks, own)
    labels, _ = unpack_labels(_read(path / LABELS_FILE), max(1, len(facts["classes"])))
    if len(labels) != facts["samples"]:
        raise StoreError(f"{path / LABELS_FILE} has {len(labels)} samples, not {facts['samples']}. {_RESTORE}")
    step.state = State(labels.extended(len(seen.pool), labels.classes), facts["iteration"])
    step.stale = facts["stale"]
    step.curve = _curve(facts)
    if facts["learner_classes"]:
        with decoding(path / LEARNER_FILE, "state of a learner", _RESTORE, StoreError):
            step.restore(_read(path / LEARNER_FILE), facts["learner_classes"])
    return step, facts["classes"], facts["closed"]


def _parts_again(path: Path, config: Config, given: Mapping[str, Any]) -> OwnParts:
    """Collect the parts of the caller's own, which a folder does not hold."""
    for name in given:
        one_of("part", name, PARTS)
    parts = {name: named_in_full(name, given.get(name)) for name in PARTS}
    for name, part in parts.items():
        used = getattr(config, name)
        if (used == OWN or is_code(used)) and part is None:
            how = "was passed in Python" if used == OWN else f"is code, {used!r}"
            raise ConfigError(f"{name} of {path} {how}: give it again, as in open(..., {name}=...).")
    return parts_again(config, parts)


def _facts(path: Path) -> dict[str, Any]:
    file = path / SESSION_FILE
    if not file.is_file():
        raise StoreError(
            f"{path} holds no session: it has no {SESSION_FILE}. Give the folder that session.save(...) wrote."
        )
    with decoding(file, "description of a session", _RESTORE, StoreError):
        facts: dict[str, Any] = read_json(_read(file), _KIND)
        if (facts["format"], facts["version"]) != (FORMAT, VERSION):
            raise ValueError(f"it is {facts['format']!r}, version {facts['version']}")
        if not facts["shape"] or not all(0 < side < _LARGEST for side in facts["shape"]) or len(facts["shape"]) > 8:
            raise ValueError(f"shape = {facts['shape']} is no list of sizes")
        if facts["learner_classes"] not in range(len(facts["classes"]) + 1) or facts["iteration"] < UNTRAINED:
            raise ValueError("its counts contradict one another")
        if len({name_of_label(class_) for class_ in facts["classes"]}) < len(facts["classes"]):
            raise ValueError("two classes have one name")
        Config.of(facts["config"])
        _curve(facts)
    return facts


def _curve(facts: dict[str, Any]) -> SessionCurve:
    return SessionCurve.unpacked(facts.get("curve", []), facts.get("asked", []), facts["samples"])


def _check_same(path: Path, facts: dict[str, Any], pool: Pool) -> None:
    """Refuse other samples than those that were asked and taught about; more of them at the end are welcome."""
    before: Ids = (pool.rows < facts["rows"]).nonzero()[0]
    same = pool if len(before) == len(pool) else pool.part(before)
    if pool.row_map.total < facts["rows"] or len(same) != facts["samples"]:
        raise DataError(f"{path} was saved with {facts['rows']} rows, and X has {pool.row_map.total}: give the same X.")
    if pool_fingerprint(same, same.rows) != facts["fingerprint"]:
        raise DataError(
            f"The first {facts['rows']} rows of X are not those that {path} was saved with: give the same samples in "
            "the same order; new ones may follow."
        )


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise StoreError(f"Cannot read {file}: {error.strerror}. {_RESTORE}") from error
