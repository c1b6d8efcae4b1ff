"""The library's front door: run, resume, load, load_model. Each does in one call what the command does."""

from __future__ import annotations

import copy
import logging
import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from deepbass.cluster.run_on_ray import computed_by, features_computed_by
from deepbass.core.acquire import Acquire, Acquisition
from deepbass.core.admit import Admission, Admit
from deepbass.core.callbacks import Callback, Callbacks
from deepbass.core.config import OWN, Config, RunSettings
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.loop import Oracle
from deepbass.core.own_model import check_named
from deepbass.core.own_parts import names_of, parts_of
from deepbass.core.presets import AUTO, suited
from deepbass.core.row_map import RowMap, StartRule
from deepbass.core.stop import StopRule
from deepbass.data.catalogue import NAMED
from deepbass.data.dataset_samples import HasItems, is_dataset, labels_of_dataset
from deepbass.data.featurised import Featurise
from deepbass.data.in_python import from_python
from deepbass.data.load import PIXELS, Data, from_arrays
from deepbass.data.load import load as load_data
from deepbass.data.sample_arrays import looks_unscaled
from deepbass.learn.choose_learner import MakeLearner
from deepbass.learn.optimisation import MakeOptimizer, MakeSchedule
from deepbass.learn.own_network import MakeNetwork, own_network
from deepbass.learn.torch_engine import Loss
from deepbass.oracle import Answering, AnyOracle
from deepbass.runs.configure import configure, reconfigure, whole_reference
from deepbass.runs.featurise import Featuriser
from deepbass.runs.given_again import check_given_again, named_in_full, parts_again
from deepbass.runs.lifecycle import Result, Run, Watch
from deepbass.runs.loaded_model import LoadedModel
from deepbass.runs.on_cluster import watch_workers
from deepbass.runs.saved_model import load_saved
from deepbass.store.rundir import RunDir


def run(
    data: str | PathLike[str] | ArrayLike | HasItems,
    y: ArrayLike | None = None,
    *,
    X_val: ArrayLike | HasItems | None = None,
    y_val: ArrayLike | None = None,
    config: Config | None = None,
    preset: str | None = None,
    initial: int | Sequence[int | str] | NDArray[np.integer] | None = None,
    model: nn.Module | MakeNetwork | str | None = None,
    oracle: AnyOracle | str | None = None,
    start: StartRule | str | None = None,
    acquire: Acquire | Acquisition | str | None = None,
    admit: Admit | Admission | str | None = None,
    stop: StopRule | str | None = None,
    learner: MakeLearner | str | None = None,
    optimizer: MakeOptimizer | str | None = None,
    schedule: MakeSchedule | str | None = None,
    loss: Loss | str | None = None,
    out: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    watch: Watch | None = None,
    callbacks: Sequence[Callback] | Callback | None = None,
    engine: str | None = None,
    address: str | None = None,
    workers: int | None = None,
    **settings: Unpack[RunSettings],
) -> Result:
    """Run DeepBASS on named data, a path, arrays (a label of -1 is unknown) or a dataset; return the trained model.

    Settings are those of a ``config`` or of a ``preset`` (``"auto"``: what suits the data), and above these the fields
    of `Config` that are given by name. Some of them may be a value of your own instead of a name: ``model`` any
    ``nn.Module`` that returns logits, or a function of (shape, classes) that makes one; ``oracle`` whoever answers (a
    function of rows, an object that can be asked, an array or a mapping of labels); the rules ``start(samples,
    labelled, count, rng)`` and ``acquire(belief, askable, count, rng)``, which return rows, ``admit(belief, threshold,
    labels)``, which returns labels, and ``stop(history)``, which returns why the run is over, or None; ``optimizer``
    (of the weights), ``schedule`` (of the optimiser) and ``loss`` (of logits and classes), as torch has them; and
    ``learner``, a subclass of `LocalLearner`. They are not kept in the run's directory: `resume` has to be given them
    again, and so it has what goes by ``file.py:function``.

    Samples go by their rows in the data that is passed in, whatever is held out of it: in questions, in rules, and in
    ``labels`` of the result.

    ``initial`` is how many labels are known at the start, or which: rows of the training data, or names.

    ``callbacks`` hear of every iteration, and may end the run: see `deepbass.Callback`.

    ``out`` is the run's directory, else ``runs/NAME-1`` and so on. ``folder`` is where data sets known by name may lie
    already.

    ``engine="ray"`` has the network trained and asked by ``workers`` of the Ray cluster at ``address``, or of one that
    is started on this machine, with the same results: where a run is computed is no setting of it.
    """
    rules = {"start": start, "acquire": acquire, "admit": admit, "stop": stop}
    parts = {**rules, "learner": learner, "optimizer": optimizer, "schedule": schedule, "loss": loss}
    named: dict[str, Any] = names_of({"model": model, "oracle": oracle, **parts})
    chosen_initial = None if initial is None or isinstance(initial, int) else _rows(initial)
    if chosen_initial is not None:
        named |= {"initial": max(1, len(chosen_initial)), "initial_labels": OWN}
    elif initial is not None:
        named["initial"] = initial
    source = str(data) if isinstance(data, str | PathLike) else None
    if config is None:
        preset = preset or AUTO
        chosen = configure(source or "arrays", preset, {**settings, **named})
    elif preset is None:
        chosen = reconfigure(config.as_dict(), {**settings, **named})
    else:
        raise ConfigError(f"preset = {preset!r} and a config are given: a config has all settings, so leave one out.")
    unwatched = watch is None
    called = Callbacks(callbacks)
    watch = watch or Watch(on_note=_log_note)
    featurise = Featuriser(chosen.features, network=chosen.model, named=chosen.features, on_progress=watch.on_progress)
    with computed_by(engine, address, workers, watch.on_note) as there:
        if source is not None:
            with features_computed_by(there):
                loaded = load_data(source, chosen, folder=_path(folder), progress=watch.bars, featurise=featurise)
            source = source if source in NAMED else str(Path(source).expanduser().resolve())
        elif y is not None or is_dataset(data):
            with features_computed_by(there):
                loaded = _from_python(data, y, X_val, y_val, chosen, featurise)
            if unwatched and loaded.features == PIXELS and (said := looks_unscaled(from_python(data), "X")):
                warnings.warn(said, stacklevel=2)  # the command shows it among its notes
        else:
            raise DataError("Arrays need labels: call run(X, y), with -1 for the unknown ones.")
        if preset == AUTO:
            given = {**settings, **named}
            suits = suited(loaded.features, loaded.pool.shape, len(loaded.pool), given)
            chosen = reconfigure({**chosen.as_dict(), **suits}, given)
        watch.on_config(chosen)
        rows = loaded.pool.row_map
        own = parts_of(chosen, parts)
        called.on_start(chosen)
        for note in loaded.notes:
            watch.on_note(note)
        where = Path(out) if out is not None else free_directory(loaded.name)
        own_oracle = None if isinstance(oracle, str) else _answering(oracle, loaded)
        with Run.create(
            where,
            chosen,
            loaded,
            source=source,
            initial=chosen_initial,
            extractor=featurise.extractor,
            model=_network(model, loaded) or chosen.model,  # a function that the caller named may be called
            oracle=own_oracle,
            own=own,
            callbacks=called,
            watch=watch_workers(watch, there, where),
        ) as begun:
            if featurise.as_they_are:
                watch.on_note(featurise.as_they_are)
            result = _by_row(begun.go(), rows)
        called.on_end(result.ended)
        return result


