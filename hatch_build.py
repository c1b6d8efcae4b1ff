"""Compile the kernel when deepbass is installed. Without a compiler deepbass is whole, only slower."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNEL = Path("src/deepbass/learn/kernel")
FLAGS = ["-std=gnu++17", "-O3", "-fPIC", "-shared", "-Wno-psabi", "-fno-exceptions", "-fno-rtti"]
BUILDS = {  # by width of the vector registers; the one that fits is chosen when a run starts
    "base": ["-DLANES=4"],
    "avx2": ["-DLANES=8", "-mavx2", "-mfma"],
    "avx512": ["-DLANES=16", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma"],
}


class CompileKernel(BuildHookInterface):  # type: ignore[misc]
    """Builds chain.cpp into small shared libraries beside it, which ctypes loads: no Python headers are needed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what can be compiled; DEEPBASS_BUILD_KERNEL=0 compiles nothing."""
        folder = Path(self.root) / KERNEL
        for old in folder.glob("chain-*.so"):
            old.unlink()
        compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
        if self.target_name != "wheel" or compiler is None or os.environ.get("DEEPBASS_BUILD_KERNEL") == "0":
            return
        built = [name for name, flags in BUILDS.items() if _compile(compiler, folder, name, flags)]
        if built:
            build_data["pure_python"] = False
            build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["artifacts"] += [f"/{KERNEL}/chain-{name}.so" for name in built]


def _compile(compiler: str, folder: Path, name: str, flags: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "chain.so"
        command = [*compiler.split(), *FLAGS, *flags, "-o", str(made), str(folder / "chain.cpp")]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):  # no such compiler, or no such registers: torch does the work
            return False
        shutil.move(made, folder / f"chain-{name}.so")
    return True
