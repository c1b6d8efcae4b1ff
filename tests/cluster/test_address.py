"""Whatever is wrong with a cluster, it is said within seconds, in words that help."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deepbass.cli import app
from deepbass.cli.ray_option import _with_address
from deepbass.cluster.address import check_address, is_address
from deepbass.cluster.connection import connected
from deepbass.core.errors import ConfigError


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.mark.parametrize("word", ["10.0.0.1:6379", "head.example:6379", "[::1]:6379", "auto", "local", "ray://h:1"])
def test_addresses_are_told_from_other_words(word: str) -> None:
    assert is_address(word)
    assert list(_with_address(["run", "--ray", word])) == ["run", "--ray", word]


@pytest.mark.parametrize("word", ["mnist", "data/photos", "C:\\photos", "", "--workers", "a:b"])
def test_ray_may_stand_alone_before_any_other_word(word: str) -> None:
    assert list(_with_address(["--ray", word])) == ["--ray=local", word]
    assert list(_with_address([word, "--ray"])) == [word, "--ray=local"]
    assert list(_with_address(["--", "--ray"])) == ["--", "--ray"]


def test_no_cluster_at_the_address_is_said_at_once() -> None:
    since = time.monotonic()
    with (
        pytest.raises(ConfigError, match=r"no Ray cluster at 127.0.0.1:\d+.*ray start --head"),
        connected(f"127.0.0.1:{free_port()}", None),
    ):
        pass
    assert time.monotonic() - since < 20


@pytest.mark.parametrize(
    ("address", "words"), [("ray://head:10001", "sees no files"), ("nowhere", "HOST:PORT"), ("head:port", "HOST:PORT")]
)
def test_what_is_no_address_is_said(address: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        check_address(address)


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'deepbass\[ray\]'"), connected(None, None):
        pass


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["reproduce", "toy", "--workers", "0"], "--workers 0 is too few"),
        (["compare", "toy", "--ray", "--workers", "0"], "--workers 0 is too few"),
        (["compare", "toy", "--ray", "127.0.0.1:1"], "no Ray cluster at 127.0.0.1:1"),
    ],
)
def test_the_command_says_what_is_wrong(words: list[str], error: str, tmp_path: object) -> None:
    out = CliRunner().invoke(app, [*words, "--out", str(tmp_path)])
    assert out.exit_code == 2
    assert error in " ".join(out.output.split())


def test_a_wrong_model_is_said_before_a_cluster_is_started(tmp_path: Path) -> None:
    out = CliRunner().invoke(app, ["predict", str(tmp_path / "nothing"), str(tmp_path), "--ray"])
    assert out.exit_code == 2
    assert "is not there" in out.output
    assert "Ray" not in out.output
