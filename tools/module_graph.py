"""Draws the packages of src/hyperlocal and the imports between them, and counts their lines.

    python tools/module_graph.py                  # draw docs/images/packages.png, print lines
    python tools/module_graph.py --against REV    # print lines at a git revision and now

A module directly in src/hyperlocal counts as a package. The layers are those of the import
contract in pyproject.toml. An arrow is as thick as there are import statements; their number is
written beside the thick ones.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = "hyperlocal"
SOURCES = f"src/{PACKAGE}"
SHIFT = 0.18  # of every other layer, in widths of a package
HALF_WIDTH, HALF_HEIGHT = 0.2, 0.2  # of a package
LARGE = 7  # imports from which on their number is written
Files = Mapping[PurePosixPath, str]  # source text by path inside the package
Edges = Counter[tuple[str, str]]
Point = tuple[float, float]
Places = Mapping[str, Point]


# ---- reading -------------------------------------------------------------------------------------


def files_now(root: Path = ROOT) -> dict[PurePosixPath, str]:
    """The package's Python files as they are."""
    folder = root / SOURCES
    return {
        PurePosixPath(path.relative_to(folder).as_posix()): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
    }


def files_at(revision: str, root: Path = ROOT) -> dict[PurePosixPath, str]:
    """The package's Python files at a git revision."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    names = git("ls-tree", "-r", "--name-only", revision, SOURCES).split()
    return {
        PurePosixPath(name).relative_to(SOURCES): git("show", f"{revision}:{name}")
        for name in names
        if name.endswith(".py")
    }


def layers_of_contract(root: Path = ROOT) -> list[list[str]]:
    """The packages of each layer, from top to bottom."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [
        [name.strip().removeprefix(f"{PACKAGE}.") for name in layer.replace(":", "|").split("|")]
        for layer in contract["layers"]
    ]


def package_of(path: PurePosixPath) -> str:
    """The package that a file belongs to.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> package_of(PurePosixPath("gates/codes.py")), package_of(PurePosixPath("kernels.py"))
    ('gates', 'kernels')
    """
    return path.parts[0] if len(path.parts) > 1 else path.stem


