"""Compare classifiers on one data set: a table, and a self-contained HTML page.

- :mod:`.methods`: the methods by name, for the whole project;
- :mod:`.run`: fits, times and scores them on the same rows;
- :mod:`.table`: the figures as text;
- :mod:`.page` fills ``page.html`` (no network, no other files, nothing to install) with that
  table, confusion matrices and explanations, and with the pictures of :mod:`.charts`, which are SVG
  colored by the page's own style, so that they follow dark mode.
"""

from .methods import DEFAULT_METHODS, METHODS, Method, Package, pick_methods
from .page import render_page, write_page
from .run import Experiment, Outcome, Row, compare, prepare, run
from .table import format_table

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "Experiment",
    "Method",
    "Outcome",
    "Package",
    "Row",
    "compare",
    "format_table",
    "pick_methods",
    "prepare",
    "render_page",
    "run",
    "write_page",
]
