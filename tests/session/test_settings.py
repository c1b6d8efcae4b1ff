"""Where settings come from, and how they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepbass.cli.words import from_words
from deepbass.core.errors import ConfigError
from deepbass.session.settings import configure, from_toml, share


def test_later_layers_win() -> None:
    config = configure("toy", "paper", {"seed": 1, "ask-count": 7}, {"seed": 2})
    assert (config.seed, config.ask_count, config.initial) == (2, 7, 8)


def test_the_toys_paper_setting_is_its_own() -> None:
    toy, mnist = configure("toy", "paper"), configure("mnist", "paper")
    assert (toy.initial, toy.iterations, toy.ask_count, toy.ask_every, toy.admit) == (8, 72, 2, 2, "step-wise")
    assert (mnist.initial, mnist.iterations, mnist.admit) == (100, 200, "all-data")


def test_the_quick_preset_asks_for_as_many_labels_as_the_papers_mnist_experiment() -> None:
    for preset in ("paper", "quick"):
        config = configure("mnist", preset)
        asked = -(-config.iterations // config.ask_every) * config.ask_count
        assert config.initial + asked == 300


@pytest.mark.parametrize(("text", "value"), [("20%", 0.2), ("0.2", 0.2), (" 7.5 % ", 0.075), (".1", 0.1)])
def test_shares_are_read_with_or_without_percent(text: str, value: float) -> None:
    assert share(text) == pytest.approx(value)
    assert configure("digits", "paper", {"validation": text}).validation == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "much", "20%%", "-5%", "1e-1", "nan"])
def test_other_shares_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="20% or"):
        share(text)


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


def test_paths_are_kept_whole_so_that_a_run_can_be_resumed_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    config = configure("toy", "paper", {"model": "net.py:build", "replay": "runs/one"})
    assert config.model.endswith("net.py:build")
    assert Path(config.model).is_absolute()
    assert config.replay is not None
    assert Path(config.replay).is_absolute()
    assert config.oracle == "replay"
