"""Where and with what a figure was measured: versions, machine, and the code itself."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import hyperlocal
from hyperlocal.runtime.versions import instruction_set, package_version

LIBRARY = Path(hyperlocal.__file__).parent
KERNELS = Path(__file__).parents[1] / "cpp"
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


def digests(packages: Iterable[str]) -> dict[str, str]:
    """A digest of each package's sources as they are now; "cpp" is the compiled kernels."""
    return {package: digest for package in packages if (digest := _digest(package))}


def loaded_packages() -> list[str]:
    """Packages and modules of the library that have been imported, and the kernels."""
    names = {name.split(".")[1] for name in sys.modules if name.startswith("hyperlocal.")}
    return [*sorted(name for name in names if _sources(name)), "cpp"]


def _digest(package: str) -> str:
    sources = _sources(package)
    text = b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in sources)
    return hashlib.sha256(text).hexdigest()[:12] if sources else ""


def _sources(package: str) -> list[Path]:
    if package == "cpp":
        return sorted(KERNELS.glob("*.hpp"))
    module = LIBRARY / f"{package}.py"
    return [module] if module.exists() else sorted((LIBRARY / package).glob("*.py"))
