"""Tests of docs/_extensions/package_table.py: lines per package."""

from pathlib import PurePosixPath

from package_table import compiled_lines, package_table, write_table

from module_graph import files_now, lines_per_package


def test_rows_are_packages_from_large_to_small():
    """A row counts the modules, lines and docstrings of a package; the last one is the total."""
    files = {
        PurePosixPath("gates/codes.py"): '"""Codes.\n\nOf rows.\n"""\nx = 1\n',
        PurePosixPath("gates/gate.py"): "y = 2\n",
        PurePosixPath("kernels.py"): '"""Kernels."""\n',
    }
    assert package_table(files).splitlines()[2:] == [
        "| `gates` | 2 | 6 | 4 |",
        "| `kernels` | 1 | 1 | 1 |",
        "| `total` | 3 | 7 | 5 |",
    ]


def test_the_table_is_of_the_sources(tmp_path):
    """The file that is written counts the sources as they are."""
    write_table(tmp_path / "results")
    text = (tmp_path / "results" / "packages.inc").read_text(encoding="utf-8")
    assert f"| {sum(lines_per_package(files_now()).values()):,} |" in text
    assert f"has {compiled_lines():,} lines" in text
    assert compiled_lines() > 1000
