"""Maps of rows that are changed first: what they have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.rows import ROWS_PER_BLOCK, canonical
from ..runtime.threads import Workers, row_blocks
from .base import FeatureMap


class ComposedMap(FeatureMap, ABC):
    """Another map of changed rows; a subclass states the change, and pulls back through it."""

    inner: FeatureMap

    @abstractmethod
    def changed(self, X: Any) -> Any:
        """The rows as the inner map takes them."""

    @property
    def n_features_out(self) -> int:
        """Those of the inner map."""
        return self.inner.n_features_out

    def stored(self, X: Any) -> Any:
        """What the inner map stores of changed rows; in blocks, where that is CSR."""
        if not self.inner.is_sparse or X.shape[0] <= ROWS_PER_BLOCK:
            return self.inner.stored(self.changed(X))
        blocks = row_blocks(X.shape[0], ROWS_PER_BLOCK)
        parts = [self.inner.stored(self.changed(X[begin:end])) for begin, end in blocks]
        return canonical(sp.vstack(parts, format="csr"))

    def stored_with(self, X: Any, workers: Workers) -> Any:
        """The same, by threads."""
        if self.inner.is_sparse:
            return self.stored(X)
        return self.inner.stored_with(self.changed(X), workers)

    def rows(self, stored: Any) -> Any:
        """As the inner map reads them."""
        return self.inner.rows(stored)

    def row_length(self, stored: Any) -> float:
        """That of the inner map."""
        return self.inner.row_length(stored)

    def mapped(self, X: Any) -> Any:
        """φ of changed rows."""
        return self.inner.mapped(self.changed(X))

    def products(self, X: Any, others: Any) -> np.ndarray:
        """Those of changed rows."""
        return self.inner.products(self.changed(X), self.changed(others))

    def inner_rows(self, X: Any) -> np.ndarray:
        """Those of the inner map."""
        return self.inner.inner_rows(self.changed(X))

    def slopes(self, inner: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Those of the inner map."""
        return self.inner.slopes(inner, coef)

    @property
    def lengths(self) -> tuple[float, float, int]:
        """Those of the inner map."""
        return self.inner.lengths
