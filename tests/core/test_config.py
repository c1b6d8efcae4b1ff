"""A wrong setting is refused when the configuration is made."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from deepbass.cli.settings_table import renew
from deepbass.core.acquire import ACQUIRE
from deepbass.core.admit import ADMIT
from deepbass.core.by_budget import PLACED
from deepbass.core.config import OWN, PEOPLE, Config, RunSettings
from deepbass.core.errors import ConfigError
from deepbass.core.loop import Method
from deepbass.core.own_parts import PARTS
from deepbass.core.presets import AUTO, PRESETS, preset, suited
from deepbass.core.setting import Setting, settings_of

SETTINGS = {name: setting for name, (setting, _) in settings_of(Config).items()}


def test_defaults_are_the_papers_mnist_experiment() -> None:
    config = Config()
    assert (config.initial, config.iterations, config.ask_count, config.ask_every) == (100, 200, 10, 10)
    assert (config.passes_pool, config.passes_known, config.copies, config.initial_epochs) == (10, 100, 20, 100)
    assert (config.batch_size, config.learning_rate, config.l2, config.dropout) == (256, 1e-3, 1e-3, 0.33)
    assert (config.acquire, config.admit) == ("max-entropy", "all-data")
    assert (config.rotate, config.stretch) == (0, 0)  # all of it but one remark is without augmentation


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"acquire": "max-entorpy"}, "Did you mean 'max-entropy'"),
        ({"admit": "some"}, "all-data, step-wise, confident, weighed, none"),
        ({"device": "tpu"}, "auto, cpu, cuda, mps"),
        ({"iteration": 3}, "Did you mean 'iterations'"),
        ({"seed": "1"}, "seed = '1'"),
        ({"seed": True}, "seed = True"),
        ({"seed": -1}, "0 or more"),
        ({"iterations": 1.5}, "iterations = 1.5"),
        ({"ask_count": 0}, "1 or more"),
        ({"pool": 1}, "2 or more"),
        ({"budget": 99}, "raise the budget"),
        ({"pool": "all"}, "pool = 'all'"),
        ({"quantile": 1.0}, "below 1"),
        ({"validation": 0.0}, "between 0 and 1"),
        ({"validation": float("nan")}, "between 0 and 1"),
        ({"learning_rate": 0.0}, "above 0"),
        ({"learning_rate": float("nan")}, "above 0"),
        ({"oracle_error": 1.5}, "below 1"),
        ({"rotate": -1}, "rotate = -1 must be at least 0 and below 180"),
        ({"rotate": 180.0}, "below 180"),
        ({"rotate": float("nan")}, "below 180"),
        ({"stretch": -0.05}, "stretch = -0.05 must be at least 0 and below 1"),
        ({"stretch": 1}, "below 1"),
        ({"oracle": "replay"}, "go together"),
        ({"keep_checkpoints": 1}, "2 or more"),
        ({"strict": 1}, "strict = 1"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Config.of(settings)
    assert says in str(refused.value)


def test_every_policy_can_be_configured_with_dashes_or_underscores() -> None:
    for acquire in ACQUIRE:
        for admit in ADMIT:
            config = Config(acquire=acquire.replace("-", "_"), admit=admit.replace("-", "_"))
            assert (config.acquire, config.admit) == (acquire, admit)
            Method.of(config)


def test_a_configuration_survives_being_written_down() -> None:
    config = Config(seed=3, acquire="bald", pool=500, validation=0.25)
    assert Config.of(config.as_dict()) == config


def test_presets_are_valid_for_every_data_set() -> None:
    for name in PRESETS:
        for data in ("toy", "digits", "mnist", "fashion-mnist", "some/folder"):
            Config.of(preset(name, data))
    with pytest.raises(ConfigError, match="Unknown preset 'fast'"):
        preset("fast", "mnist")


@pytest.mark.parametrize("budget", [1, 7, 10, 20, 21, 100, 300, 5000])
@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 32, 32), (1, 64, 64)])
def test_on_pictures_the_default_spends_any_budget_while_there_is_time_to_learn(
    shape: tuple[int, ...], budget: int
) -> None:
    config = Config.of({**preset(AUTO, "x", budget), **suited("pixels", shape, 60_000, {"budget": budget})})
    assert config.budget == budget
    assert config.initial <= budget
    asking = -(-(budget - config.initial) // config.ask_count)  # iterations
    assert asking <= config.iterations // 2
    assert config.teacher > 0
    assert config.copies * budget >= 2_000 or config.copies == 1


def test_half_of_a_few_labels_of_pictures_are_typical_and_the_others_are_asked_for_amid_doubts() -> None:
    def settings(budget: int) -> tuple[int, str]:
        chosen = suited("pixels", (1, 28, 28), 60_000, {"budget": budget})
        return chosen["initial"], chosen["acquire"]

    assert [settings(budget) for budget in (1, 10, 20, 40)] == [(first, "regional") for first in (1, 5, 10, 20)]
    assert [settings(budget) for budget in (41, 100)] == [(20, "margin-draw"), (33, "margin-draw")]


def test_a_large_pool_of_pictures_has_fewer_iterations_in_about_the_same_time() -> None:
    found = [suited("pixels", (1, 28, 28), samples, {})["iterations"] for samples in (500, 5_000, 60_000, 10**7)]
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == (30, 10)
    small, large = found[1] * (130_000 + 5_000), found[2] * (130_000 + 60_000)  # looks
    assert large == pytest.approx(small, rel=0.1)


def test_the_default_leaves_alone_what_the_user_decides_and_what_is_no_picture() -> None:
    assert suited("pixels", (2,), 1000, {}) == {}
    assert suited("pixels", (1, 28, 28), 1000, {"model": "cnn"}) == {}
    assert suited("imagenet", (512,), 1000, {})["admit"] == "weighed"
    assert suited("imagenet", (512,), 1000, {"model": "own.py:net"})["admit"] == "none"
    assert suited("pixels", (1, 28, 28), 1000, {"rotate": 10.0}) == {}
    chosen = suited("pixels", (1, 28, 28), 1000, {"initial": 500, "iterations": 8})
    assert (chosen["initial"], chosen["budget"], chosen["iterations"]) == (500, 500, 8)
    assert suited("pixels", (1, 28, 28), 40, {})["budget"] == 40  # a pool smaller than the budget


def test_the_page_of_settings_is_what_the_configuration_says_of_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == renew(page), "run: python -m deepbass.cli.settings_table docs/configuration.md"
    missing = [field.name for field in fields(Config) if f"`{field.name}`" not in page]
    assert not missing


def test_every_policy_can_be_chosen_and_every_choice_is_there() -> None:
    assert list(SETTINGS["acquire"].choices) == [*ACQUIRE, *PLACED]
    assert list(SETTINGS["admit"].choices) == list(ADMIT)


def test_what_editors_know_of_the_settings_is_what_the_configuration_takes() -> None:
    given_as_values = {"initial", "model", "oracle", *PARTS}
    types = get_type_hints(Config)
    assert get_type_hints(RunSettings) == {name: types[name] for name in types if name not in given_as_values}
    assert RunSettings.__required_keys__ == frozenset()


@pytest.mark.parametrize("name", [name for name, setting in SETTINGS.items() if setting.allowed])
def test_every_range_is_kept_at_both_of_its_ends(name: str) -> None:
    setting = SETTINGS[name]
    whole = get_type_hints(Config)[name] in (int, int | None)
    least: float = 1 if whole else 1e-9

    def taken(value: float) -> bool:
        try:
            Config.of({"budget": None, "initial": 1, name: value})
        except ConfigError as error:
            assert f"{name} = {value}" in str(error)
            assert setting.allowed in str(error)
            return False
        return True

    for bound, inside in ((setting.at_least, +1), (setting.at_most, -1)):
        if bound is not None:
            assert taken(bound)
            assert not taken(bound - inside * least)
    for bound, inside in ((setting.above, +1), (setting.below, -1)):
        if bound is not None:
            assert not taken(bound)
            assert taken(bound + inside * least)


@pytest.mark.parametrize("name", [name for name, setting in SETTINGS.items() if setting.choices])
def test_every_choice_is_taken_and_no_other(name: str) -> None:
    setting: Setting = SETTINGS[name]
    for choice in (*setting.choices, *setting.written):
        more: dict[str, Any] = {"replay": "runs/one"} if choice == "replay" else {}
        more |= {"target_error": 0.02} if choice == "target" else {}
        assert getattr(Config.of({name: choice, **more}), name) == choice
    with pytest.raises(ConfigError, match=f"Unknown {name} 'teapot'"):
        Config.of({name: "teapot"})
    assert not {OWN, PEOPLE} & set(setting.choices)  # nobody is offered them


def test_the_configuration_loads_neither_numpy_nor_torch() -> None:
    code = "import sys, deepbass.core.config; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
