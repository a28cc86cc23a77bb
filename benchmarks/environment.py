"""Where and with what a figure was measured: versions and machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hyperlocal.runtime.versions import instruction_set, package_version

PACKAGES = ("numpy", "scipy", "scikit-learn", "hyperlocal")


def versions(peers: Sequence[str] = ()) -> dict[str, str]:
    """Versions of Python, of what the library depends on, and of the peers it is compared with."""
    found = {package: package_version(package) for package in (*PACKAGES, *peers)}
    known = {package: number or "not installed" for package, number in found.items()}
    return {"python": platform.python_version(), **known}


def machine() -> dict[str, Any]:
    """The processor, its cores, how busy it was, and the instruction set the kernels use."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "load": [round(load, 2) for load in load_average()],
        "instruction_set": instruction_set(),
    }


def load_average() -> tuple[float, ...]:
    """How many processes wanted a core lately; nothing where the system does not report it."""
    return os.getloadavg() if hasattr(os, "getloadavg") else ()


def cpu_model() -> str:
    """The processor's name; on Linux it is in a file, elsewhere ``platform`` has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
