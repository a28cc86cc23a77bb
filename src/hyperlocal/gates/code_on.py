"""What codes are computed on: the input, the mapped features, some columns, a transformer's output.

Codes may look at less than the local models do: the first paper codes on the whole-image histogram
alone, while its local models see the whole pyramid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..data.rows import canonical
from ..maps.base import FeatureMap
from ..maps.transformer import transformed


def check_code_on(code_on: Any) -> None:
    """Raise unless ``code_on`` names a space."""
    if isinstance(code_on, str):
        if code_on not in ("input", "features"):
            raise ValueError(
                f"code_on must be 'input', 'features', column indices or a transformer, "
                f"not {code_on!r}."
            )
    elif isinstance(code_on, type) or (not hasattr(code_on, "transform") and np.ndim(code_on) != 1):
        raise TypeError(
            "code_on must be 'input', 'features', a list of column indices (or a boolean mask) or "
            f"a transformer, not {code_on!r}."
        )


class CodeSpace:
    """Rows as the gate sees them.

    Parameters
    ----------
    code_on : "input", "features", sequence of column indices, or transformer
    """

    def __init__(self, code_on: Any = "input"):
        self.code_on = code_on

    def fit(self, X: Any, y: Any) -> CodeSpace:
        """Fit the transformer or check the columns."""
        if hasattr(self.code_on, "transform"):
            self.code_on = clone(self.code_on).fit(X, y)
        elif not isinstance(self.code_on, str):
            self.code_on = self._columns(X.shape[1])
        return self

    def transform(self, X: Any, feature_map: FeatureMap) -> Any:
        """The rows to code."""
        if isinstance(self.code_on, str):
            return X if self.code_on == "input" else feature_map.mapped(X)
        if isinstance(self.code_on, np.ndarray):
            columns = X[:, self.code_on]
            return canonical(columns.tocsr() if sp.issparse(X) else columns)
        return transformed(self.code_on, X, "code_on")

    def _columns(self, n_features: int) -> np.ndarray:
        columns = np.asarray(self.code_on)
        if columns.dtype == bool and len(columns) == n_features:
            columns = np.flatnonzero(columns)
        in_range = columns.dtype.kind in "iu" and len(columns) > 0
        if not in_range or columns.min() < -n_features or columns.max() >= n_features:
            raise ValueError(
                f"code_on must hold column indices between 0 and {n_features - 1}, or a boolean "
                f"mask of length {n_features}."
            )
        return columns
