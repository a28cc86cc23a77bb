"""The papers' tables, measured again, beside the tools that people use today.

A table is a TOML file in ``plans`` (sets, preparation, methods, grids, folds, repeats) and a CSV of
published figures in ``published``. :func:`run` measures what its results folder does not hold yet;
:func:`compared` returns what was found beside what was published. ``python -m benchmarks
reproduce`` does both.

One way through the files: adapters → table → rows → choosing → results → runner → comparison →
command.
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
