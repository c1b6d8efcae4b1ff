"""Build the wheel and the sdist, install them into empty environments, and use them there: make package-test.

Each is built and installed as somebody has it who has a C++ compiler, and as somebody who has none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
CONSTRAINTS = ROOT / "constraints.txt"
PLAIN = "py3-none-any"


def main() -> None:
    """Try the wheel with its kernel, the wheel without, the sdist, and all extras."""
    with tempfile.TemporaryDirectory(prefix="deepbass-package-") as scratch:
        place = Path(scratch)
        sdist, wheel = build(place / "with", "--sdist", "--wheel")
        (pure,) = build(place / "without", "--wheel", compiler=False)
        assert PLAIN not in wheel.name, f"{wheel.name} has a kernel in it, and so a platform"
        assert pure.name.endswith(f"{PLAIN}.whl"), f"{pure.name} has nothing of a platform in it"
        try_out(place / "a", f"{wheel}", "kernel")
        try_out(place / "b", f"{pure}", "no-kernel")
        try_out(place / "c", f"{sdist}", "kernel")
        try_out(place / "d", f"{sdist}", "no-kernel", compiler=False)
        try_out(place / "e", f"{wheel}[all]", "kernel", "all")


def environment(compiler: bool, own: Path | None = None) -> dict[str, str]:
    """Make the environment of somebody, maybe of one without a compiler: no folder has one but those left out."""
    path = os.environ["PATH"] if compiler else ""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CXX", "PATH")}
    return {**kept, "PATH": os.pathsep.join(filter(None, [str(own) if own else "", path]))}


def build(out: Path, *targets: str, compiler: bool = True) -> list[Path]:
    """Build, in an environment of its own, and return what was made: the sdist first."""
    words = [sys.executable, "-m", "build", *targets, "--outdir", str(out), str(ROOT)]
    call(words, environment(compiler))
    return sorted(out.iterdir(), key=lambda file: file.suffix)


def try_out(place: Path, package: str, *words: str, compiler: bool = True) -> None:
    """Install into an empty environment, and use it from an empty folder."""
    say(f"{Path(package).name}: {', '.join(words)}")
    venv.create(place / "venv", with_pip=True)
    python, empty = place / "venv" / "bin" / "python", place / "empty"
    empty.mkdir()
    mine = environment(compiler, python.parent)
    call([str(python), "-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS), package], mine)
    call([str(python), "-I", str(SMOKE), *words], mine, empty)


def call(words: list[str], env: dict[str, str], folder: Path | None = None) -> None:
    """Run a command, and show all that it said if it failed."""
    done = subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    say(done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "")


def say(words: str) -> None:
    """Tell how far it is."""
    if words:
        print(words, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
