"""Where settings come from, and how they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepbass.cli.set_option import from_words
from deepbass.core.errors import ConfigError
from deepbass.core.setting import read_share
from deepbass.runs.configure import configure, from_toml


def test_later_layers_win() -> None:
    config = configure("toy", "paper", {"seed": 1, "ask-count": 7}, {"seed": 2})
    assert (config.seed, config.ask_count, config.initial) == (2, 7, 8)


def test_the_toys_paper_setting_is_its_own() -> None:
    toy, mnist = configure("toy", "paper"), configure("mnist", "paper")
    assert (toy.initial, toy.iterations, toy.ask_count, toy.ask_every, toy.admit) == (8, 72, 2, 2, "step-wise")
    assert (mnist.initial, mnist.iterations, mnist.admit) == (100, 200, "all-data")


def test_the_papers_mnist_experiment_ends_with_300_labels() -> None:
    config = configure("mnist", "paper")
    asked = -(-config.iterations // config.ask_every) * config.ask_count
    assert config.initial + asked == 300


@pytest.mark.parametrize(("text", "value"), [("20%", 0.2), ("0.2", 0.2), (" 7.5 % ", 0.075), (".1", 0.1)])
def test_shares_are_read_with_or_without_percent(text: str, value: float) -> None:
    assert read_share("validation", text) == pytest.approx(value)
    assert configure("digits", "paper", {"validation": text}).validation == pytest.approx(value)


def test_every_share_may_be_written_with_percent() -> None:
    config = configure("digits", "paper", {"oracle-error": "5%", "dropout": "50%", "quantile": "80 %", "stretch": "5%"})
    assert (config.oracle_error, config.dropout, config.quantile, config.stretch) == (0.05, 0.5, 0.8, 0.05)


@pytest.mark.parametrize("text", ["", "much", "20%%", "-5%", "1e-1", "nan"])
def test_other_shares_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="2% or"):
        read_share("validation", text)


def test_words_are_toml_values_or_plain_text() -> None:
    words = from_words(["seed=3", "strict=true", "l2 = 1e-4", "acquire=bald", "model='cnn'", "replay=a=b"])
    assert words == {"seed": 3, "strict": True, "l2": 1e-4, "acquire": "bald", "model": "cnn", "replay": "a=b"}


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("seed = ")
    with pytest.raises(ConfigError, match="not valid TOML"):
        from_toml(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not valid TOML"):
        from_toml(file)


DIGITS, LEVELS = "9" * 5_000, "[" * 3_000


@pytest.mark.parametrize("value", [DIGITS, f"-{DIGITS}", LEVELS + "]" * 3_000], ids=["digits", "minus", "levels"])
def test_what_no_decoder_takes_is_refused_in_files_and_in_words(tmp_path: Path, value: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(f"seed = {value}")
    with pytest.raises(ConfigError, match="not valid TOML"):
        from_toml(file)
    with pytest.raises(ConfigError, match=r"--set seed=.* cannot be read") as refused:
        from_words([f"seed={value}"])
    assert len(str(refused.value)) < 600


def test_a_number_that_nothing_can_hold_is_refused() -> None:
    for settings in ({"seed": 2**63}, {"iterations": 10**5_000}, {"learning_rate": float("inf")}):
        with pytest.raises(ConfigError, match="too large"):
            configure("toy", "paper", settings)
    assert configure("toy", "paper", {"seed": 2**63 - 1}).seed == 2**63 - 1


def test_a_replay_names_its_oracle_in_whichever_layer_it_comes() -> None:
    assert configure("toy", "paper", {"oracle": "simulated"}, {"replay": "runs/one"}).oracle == "replay"


def test_paths_are_kept_whole_so_that_a_run_can_be_resumed_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    config = configure("toy", "paper", {"model": "net.py:build", "replay": "runs/one"})
    assert config.model.endswith("net.py:build")
    assert Path(config.model).is_absolute()
    assert config.replay is not None
    assert Path(config.replay).is_absolute()
    assert config.oracle == "replay"
