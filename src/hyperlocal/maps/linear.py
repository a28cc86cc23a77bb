"""A linear map of rows before everything else: scaled or mixed features.

The gate measures distances on the mapped rows (:class:`InputMap` as ``code_on``), and the local
models see them through their own map (:class:`MappedInput`). Both pull weights back to the features
as they were given, so explanations and export do not change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..runtime.threads import Workers
from .base import FeatureMap
from .composed import ComposedMap
from .plain import Step, product, scaling


@dataclass(frozen=True)
class InputMap:
    """``z = (x − center) · unit · factors``, or with a matrix of factors, ``… @ factors``.

    Attributes
    ----------
    factors : ndarray of shape (n_features,) or (n_features, width)
    center : ndarray of shape (n_features,), or None
        What is subtracted first; not from sparse rows.
    unit : ndarray of shape (n_features,), or None
        What features are multiplied by before the factors, so that they have similar sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.maps.linear import InputMap
    >>> InputMap(np.array([2.0, 0.5])).transform(np.array([[1.0, 4.0]]))
    array([[2., 2.]])
    """

    factors: np.ndarray
    center: np.ndarray | None = None
    unit: np.ndarray | None = None

    @property
    def is_diagonal(self) -> bool:
        """Whether features are multiplied, not mixed."""
        return self.factors.ndim == 1

    @property
    def slopes(self) -> np.ndarray:
        """Units and factors: how z changes with x."""
        if self.unit is None:
            return self.factors
        return self.unit * self.factors if self.is_diagonal else self.unit[:, None] * self.factors

    def then(self, factors: np.ndarray) -> InputMap:
        """This center and these units, with other factors."""
        return replace(self, factors=factors)

    def transform(self, X: Any) -> Any:
        """Mapped rows in the precision of ``X``; multiplied sparse rows stay sparse."""
        slopes = self.slopes.astype(X.dtype, copy=False)
        if sp.issparse(X) and self.is_diagonal:
            # A product of sparse matrices would not have its indices in order, as the core
            # requires.
            return sp.csr_array((X.data * slopes[X.indices], X.indices, X.indptr), shape=X.shape)
        if self.center is not None:
            X = X - self.center.astype(X.dtype, copy=False)
            if self.is_diagonal:
                return np.multiply(X, slopes, out=X)  # rows may be most of the memory there is
        return X * slopes if self.is_diagonal else np.ascontiguousarray(X @ slopes)

    def restored(self, Z: np.ndarray) -> np.ndarray:
        """Rows that are mapped to ``Z``; centers in features, or directions, that are left out."""
        slopes = self.slopes.astype(Z.dtype, copy=False)
        if self.is_diagonal:
            rows = np.divide(Z, slopes, out=np.zeros_like(Z), where=slopes != 0)
        else:
            rows = Z @ np.linalg.pinv(slopes)
        return rows if self.center is None else rows + self.center.astype(Z.dtype, copy=False)

    def pull_back(self, coef: np.ndarray) -> np.ndarray:
        """Weights on z as weights on x, along the last axis."""
        slopes = self.slopes.astype(coef.dtype, copy=False)
        return coef * slopes if self.is_diagonal else coef @ slopes.T

    def plain(self) -> list[Step]:
        """The product as a plain step, for export."""
        slopes = self.slopes.astype(np.float64)
        center = np.zeros(len(slopes)) if self.center is None else self.center
        if self.is_diagonal:
            return [scaling(slopes, -center * slopes)]
        return [product(slopes, -(center @ slopes))]


class MappedInput(ComposedMap):
    """A feature map of rows that are mapped linearly first.

    Parameters
    ----------
    before : InputMap
    inner : FeatureMap
        Fitted to mapped rows.
    """

    def __init__(self, before: InputMap, inner: FeatureMap):
        super().__init__(len(before.factors))
        self.before = before
        self.inner = inner
        self.explains_input, self.unit = inner.explains_input, before.unit

    def changed(self, X: Any) -> Any:
        """The rows, mapped linearly."""
        return self.before.transform(X)

    def pull_back(self, X: Any, coef: np.ndarray) -> tuple[np.ndarray, Any]:
        """Weights on φ as weights on mapped rows, and these on the rows as given."""
        local, shift = self.inner.pull_back(self.changed(X), coef)
        if not self.explains_input:
            return local, shift
        local = self.before.pull_back(local)
        center = self.before.center
        return local, shift if center is None else shift - local @ center.astype(local.dtype)

    def gradients(self, stored: Any, coef: np.ndarray) -> np.ndarray:
        """By the chain rule."""
        return self.before.pull_back(self.inner.gradients(stored, coef))

    @property
    def attributes_input(self) -> bool:
        """Whether the inner map does."""
        return self.inner.attributes_input

    @property
    def feature_factors(self) -> np.ndarray | None:
        """The product of both, where features are multiplied."""
        inner = self.inner.feature_factors
        return inner * self.before.slopes if self.before.is_diagonal and inner is not None else None

    def path_weights(
        self, weights: np.ndarray, X: np.ndarray, reference: np.ndarray, workers: Workers
    ) -> np.ndarray:
        """Weights on differences of mapped rows, and these on the rows as given."""
        rows, start = self.changed(X), self.changed(reference)
        local = self.inner.path_weights(weights, rows, start, workers)
        return self.before.pull_back(local) if self.attributes_input else local

    def feature_names(self, names: np.ndarray) -> np.ndarray:
        """Those of the inner map."""
        return self.inner.feature_names(names)

    def plain(self) -> list[Step]:
        """The product, then the inner map."""
        return [*self.before.plain(), *self.inner.plain()]
