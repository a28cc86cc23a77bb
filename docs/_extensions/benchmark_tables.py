"""Writes the pages of measured results from ``benchmarks/results``, at every build.

No figure is typed: the tables are those of ``benchmarks/readme.py``, ``benchmarks/summary.py`` and
``benchmarks/table_pages.py``.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks import readme, summary, table_pages
from benchmarks.common import read_result
from benchmarks.reproduction import table_names

BENCHMARKS = Path(summary.__file__).parent
# What to say above each table of the README.
HEADLINES = {
    "Our estimators against a tuned kernel SVM": table_pages.summary,
    "Against an accelerated kernel SVM": readme.mnist,
    "Untuned, over many sets": readme.untuned,
    "Against LIBLINEAR on the same lifted problem": readme.race,
    "Anchors that learn": readme.anchors,
}


def write_pages(folder: Path) -> None:
    """One page per benchmark script, one with the headlines, one per result to include."""
    folder.mkdir(exist_ok=True)
    keep(folder / "headlines.inc", "\n\n".join(map(headline, HEADLINES)))
    keep(folder / "tally.inc", table_pages.tally())
    keep(folder / "misses.inc", table_pages.misses())
    for name in table_names():
        keep(folder / f"table_{name}.inc", table_pages.page(name))
    for script, names in by_script().items():
        keep(folder / f"{script}.md", "\n\n".join([title_of(script), *sections(script, names)]))
        for name in names:
            rest = summary.summary(name).split("\n\n", 2)[2]
            keep(folder / f"{name}.inc", rest)


def headline(title: str) -> str:
    """A table of the README under a title."""
    return f"### {title}\n\n{HEADLINES[title]()}"


def by_script() -> dict[str, list[str]]:
    """Names of results by the script that measured them."""
    names = defaultdict(list)
    for name in summary.tracked_names():
        module = read_result(name)["command"].split()[2]  # python -m benchmarks.NAME …
        names[module.removeprefix("benchmarks.")].append(name)
    return dict(sorted(names.items()))


def title_of(script: str) -> str:
    """The script's name and what it says of itself."""
    source = (BENCHMARKS / f"{script}.py").read_text(encoding="utf-8")
    about = (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]
    return f"# {script}\n\n{about} Source: `benchmarks/{script}.py`."


def sections(script: str, names: list[str]) -> list[str]:
    """The results of a script; one of the script's own name alone needs no heading."""
    if names != [script]:
        return [summary.summary(name) for name in names]
    return [summary.summary(script).removeprefix(f"## {script}\n\n").replace("\n### ", "\n## ")]


def keep(path: Path, text: str) -> None:
    """Write a page unless it is there already: Sphinx then reads only what changed."""
    text += "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "results"))
    return {"version": "1", "parallel_read_safe": True}