def resume(
    path: str | PathLike[str],
    data: str | PathLike[str] | ArrayLike | HasItems | None = None,
    y: ArrayLike | None = None,
    *,
    X_val: ArrayLike | HasItems | None = None,
    y_val: ArrayLike | None = None,
    features: str | None = None,
    model: nn.Module | MakeNetwork | str | None = None,
    oracle: AnyOracle | None = None,
    start: StartRule | str | None = None,
    acquire: Acquire | Acquisition | str | None = None,
    admit: Admit | Admission | str | None = None,
    stop: StopRule | str | None = None,
    learner: MakeLearner | str | None = None,
    optimizer: MakeOptimizer | str | None = None,
    schedule: MakeSchedule | str | None = None,
    loss: Loss | str | None = None,
    folder: str | PathLike[str] | None = None,
    watch: Watch | None = None,
    callbacks: Sequence[Callback] | Callback | None = None,
    engine: str | None = None,
    address: str | None = None,
    workers: int | None = None,
) -> Result:
    """Go on with a stopped or killed run, to the same end as if it had never stopped.

    ``data`` says where the data is now, if it has moved. A run on arrays, or with values of its own, gets them again;
    so does one whose model or features are a function, as in ``model="net.py:build"``: no code is run because a folder
    names it. ``engine``, ``address`` and ``workers`` say where it is computed from now on, as in `run`.
    """
    with RunDir.open(path) as run_dir:
        config = Config.of(run_dir.about["config"])
        rules = {"start": start, "acquire": acquire, "admit": admit, "stop": stop}
        given = {**rules, "learner": learner, "optimizer": optimizer, "schedule": schedule, "loss": loss}
        parts = {name: named_in_full(name, part) for name, part in given.items()}
        model, features = named_in_full("model", model), named_in_full("features", features)
        check_given_again(config, path, {"model": model, "oracle": oracle, **parts})
        own = parts_again(config, parts)
        called = Callbacks(callbacks)
        watch = watch or Watch(on_note=_log_note)
        used = run_dir.about["data"].get("features", PIXELS)
        again = f"deepbass resume {shlex.quote(str(path))} --features {shlex.quote(used)}"
        check_named(used, features, path, f"{again}, or in Python features={used!r}", what="features")
        featurise = Featuriser(used, named=features, on_progress=watch.on_progress)
        with computed_by(engine, address, workers, watch.on_note) as there:
            with features_computed_by(there):
                loaded = _again(
                    run_dir.about,
                    config,
                    data,
                    y,
                    X_val,
                    y_val,
                    folder=_path(folder),
                    progress=watch.bars,
                    featurise=featurise,
                )
            rows = loaded.pool.row_map
            watch.on_config(config)
            called.on_start(config)
            run = Run.resume(
                run_dir,
                loaded,
                extractor=featurise.extractor,
                model=_network(model, loaded) or (model if isinstance(model, str) else None),
                oracle=_answering(oracle, loaded),
                own=own,
                callbacks=called,
                watch=watch_workers(watch, there, run_dir.path),
            )
            result = _by_row(run.go(), rows)
    called.on_end(result.ended)
    return result


