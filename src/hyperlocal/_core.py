"""The compiled kernels, built once per instruction set; the best one this machine runs is used.

Set the environment variable ``HYPERLOCAL_CORE=baseline`` to use the portable build. All names are
those of the compiled module; ``_core.pyi`` lists them.
"""

import os
from contextlib import suppress
from importlib import import_module

_chosen = import_module("hyperlocal._core_baseline")
if os.environ.get("HYPERLOCAL_CORE") != "baseline" and _chosen.cpu_supports_x86_64_v3():
    with suppress(ImportError):  # built on a platform without that instruction set
        _chosen = import_module("hyperlocal._core_x86_64_v3")

globals().update({name: getattr(_chosen, name) for name in dir(_chosen) if name[0] != "_"})
