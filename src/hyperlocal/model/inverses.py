"""Rows before a transformer, from rows after it: references that a model has kept."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ..maps.backwards import known_steps
from .background import summarize_rows
from .contributions import as_dense


def inverse(step: Any, rows: np.ndarray) -> np.ndarray | None:
    """Rows that a transformer turns into the rows given, or near them; None where unknown.

    A transformer that loses something, as Gaussians do, has other rows of its own.

    Parameters
    ----------
    step : fitted transformer
    rows : ndarray of shape (n_rows, n_features_out)
    """
    with suppress(Exception):
        back = as_dense(step.inverse_transform(rows))
        return back if np.isfinite(back).all() else None
    steps = known_steps(step)
    if steps is not None and len(steps) == 1:
        if steps[0].kind == "scale":
            factor = steps[0].parts["factor"]
            away = rows - steps[0].parts["shift"]
            return np.divide(away, factor, out=np.zeros_like(away), where=factor != 0)
        if steps[0].kind == "matrix":
            away = rows - steps[0].parts["shift"]
            return np.linalg.lstsq(steps[0].parts["matrix"].T, away.T)[0].T
        if steps[0].kind == "norm":
            return rows
        if steps[0].kind in ("gaussian", "kernel"):  # it keeps some training rows
            return summarize_rows(steps[0].parts["centers"]).rows
    return None
