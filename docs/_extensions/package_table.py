"""Writes the table of packages and their lines at every build.

``results/packages.inc`` is included by ``extending.md``; the lines are counted in the sources.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import Any

from benchmark_tables import keep

from module_graph import ROOT, Files, files_now, package_of


def docstring_lines(source: str) -> int:
    """How many lines of a module are docstrings.

    Examples
    --------
    >>> docstring_lines('def f():\\n    \"\"\"One.\"\"\"\\n    return 1')
    1
    """
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = (
        node.body[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    )
    return sum((text.end_lineno or 0) - text.lineno + 1 for text in texts)


def package_table(files: Files) -> str:
    """Modules, lines and lines of docstrings of each package, as Markdown."""
    modules: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    documented: Counter[str] = Counter()
    for path, source in files.items():
        for package in (package_of(path), "total"):
            modules[package] += 1
            lines[package] += source.count("\n")
            documented[package] += docstring_lines(source)
    packages = [*sorted(set(lines) - {"total"}, key=lambda one: -lines[one]), "total"]
    rows = [
        f"| `{one}` | {modules[one]} | {lines[one]:,} | {documented[one]:,} |" for one in packages
    ]
    return "\n".join(["| package | modules | lines | docstrings |", "|---|--:|--:|--:|", *rows])


def compiled_lines(root: Path = ROOT) -> int:
    """Lines of C++."""
    files = (root / "cpp").rglob("*.[ch]pp")
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def write_table(folder: Path) -> None:
    """Write the table, and the lines of C++ below it."""
    folder.mkdir(exist_ok=True)
    text = f"{package_table(files_now())}\n\nThe C++ in `cpp/` has {compiled_lines():,} lines."
    keep(folder / "packages.inc", text)


def setup(app: Any) -> dict[str, Any]:
    """Write the table before Sphinx looks for it."""
    app.connect("builder-inited", lambda app: write_table(Path(app.srcdir) / "results"))
    return {"version": "1", "parallel_read_safe": True}
