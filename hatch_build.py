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
PACKAGED = Path("deepbass/learn/kernel")  # where it is in a wheel
FLAGS = ["-std=gnu++17", "-O3", "-fPIC", "-shared", "-Wno-psabi", "-fno-exceptions", "-fno-rtti"]
BUILDS = {  # by width of the vector registers; the one that fits is chosen when a run starts
    "base": ["-DLANES=4"],
    "avx2": ["-DLANES=8", "-mavx2", "-mfma"],
    "avx512": ["-DLANES=16", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma"],
}


class CompileKernel(BuildHookInterface):  # type: ignore[misc]
    """Builds chain.cpp into small shared libraries, which ctypes loads: no Python headers are needed.

    They go into the wheel, and the source tree stays as it is; an editable installation has them beside chain.cpp.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what can be compiled; DEEPBASS_BUILD_KERNEL=0 compiles nothing."""
        if version == "editable":
            place = Path(self.root) / KERNEL
            for old in place.glob("chain-*.so"):
                old.unlink()
        else:
            self._scratch = tempfile.TemporaryDirectory()
            place = Path(self._scratch.name)
        compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
        if os.environ.get("DEEPBASS_BUILD_KERNEL") == "0":
            compiler = None
        built = [made for name in BUILDS if compiler and (made := _compile(compiler, self.root, name, place))]
        if not built:
            self.app.display_warning("deepbass is built without its compiled kernel: torch does the work, more slowly.")
            return
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if version != "editable":
            build_data["force_include"] |= {str(made): str(PACKAGED / made.name) for made in built}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        if version != "editable":
            self._scratch.cleanup()


def _compile(compiler: str, root: str, name: str, place: Path) -> Path | None:
    """Compile for one width of registers."""
    source, made = Path(root) / KERNEL / "chain.cpp", place / f"chain-{name}.so"
    with tempfile.TemporaryDirectory() as scratch:
        unfinished = Path(scratch) / made.name
        command = [*compiler.split(), *FLAGS, *BUILDS[name], "-o", str(unfinished), str(source)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):  # no such compiler, or no such registers: torch does the work
            return None
        shutil.move(unfinished, made)
    return made
