"""What codes are computed on: the input, the mapped features, some columns, a transformer's output.

Codes may depend on fewer features than the local models: the first paper codes on the histogram of
the whole image, and its local models use the whole pyramid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..data.rows import canonical
from ..maps.base import FeatureMap
from ..maps.linear import InputMap
from ..maps.plain import Step, plain_steps
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


@dataclass(frozen=True)
class CodeOn:
    """The rows that the gate measures distances on.

    Attributes
    ----------
    source : "input", "features", column indices, or transformer
        As given; after ``fit`` columns are an array and a transformer is fitted.
    """

    source: Any = "input"

    def fit(self, X: Any, y: Any) -> CodeOn:
        """With the transformer fitted, or the columns checked."""
        if hasattr(self.source, "transform"):
            return CodeOn(clone(self.source).fit(X, y))
        return self if isinstance(self.source, str) else CodeOn(self._columns(X.shape[1]))

    @property
    def uses_input(self) -> bool:
        """Whether distances are measured on the rows as they are."""
        return isinstance(self.source, str) and self.source == "input"

    @property
    def uses_map(self) -> bool:
        """Whether distances are measured on the mapped features."""
        return isinstance(self.source, str) and self.source == "features"

    @property
    def is_linear(self) -> bool:
        """Whether what distances are measured on is linear in the input's features."""
        return self.uses_input or isinstance(self.source, (InputMap, np.ndarray))

    def after(self, before: InputMap) -> CodeOn:
        """The same of rows that are mapped linearly first; a feature map does that itself."""
        if self.uses_map:
            return self
        return CodeOn(before if self.uses_input else _MappedFirst(before, self))

    def transform(self, X: Any, feature_map: FeatureMap) -> Any:
        """The rows to code."""
        if self.uses_map:
            return feature_map.mapped(X)
        if self.uses_input:
            return X
        if isinstance(self.source, np.ndarray):
            columns = X[:, self.source]
            return canonical(columns.tocsr() if sp.issparse(X) else columns)
        return transformed(self.source, X, "code_on")

    def plain(self) -> list[Step] | None:
        """Plain steps from rows to what is coded; None where that is the mapped features."""
        if self.uses_map:
            return None
        if isinstance(self.source, np.ndarray):
            return [Step("columns", {"columns": self.source.astype(np.int64)})]
        return plain_steps(self.source)

    def _columns(self, n_features: int) -> np.ndarray:
        columns = np.asarray(self.source)
        if columns.dtype == bool and len(columns) == n_features:
            columns = np.flatnonzero(columns)
        in_range = columns.dtype.kind in "iu" and len(columns) > 0
        if not in_range or columns.min() < -n_features or columns.max() >= n_features:
            raise ValueError(
                f"code_on must hold column indices between 0 and {n_features - 1}, or a boolean "
                f"mask of length {n_features}."
            )
        return columns


@dataclass(frozen=True)
class _MappedFirst:
    """Columns or a transformer's output of rows that are mapped linearly first."""

    before: InputMap
    then: CodeOn

    def transform(self, X: Any) -> Any:
        return self.then.transform(self.before.transform(X), FeatureMap())

    def plain(self) -> list[Step]:
        return [*self.before.plain(), *(self.then.plain() or [])]
