"""Use deepbass as it was installed: python smoke.py [kernel|no-kernel] [all]. It needs nothing of the checkout.

Run from an empty folder outside of it, by the Python of an environment that has nothing but deepbass.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import deepbass
from deepbass.learn.kernel import native

SETTINGS: dict[str, Any] = {
    "initial": 6,
    "iterations": 2,
    "initial_epochs": 3,
    "passes_pool": 2,
    "passes_known": 2,
    "ask_count": 2,
}
RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
PICTURES = (RNG.random((60, 1, 8, 8)) / 2 + Y[:, None, None, None] / 2).astype(np.float32)


def main() -> None:
    """Try it all, and say so."""
    kernel, everything = "kernel" in sys.argv, "all" in sys.argv
    assert Path(deepbass.__file__).is_relative_to(sys.prefix), f"not the installed one: {deepbass.__file__}"
    assert bool(native.widths()) == kernel, f"builds of the kernel: {native.widths()}"
    in_python(kernel)
    the_command(kernel)
    if everything:
        extras()
    print(f"deepbass {deepbass.__version__} works, {'with' if kernel else 'without'} its kernel")  # noqa: T201


def in_python(kernel: bool) -> None:
    """Run, open again, ask and teach."""
    result = deepbass.run(PICTURES, Y, out="in-python", model="cnn", validation=0.2, **SETTINGS)
    engine = json.loads(Path("in-python/run.json").read_text())["versions"]["engine"]
    assert engine.startswith("kernel" if kernel else "torch"), engine
    assert len(result.labels.known) >= 6
    assert deepbass.load("in-python").predict_proba(PICTURES[:3]).shape == (3, 2)
    session = deepbass.Session(PICTURES.reshape(60, 64), seed=1)
    rows = session.ask(10)
    session.teach(rows, np.array(["even", "odd"])[Y[rows]])
    assert (session.predict() == np.array(["even", "odd"])[Y]).mean() > 0.9
    assert "<svg" in session._repr_html_() or "label" in session._repr_html_()


def the_command(kernel: bool) -> None:
    """Call the command as a user does; without the kernel it says so."""
    assert command("--version").stdout == f"deepbass {deepbass.__version__}\n"
    done = command("run", "toy", "--out", "by-command", *(f"--set={name}={value}" for name, value in SETTINGS.items()))
    assert Path("by-command/model.safetensors").is_file()
    assert ("without its quicker kernel" in done.stderr) is not kernel, done.stderr


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Call what was installed beside this Python."""
    place = Path(sys.executable).with_name("deepbass")
    done = subprocess.run([str(place), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def extras() -> None:
    """Try something of every extra."""
    texts = ["good and great", "broken and bad"] * 20
    model = deepbass.DeepBASSClassifier(features="words", random_state=0).fit(texts, ["yes", "no"] * 10 + [None] * 20)
    assert (model.predict(texts) == ["yes", "no"] * 20).all()
    assert deepbass.write_report("in-python").is_file()
    widget = deepbass.Session(texts, features="words", classes=["yes", "no"]).widget()
    assert widget.question["text"] in texts
    command("onnx", "in-python", "model.onnx")
    command("label", "--help")


if __name__ == "__main__":
    main()
