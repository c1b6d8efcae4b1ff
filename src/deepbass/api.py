"""The library's front door: run, resume, load_model. Each does in one call what the command does."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from deepbass.core.acquire import Acquire, Acquisition
from deepbass.core.admit import Admission, Admit
from deepbass.core.config import OWN, Config, RunSettings
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.loop import Method, Oracle, Stop
from deepbass.core.own_model import check_named, check_same_kind, is_code
from deepbass.core.own_rules import method_with
from deepbass.core.presets import AUTO, suited
from deepbass.data.catalogue import NAMED
from deepbass.data.featurised import Featurise
from deepbass.data.load import PIXELS, Data, from_arrays, load
from deepbass.runs.configure import configure, reconfigure
from deepbass.runs.featurise import Featuriser
from deepbass.runs.lifecycle import Result, Run, Watch
from deepbass.runs.saved_model import load_saved
from deepbass.store.rundir import RunDir


def run(
    data: str | PathLike[str] | ArrayLike,
    y: ArrayLike | None = None,
    *,
    X_val: ArrayLike | None = None,
    y_val: ArrayLike | None = None,
    config: Config | None = None,
    preset: str | None = None,
    initial: int | Sequence[int | str] | NDArray[np.integer] | None = None,
    model: nn.Module | str | None = None,
    oracle: Oracle | str | None = None,
    acquire: Acquire | Acquisition | str | None = None,
    admit: Admit | Admission | str | None = None,
    stop: Stop | str | None = None,
    out: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    watch: Watch | None = None,
    **settings: Unpack[RunSettings],
) -> Result:
    """Run DeepBASS on named data, a path, or arrays (a label of -1 is unknown), and return the trained model.

    Settings are those of a ``config`` or of a ``preset`` (``"auto"``: what suits the data), and above these the fields
    of `Config` that are given by name. Five of them may be a value of your own instead of a name: ``model`` any
    ``nn.Module`` that returns logits, ``oracle`` any object that can be asked, and the rules ``acquire(belief, askable,
    count, rng)``, which returns ids, ``admit(belief, threshold, labels)``, which returns labels, and ``stop(state)``,
    which returns why the run is over, or None. They are not kept in the run's directory: `resume` has to be given them
    again.

    ``initial`` is how many labels are known at the start, or which: rows of the training data, or names.

    ``out`` is the run's directory, else ``runs/NAME-1`` and so on. ``folder`` is where data sets known by name may lie
    already.
    """
    parts = {"model": model, "oracle": oracle, "acquire": acquire, "admit": admit, "stop": stop}
    named: dict[str, Any] = {
        field: part if isinstance(part, str) else OWN for field, part in parts.items() if part is not None
    }
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
    # the caller's model stays as it is; a function that the caller named may be called
    network = copy.deepcopy(model) if isinstance(model, nn.Module) else chosen.model
    watch = watch or Watch()
    featurise = Featuriser(chosen.features, named=chosen.features, on_progress=watch.on_progress)
    if source is not None:
        loaded = load(source, chosen, folder=_path(folder), progress=watch.bars, featurise=featurise)
        source = source if source in NAMED else str(Path(source).expanduser().resolve())
    elif y is not None:
        loaded = from_arrays(cast(ArrayLike, data), y, X_val, y_val, config=chosen, featurise=featurise)
    else:
        raise DataError("Arrays need labels: call run(X, y), with -1 for the unknown ones.")
    if preset == AUTO:
        given = {**settings, **named}
        suits = suited(loaded.features, loaded.pool.shape, len(loaded.pool), given)
        chosen = reconfigure({**chosen.as_dict(), **suits}, given)
    watch.on_config(chosen)
    method = _method(chosen, acquire, admit, stop)
    for note in loaded.notes:
        watch.on_note(note)
    where = Path(out) if out is not None else free_directory(loaded.name)
    own_oracle = None if isinstance(oracle, str) else oracle
    with Run.create(
        where,
        chosen,
        loaded,
        source=source,
        initial=chosen_initial,
        extractor=featurise.extractor,
        model=network,
        oracle=own_oracle,
        method=method,
        watch=watch,
    ) as begun:
        return begun.go()


def resume(
    path: str | PathLike[str],
    data: str | PathLike[str] | ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    X_val: ArrayLike | None = None,
    y_val: ArrayLike | None = None,
    features: str | None = None,
    model: nn.Module | str | None = None,
    oracle: Oracle | None = None,
    acquire: Acquire | Acquisition | None = None,
    admit: Admit | Admission | None = None,
    stop: Stop | None = None,
    folder: str | PathLike[str] | None = None,
    watch: Watch | None = None,
) -> Result:
    """Go on with a stopped or killed run, to the same end as if it had never stopped.

    ``data`` says where the data is now, if it has moved. A run on arrays, or with values of its own, gets them again;
    so does one whose model or features are a function, as in ``model="net.py:build"``: no code is run because a folder
    names it.
    """
    with RunDir.open(path) as run_dir:
        config = Config.of(run_dir.about["config"])
        _check_given_again(
            config, path, {"model": model, "oracle": oracle, "acquire": acquire, "admit": admit, "stop": stop}
        )
        method = _method(config, acquire, admit, stop)
        watch = watch or Watch()
        used = run_dir.about["data"].get("features", PIXELS)
        again = f"deepbass resume {shlex.quote(str(path))} --features {shlex.quote(used)}"
        check_named(used, features, path, f"{again}, or in Python features={used!r}", what="features")
        featurise = Featuriser(used, named=features, on_progress=watch.on_progress)
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
        network = copy.deepcopy(model) if isinstance(model, nn.Module) else model
        return Run.resume(
            run_dir,
            loaded,
            extractor=featurise.extractor,
            model=network,
            oracle=oracle,
            method=method,
            watch=watch,
        ).go()


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


def _method(
    config: Config,
    acquire: Acquire | Acquisition | str | None,
    admit: Admit | Admission | str | None,
    stop: Stop | str | None,
) -> Method:
    return method_with(
        config,
        acquire=None if isinstance(acquire, str) else acquire,
        admit=None if isinstance(admit, str) else admit,
        stop=None if isinstance(stop, str) else stop,
    )


def _check_given_again(config: Config, path: str | PathLike[str], parts: Mapping[str, object]) -> None:
    """Refuse to go on without what a run began with, or with something else."""
    missing = [field for field, part in parts.items() if part is None and getattr(config, field) == OWN]
    if missing:
        again = ", ".join(f"{field}=..." for field in missing)
        raise ConfigError(
            f"{' and '.join(missing)} of {path} {'was' if len(missing) == 1 else 'were'} passed in Python, and not "
            f"kept: go on there, with deepbass.resume({str(path)!r}, {again})."
        )
    model = parts["model"]
    named = model if isinstance(model, str) else None
    if not isinstance(model, nn.Module):
        command = f"deepbass resume {shlex.quote(str(path))} --model {shlex.quote(config.model)}"
        check_named(config.model, named, path, f"{command}, or in Python model={config.model!r}")
        check_same_kind(config.model, named, path)
    for field, part in parts.items():
        is_own = getattr(config, field) == OWN or (field == "model" and is_code(config.model))
        if part is not None and not isinstance(part, str) and not is_own:
            raise ConfigError(
                f"The run {path} has {field} = {getattr(config, field)!r}, and goes on with it: leave {field}=... out, "
                "or start a new run."
            )


def _again(
    about: Mapping[str, Any],
    config: Config,
    data: str | PathLike[str] | ArrayLike | None,
    y: ArrayLike | None,
    X_val: ArrayLike | None,
    y_val: ArrayLike | None,
    *,
    folder: Path | None,
    progress: bool,
    featurise: Featurise,
) -> Data:
    if data is not None and not isinstance(data, str | PathLike):
        if y is None:
            raise DataError("Arrays need labels: call resume(path, X, y).")
        return from_arrays(data, y, X_val, y_val, config=config, featurise=featurise)
    source = data if data is not None else about["data"].get("source")
    if source is None:
        raise DataError("This run was started on arrays in Python: resume it there, with deepbass.resume(path, X, y).")
    return load(str(source), config, folder=folder, progress=progress, featurise=featurise)


def _rows(initial: Sequence[int | str] | NDArray[np.integer]) -> list[int | str]:
    rows = initial.tolist() if isinstance(initial, np.ndarray) else list(initial)
    if not rows or not all(isinstance(row, int | str) and not isinstance(row, bool) for row in rows):
        raise DataError("initial is a number of labels, or a list of rows or names of samples, as in initial=[3, 17].")
    return rows


def _path(folder: str | PathLike[str] | None) -> Path | None:
    return None if folder is None else Path(folder)
