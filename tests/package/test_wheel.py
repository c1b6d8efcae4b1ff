"""What is in the wheel: all that a user needs, and nothing of the workshop. make package-test installs and uses it."""

from __future__ import annotations

import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import deepbass

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "deepbass"
KERNEL = "deepbass/learn/kernel"
ABOUT = f"deepbass-{deepbass.__version__}.dist-info"
COMPILER = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho "built" > "$2"\n'
Build = Callable[[str], Path]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Build the wheel with a compiler that does as if, or without one."""
    stand_in = tmp_path / "compiler"
    stand_in.write_text(COMPILER)
    stand_in.chmod(0o755)

    def make(compiler: str) -> Path:
        monkeypatch.setenv("CXX", str(stand_in))
        monkeypatch.setenv("DEEPBASS_BUILD_KERNEL", "1" if compiler == "there" else "0")
        return Path(next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path / "dist"), versions=["standard"])))

    return make


def sources() -> set[str]:
    """List the files of the package, but for what Python and the compiler left there."""
    left = (".pyc", ".so")
    files = (file for file in SOURCE.rglob("*") if file.is_file() and file.suffix not in left)
    return {file.relative_to(SOURCE.parent).as_posix() for file in files}


def test_without_a_compiler_the_wheel_is_for_every_system_and_holds_the_package_and_nothing_else(build: Build) -> None:
    wheel = build("missing")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        described = opened.read(f"{ABOUT}/METADATA").decode()
        assert "Tag: py3-none-any" in opened.read(f"{ABOUT}/WHEEL").decode()
    about = {f"{ABOUT}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    assert names == sources() | about
    assert {"deepbass/py.typed", "deepbass/web/static/index.html", "deepbass/notebook/label_widget.js"} <= names
    for extra in ("photos", "texts", "web", "sklearn", "onnx", "notebook", "all"):
        assert f"Provides-Extra: {extra}\n" in described


def test_with_a_compiler_it_is_for_this_system_and_the_source_tree_stays_as_it_is(build: Build) -> None:
    before = {file: file.stat().st_mtime_ns for file in (ROOT / "src" / KERNEL).iterdir()}
    wheel = build("there")
    tag = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    assert wheel.name.endswith(f"-{tag}.whl")
    with zipfile.ZipFile(wheel) as opened:
        compiled = {name for name in opened.namelist() if name.endswith(".so")}
        said = opened.read(f"{ABOUT}/WHEEL").decode()
        assert {opened.read(name) for name in compiled} == {b"built\n"}
    assert compiled == {f"{KERNEL}/chain-{name}.so" for name in ("base", "avx2", "avx512")}
    assert f"Tag: {tag}\n" in said
    assert "Root-Is-Purelib: false" in said
    assert {file: file.stat().st_mtime_ns for file in (ROOT / "src" / KERNEL).iterdir()} == before


def test_the_sdist_holds_what_the_wheel_is_built_from(tmp_path: Path) -> None:
    import tarfile

    made = next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    with tarfile.open(made) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {f"src/{name}" for name in sources()} <= names
    assert {"hatch_build.py", "pyproject.toml", "LICENSE", "README.md"} <= names
    assert not [name for name in names if name.endswith(".so")]
