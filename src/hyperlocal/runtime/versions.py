"""Versions of installed packages, and facts of the machine, for bug reports."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TextIO

from threadpoolctl import threadpool_info

REQUIRED = ("numpy", "scipy", "scikit-learn", "threadpoolctl")
# One for each extra that users install.
OPTIONAL = (
    "matplotlib", "rich", "skops", "pyarrow", "clarabel", "dask", "distributed", "scikit-image",
    "onnx", "skl2onnx",
)  # fmt: skip


def package_version(package: str) -> str | None:
    """The installed version of a distribution, None if there is none.

    Examples
    --------
    >>> from hyperlocal.runtime.versions import package_version
    >>> package_version("no-such-package") is None
    True
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def instruction_set() -> str:
    """The build of the compiled core that this machine uses."""
    try:
        from .._core import INSTRUCTION_SET
    except ImportError as error:
        return f"missing ({error})"
    return INSTRUCTION_SET


def blas() -> str:
    """The loaded BLAS libraries, each with its version and threads."""
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    names = [
        f"{one['internal_api']} {one.get('version') or ''} ({one['num_threads']} threads)"
        for one in found
    ]
    return ", ".join(sorted(set(names))) or "none found"


def installation() -> dict[str, str]:
    """Versions by distribution, and facts of the machine; extras only if they are installed."""
    packages = {name: package_version(name) for name in ("hyperlocal", *REQUIRED, *OPTIONAL)}
    for name in ("hyperlocal", *REQUIRED):
        packages[name] = packages[name] or "not installed"
    return {
        "python": platform.python_version(),
        **{name: number for name, number in packages.items() if number is not None},
        "platform": platform.platform(),
        "cores": str(os.cpu_count()),
        "compiled core": instruction_set(),
        "BLAS": blas(),
    }


def show_versions(file: TextIO | None = None) -> None:
    """Print versions of hyperlocal, of what it needs, and facts of the machine.

    Parameters
    ----------
    file : text stream, default=None
        Where to print; stdout by default.

    Examples
    --------
    >>> import hyperlocal
    >>> hyperlocal.show_versions()  # doctest: +ELLIPSIS
           python: 3...
    """
    facts = installation()
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print(f"{name:>{width}}: {value}", file=file or sys.stdout)
