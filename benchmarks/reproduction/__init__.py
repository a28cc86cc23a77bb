"""The papers' tables, measured again, beside the tools that people use today.

A table is a TOML file (sets, preparation, methods, grids, folds, repeats) and a CSV of published
figures. :func:`run` measures what its results folder does not hold yet; :func:`compared` sets what
was found beside what was published. ``hyperlocal reproduce`` does both.

One way through the files: environment → methods → table → rows → choosing → results → runner →
comparison.
"""

from .comparison import Comparison, compared, format_comparison, verdict
from .results import Result, ResultsFolder
from .runner import not_installed, pending, run
from .table import Table, load_table, table_names

__all__ = [
    "Comparison",
    "Result",
    "ResultsFolder",
    "Table",
    "compared",
    "format_comparison",
    "load_table",
    "not_installed",
    "pending",
    "run",
    "table_names",
    "verdict",
]
