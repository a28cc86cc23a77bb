"""Tests of tools/module_graph.py, and of the packages that it draws."""

from collections import Counter
from pathlib import PurePosixPath

from module_graph import (
    draw,
    files_now,
    imported_packages,
    imports_between,
    layers_of_contract,
    lines_per_package,
    placed,
    table,
)

ABOVE_ALL_LAYERS = {"__init__", "__main__", "papers", "linear", "preprocessing", "reproduction"}


def test_imports_are_resolved():
    """Relative and absolute imports, of packages and of names, count for the right package."""
    source = "\n".join(
        [
            "from .. import kernels",
            "from ..data import rows",
            "from .gate import Gate",
            "import hyperlocal.maps.base",
            "def late():\n    from hyperlocal.runtime.threads import Workers",
            "import numpy",
        ]
    )
    found = Counter(imported_packages(PurePosixPath("gates/codes.py"), source))
    assert found == Counter(["kernels", "data", "gates", "maps", "runtime"])


def test_names_of_the_package_are_no_packages():
    """``from .. import __version__`` is not an import from a package."""
    files = {
        PurePosixPath("cli/info.py"): "from .. import __version__, kernels",
        PurePosixPath("kernels.py"): "",
    }
    assert imports_between(files) == Counter({("cli", "kernels"): 1})


def test_arrows_point_downward():
    """Every package has a layer, and imports only from lower layers or its own."""
    layers = layers_of_contract()
    files = files_now()
    packages = set(lines_per_package(files)) - ABOVE_ALL_LAYERS
    assert packages == {package for layer in layers for package in layer}
    height = {package: y for package, (_, y) in placed(layers).items()}
    for package, other in imports_between(files):
        if not {package, other} & ABOVE_ALL_LAYERS:
            assert height[package] >= height[other], f"{package} imports from {other}"


def test_lines_before_and_now():
    """A package is compared with that of the same name; other modules are counted together."""
    text = table(Counter(gates=30, data=20), Counter(gates=40, moved=15))
    rows = [line.split() for line in text.splitlines()]
    assert ["gates", "40", "30"] in rows
    assert rows[-1] == ["total", "55", "50"]


def test_picture_is_written(tmp_path):
    """Packages that are in no layer are left out of the picture."""
    edges = Counter({("a", "b"): 9, ("b", "c"): 1, ("elsewhere", "a"): 3})
    draw([["a"], ["b", "c"]], edges, Counter(a=1), tmp_path / "packages.png")
    assert (tmp_path / "packages.png").read_bytes().startswith(b"\x89PNG")
