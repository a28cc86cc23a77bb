"""Errors about cells that are missing or no numbers: which columns, and what encodes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from .rows import well_formed
from .table import columns_of

MOST_NAMED = 5  # columns in a message


def validated(estimator: Any, X: Any, *y: Any, reset: bool, **rules: Any) -> Any:
    """``validate_data``; an error about cells of a table names their columns and what encodes them.

    Without ``y`` the rows, else the rows and ``y``.
    """
    try:
        return validate_data(estimator, well_formed(X), *y, reset=reset, **rules)
    except (TypeError, ValueError) as error:
        problem, name = str(error).splitlines()[0], type(estimator).__name__
        is_missing = problem.startswith("Input X contains NaN")
        if not is_missing and "string" not in problem and "DateTime" not in problem:
            raise
        columns = _unfit_columns(X, is_missing)
        if not columns:
            raise
        remedy = f"make_pipeline(hyperlocal.preprocessing.TableEncoder(), {name}())"
        if not is_missing:
            raise ValueError(
                f"X holds text or dates in {columns}, and {name} takes numbers ({problem}); encode "
                f"them first: {remedy}."
            ) from error
        raise ValueError(
            f"Input X contains NaN in {columns}, and {name} takes no missing values; fill them in "
            f"first: {remedy}."
        ) from error


def _unfit_columns(X: Any, is_missing: bool) -> str:
    """The columns with missing values, or with anything but numbers; empty if these are unknown."""
    if sp.issparse(X):
        return ""
    try:
        columns = columns_of(X)
    except (TypeError, ValueError):
        return ""
    if is_missing:
        unfit = [c.name for c in columns if c.numbers is not None and np.isnan(c.numbers).any()]
    else:
        unfit = [c.name for c in columns if c.kind not in ("number", "flag")]
    shown = ", ".join(map(repr, unfit[:MOST_NAMED])) + (", …" if unfit[MOST_NAMED:] else "")
    return f"column{'s' * (len(unfit) > 1)} {shown}" if unfit else ""
