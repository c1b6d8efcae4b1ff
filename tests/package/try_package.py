"""Build the wheel and the sdist, install them into empty environments, and use them there: make package-test.

The wheel is built as somebody builds it who has a C++ compiler, and as somebody who has none.
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
        try_out(place / "a", wheel, "kernel")
        try_out(place / "a", f"{wheel}[all]", "kernel", "all")
        try_out(place / "b", pure, "no-kernel")
        try_out(place / "c", sdist, "kernel")


def environment(compiler: bool) -> dict[str, str]:
    """Make the environment of somebody, maybe of one without a compiler: nothing is found there at all."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CXX", "PATH")}
    return {**kept, "PATH": os.environ["PATH"] if compiler else ""}


def build(out: Path, *targets: str, compiler: bool = True) -> list[Path]:
    """Build, in an environment of its own, and return what was made: the sdist first."""
    words = [sys.executable, "-m", "build", *targets, "--outdir", str(out), str(ROOT)]
    call(words, environment(compiler))
    return sorted(out.iterdir(), key=lambda file: file.suffix)


def try_out(place: Path, package: Path | str, *words: str) -> None:
    """Install into an environment, empty if it is new, and use it from an empty folder."""
    say(f"{Path(package).name}: {', '.join(words)}")
    python = place / "venv" / "bin" / "python"
    if not place.exists():
        venv.create(place / "venv", with_pip=True)
    mine = environment(True)
    quick = ("--quiet", "--no-compile", "--constraint", str(CONSTRAINTS))
    call([str(python), "-m", "pip", "install", *quick, str(package)], mine)
    empty = Path(tempfile.mkdtemp(dir=place))
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
