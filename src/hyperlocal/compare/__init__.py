"""Compare classifiers or regressors on one data set: a table, and a self-contained HTML page.

- :mod:`.methods`: the methods by name, for the whole project;
- :mod:`.targets`: whether classes or a number are to be predicted;
- :mod:`.experiment`: splits and encodes the rows, once for all of them;
- :mod:`.run`: fits, times and scores them, by the figures of :mod:`.metrics`;
- :mod:`.explaining`: explanations in the columns and units of a file;
- :mod:`.table`: the figures as text;
- :mod:`.page` fills ``page.html`` (no network, no other files, nothing to install) with that
  table, confusion matrices and explanations, and with the pictures of :mod:`.charts`, which are SVG
  colored by the page's own style, so that they follow dark mode.
"""

from .experiment import Experiment, prepare
from .methods import (
    DEFAULT_METHODS,
    DEFAULT_REGRESSORS,
    METHODS,
    REGRESSORS,
    Method,
    Package,
    pick_methods,
)
from .page import render_page, write_page
from .run import Outcome, Row, compare, run
from .table import format_table

__all__ = [
    "DEFAULT_METHODS",
    "DEFAULT_REGRESSORS",
    "METHODS",
    "REGRESSORS",
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
