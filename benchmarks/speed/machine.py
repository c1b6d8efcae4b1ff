"""What the times were taken on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("deepbass", "torch", "keras", "tensorflow-cpu", "baal", "numpy")
_FLAGS = ("avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "amx_tile")


def describe() -> dict[str, Any]:
    """Describe the processor, memory, system and versions; what cannot be told is left out."""
    processor = _processor()
    flags = processor.get("flags", "").split()
    found = {
        "processor": processor.get("model name") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "flags": [flag for flag in _FLAGS if flag in flags],
        "caches": _caches(),
        "memory_gb": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }
    return {name: value for name, value in found.items() if value not in (None, [], {})}


def _processor() -> dict[str, str]:
    """Read Linux's description of the first processor."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    first = path.read_text().split("\n\n")[0]
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def _caches() -> dict[str, str]:
    """Read the sizes of the first processor's caches."""
    sizes = {}
    for cache in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind = (cache / "level").read_text().strip(), (cache / "type").read_text().strip()
        if kind != "Instruction":
            sizes[f"L{level}"] = (cache / "size").read_text().strip()
    return sizes


def _memory() -> float | None:
    path = Path("/proc/meminfo")
    if not path.exists():
        return None
    kilobytes = int(path.read_text().split("MemTotal:")[1].split()[0])
    return round(kilobytes / 1024**2, 1)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