def load(
    path: str | PathLike[str],
    *,
    model: nn.Module | str | None = None,
    features: str | None = None,
    passes: int | None = None,
) -> LoadedModel:
    """Open a trained model to predict with: of a run, of a labelling project (its newest), or of a folder of a model.

    Such a folder is what ``deepbass export --format model``, `DeepBASSClassifier.save` and `Session.save` write. A
    network of your own is passed in, or named again, as in ``model="net.py:build"``, and so are features of your own:
    no code is run because a folder names it. ``passes`` overrides the setting ``predict_passes``.
    """
    named = whole_reference(model) if isinstance(model, str) else copy.deepcopy(model)
    return LoadedModel.load(path, model=named, features=whole_reference(features) if features else None, passes=passes)


def load_model(path: str | PathLike[str], model: nn.Module | str | None = None) -> nn.Module:
    """Load the trained network of a finished run, or of a folder that ``deepbass export --format model`` made.

    It is ready to predict. A model of your own is passed in to be filled, or named again, as in
    ``model="net.py:build"``: no code is run because a folder names it.
    """
    return load_saved(Path(path), model)


def free_directory(name: str) -> Path:
    """Find the first of runs/NAME-1, runs/NAME-2, ... that is not there yet."""
    number = 1
    while (path := Path("runs") / f"{name}-{number}").exists():
        number += 1
    return path


def _network(model: object, data: Data) -> nn.Module | None:
    """Copy the caller's network, or have it made; None where it goes by a name. What was passed in stays as it is."""
    return copy.deepcopy(own_network(model, data.pool.shape, len(data.classes)))


def _answering(oracle: AnyOracle | None, data: Data) -> Oracle | None:
    return None if oracle is None else Answering(oracle, data.pool.row_map, data.classes)


def _by_row(result: Result, rows: RowMap) -> Result:
    return replace(result, labels=rows.labels(result.labels))


def _again(
    about: Mapping[str, Any],
    config: Config,
    data: str | PathLike[str] | ArrayLike | HasItems | None,
    y: ArrayLike | None,
    X_val: ArrayLike | HasItems | None,
    y_val: ArrayLike | None,
    *,
    folder: Path | None,
    progress: bool,
    featurise: Featurise,
) -> Data:
    if data is not None and not isinstance(data, str | PathLike):
        if y is None and not is_dataset(data):
            raise DataError("Arrays need labels: call resume(path, X, y).")
        return _from_python(data, y, X_val, y_val, config, featurise)
    source = data if data is not None else about["data"].get("source")
    if source is None:
        raise DataError("This run was started on arrays in Python: resume it there, with deepbass.resume(path, X, y).")
    return load_data(str(source), config, folder=folder, progress=progress, featurise=featurise)


def _from_python(X: Any, y: Any, X_val: Any, y_val: Any, config: Config, featurise: Featurise) -> Data:
    held_out = None if X_val is None else from_python(X_val, "X_val")
    y = labels_of_dataset(X) if y is None else y
    if y_val is None and X_val is not None and is_dataset(X_val):
        y_val = labels_of_dataset(X_val, "X_val")
    return from_arrays(from_python(X), y, held_out, y_val, config=config, featurise=featurise)


def _log_note(note: str) -> None:
    """Tell a program that looks at its log what the command would print."""
    logging.getLogger("deepbass").info(note)


def _rows(initial: Sequence[int | str] | NDArray[np.integer]) -> list[int | str]:
    rows = initial.tolist() if isinstance(initial, np.ndarray) else list(initial)
    if not rows or not all(isinstance(row, int | str) and not isinstance(row, bool) for row in rows):
        raise DataError("initial is a number of labels, or a list of rows or names of samples, as in initial=[3, 17].")
    return rows


def _path(folder: str | PathLike[str] | None) -> Path | None:
    return None if folder is None else Path(folder)
