"""Features of different units, standardized inside a chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.checks import scale_difference
from ..data.labelled import LabelledRows
from ..data.rows import feature_moments
from ..maps.linear import InputMap

SCALES = (None, "auto", "standard")


def standardizing_map(data: LabelledRows, scale: str | None) -> InputMap | None:
    """The map that standardizes features; for "auto" only if their sizes differ much.

    Sparse rows are not centered. Features of values zero and one, such as indicators of categories,
    and constants, keep their unit: a rare indicator would outweigh all else.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.labelled import LabelledRows
    >>> from hyperlocal.selection.scale import standardizing_map
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> data = LabelledRows(X, np.arange(100) % 2, np.arange(2), np.ones(100))
    >>> standardizing_map(data, "auto") is None
    True
    >>> standardizing_map(data, "standard").transform(X).std(axis=0).round(6)
    array([1., 1.])
    """
    if scale is None or (scale == "auto" and not scale_difference(data.X)):
        return None
    mean, deviation = feature_moments(data.X, data.sample_weight / data.sample_weight.sum())
    unit = np.divide(1.0, deviation, out=np.ones_like(deviation), where=deviation > 0)
    unit[_are_indicators(data.X)] = 1.0
    center = None if sp.issparse(data.X) else mean.astype(data.X.dtype)
    return InputMap(np.ones(len(unit), data.X.dtype), center, unit.astype(data.X.dtype))


def _are_indicators(X: Any) -> np.ndarray:
    """Which features have no other values than zero and one."""
    if not sp.issparse(X):
        return ((X == 0) | (X == 1)).all(axis=0)
    others = sp.csc_array(((X.data != 0) & (X.data != 1), X.indices, X.indptr), shape=X.shape[::-1])
    return np.asarray(others.sum(axis=1)).ravel() == 0