def imported_packages(path: PurePosixPath, source: str) -> Iterator[str]:
    """The package of each import statement's module, inside functions too.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> path = PurePosixPath("gates/codes.py")
    >>> source = "from ..data.rows import X\\nfrom .gate import Y\\nimport numpy"
    >>> list(imported_packages(path, source))
    ['data', 'gates']
    """
    package = [PACKAGE, *path.parts[:-1]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = base + (node.module.split(".") if node.module else [])
            modules = [start + [alias.name] for alias in node.names] if len(start) == 1 else [start]
        else:
            continue
        yield from (module[1] for module in modules if module[0] == PACKAGE and len(module) > 1)


def imports_between(files: Files) -> Edges:
    """Number of import statements from each package to each other package.

    Names of the package itself, such as ``__version__``, belong to no package.
    """
    packages = {package_of(path) for path in files}
    edges: Edges = Counter()
    for path, source in files.items():
        others = packages - {package_of(path)}
        imported = (other for other in imported_packages(path, source) if other in others)
        edges.update((package_of(path), other) for other in imported)
    return edges


def lines_per_package(files: Files) -> Counter[str]:
    """Number of lines of each package."""
    lines: Counter[str] = Counter()
    for path, source in files.items():
        lines[package_of(path)] += source.count("\n")
    return lines


# ---- tables --------------------------------------------------------------------------------------


def table(now: Counter[str], before: Counter[str] | None = None) -> str:
    """Lines per package, and before where a package has the same name; the total last."""
    packages = sorted(now, key=lambda package: -now[package])
    rows = [(package, before[package] if before else 0, now[package]) for package in packages]
    if before:
        gone = sum(count for package, count in before.items() if package not in now)
        rows.append(("(modules that moved)", gone, 0))
    rows.append(("total", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    if not before:
        return "\n".join(f"{package:22}{lines:>8,}" for package, _, lines in rows)
    head = f"{'package':22}{'before':>8}{'now':>8}"
    return "\n".join([head, *(f"{package:22}{old:>8,}{new:>8,}" for package, old, new in rows)])


# ---- the picture ---------------------------------------------------------------------------------


def placed(layers: list[list[str]]) -> dict[str, tuple[float, float]]:
    """The center of each package: a line per layer, from top to bottom.

    Every other layer is moved to the side, so that fewer arrows pass behind a package.
    """
    width = max(len(layer) for layer in layers)
    return {
        package: ((column + 0.5) * width / len(layer) + SHIFT * (-1) ** row, -float(row))
        for row, layer in enumerate(layers)
        for column, package in enumerate(layer)
    }


def draw(layers: list[list[str]], edges: Edges, lines: Counter[str], target: Path) -> None:
    """Draw packages as boxes on the lines of their layers, and imports as arrows."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    places = placed(layers)
    palette = [*plt.get_cmap("tab10").colors, *plt.get_cmap("Dark2").colors]
    colors = {package: palette[number % len(palette)] for number, package in enumerate(places)}
    figure, ax = plt.subplots(figsize=(13, 1.6 * len(layers)), layout="constrained")
    for row in range(len(layers)):
        ax.axhspan(-row - 0.27, -row + 0.27, color="#f3f3f3", lw=0, zorder=0)
    arrows = sorted(_ends(edges, places).items(), key=lambda arrow: arrow[1])
    for number, ((package, other), (start, end)) in enumerate(arrows):
        # Numbers of neighboring arrows stand at different heights.
        label_at = 0.16 + 0.14 * (number % 2)
        _draw_arrow(ax, start, end, edges[package, other], colors[package], label_at)
    for package, (x, y) in places.items():
        ax.text(
            x, y, f"{package}\n{lines[package]:,} lines", ha="center", va="center", fontsize=12,
            bbox={"boxstyle": "round,pad=0.45", "fc": "white", "ec": colors[package], "lw": 2.5},
            zorder=4,
        )  # fmt: skip
    across = [x for x, _ in places.values()]
    ax.set(xlim=(min(across) - 0.6, max(across) + 0.6), ylim=(0.4 - len(layers), 0.4))
    ax.set_axis_off()
    figure.savefig(target, dpi=75)
    plt.close(figure)


def _ends(edges: Edges, places: Places) -> dict[tuple[str, str], tuple[Point, Point]]:
    """Start and end of each arrow, side by side along the edges of the packages."""
    inside = [(package, other) for package, other in edges if package in places and other in places]
    down = [pair for pair in inside if places[pair[0]][1] > places[pair[1]][1]]
    begins = _spread(down, places, 0)
    ends = _spread(down, places, 1)
    return {pair: (begins[pair], ends[pair]) for pair in down} | {
        (package, other): _sideways(places[package], places[other])
        for package, other in inside
        if places[package][1] == places[other][1]
    }


def _spread(
    pairs: list[tuple[str, str]], places: Places, which: int
) -> dict[tuple[str, str], Point]:
    """Where the arrows of a package begin (0) or end (1), in the order of their other ends."""
    found = {}
    for package in places:
        own = [pair for pair in pairs if pair[which] == package]
        own.sort(key=lambda pair: _direction(places[package], places[pair[1 - which]]))
        x, y = places[package]
        for number, pair in enumerate(own):
            offset = HALF_WIDTH * (2 * (number + 0.5) / len(own) - 1)
            found[pair] = (x + offset, y + (-HALF_HEIGHT if which == 0 else HALF_HEIGHT))
    return found


def _direction(start: Point, end: Point) -> float:
    """How far to the right an arrow goes on its way down, or up."""
    return (end[0] - start[0]) / abs(end[1] - start[1])


def _sideways(start: Point, end: Point) -> tuple[Point, Point]:
    side = 1.2 * HALF_WIDTH * (1 if end[0] > start[0] else -1)
    return (start[0] + side, start[1]), (end[0] - side, end[1])


def _draw_arrow(ax: Any, start: Point, end: Point, count: int, color: Any, label_at: float) -> None:
    """An arrow as thick as it has imports, with their number beside its start if it is large."""
    fall = start[1] - end[1]
    bend = -0.25 if fall == 0 else 0.0 if fall < 1 else (0.06 if end[0] >= start[0] else -0.06)
    ax.annotate(
        "", xy=end, xytext=start, zorder=2,
        arrowprops={
            "arrowstyle": "-|>", "color": color, "lw": 0.8 + 0.07 * count, "alpha": 0.7,
            "connectionstyle": f"arc3,rad={bend}", "mutation_scale": 13,
        },
    )  # fmt: skip
    if count >= LARGE:
        near = label_at / max(0.6, fall)
        label = (start[0] + near * (end[0] - start[0]), start[1] + near * (end[1] - start[1]))
        ax.text(*label, f"{count}", color=color, fontsize=10, weight="bold", zorder=5, ha="center",
                bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"})  # fmt: skip


def main() -> None:
    """Draw or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", metavar="REV", help="a git revision to compare lines with")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "docs" / "images" / "packages.png", metavar="FILE"
    )
    options = parser.parse_args()
    files = files_now()
    lines = lines_per_package(files)
    if options.against:
        print(table(lines, lines_per_package(files_at(options.against))))
        return
    print(table(lines))
    draw(layers_of_contract(), imports_between(files), lines, options.output)
    print(options.output)


if __name__ == "__main__":
    main()
