"""Feature maps φ(x): the features of the local models.

A map passes mapped rows to the compiled core and, where possible, states weights on φ(x) as weights
on the input's own features. Any scikit-learn transformer can be used as a map.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.rows import as_csr, core_rows
from ..runtime.threads import Workers
from .plain import NotPlain, Step


class NoGradient(ValueError):
    """A map whose gradients are not known."""


class FeatureMap:
    """The identity; base of all maps."""

    #: Whether weights on φ(x) can be stated as weights on the input's features.
    explains_input = True
    #: What features are multiplied by so that they have similar sizes; None for features as given.
    unit: np.ndarray | None = None

    #: Whether dense rows are stored as CSR, because most of their numbers are zero.
    is_sparse = False

    def __init__(self, n_features_in: int = 0, *, is_sparse: bool = False):
        self.n_features_in = n_features_in
        self.is_sparse = is_sparse

    def fit(self, X: Any, y: Any, sample_weight: np.ndarray, rng: np.random.Generator) -> Any:
        """Learn what the map needs from training rows."""
        self.n_features_in = X.shape[1]
        return self

    @property
    def n_features_out(self) -> int:
        """Number of mapped features ``p``."""
        return self.n_features_in

    @property
    def without_products(self) -> FeatureMap:
        """The map that leaves products of features out; most maps have none."""
        return self

    def stored(self, X: Any) -> Any:
        """The rows as they are stored during training."""
        return as_csr(X) if self.is_sparse and not sp.issparse(X) else X

    def stored_with(self, X: Any, workers: Workers) -> Any:
        """:meth:`stored`, by threads where a map has use for them."""
        return self.stored(X)

    def rows(self, stored: Any) -> Any:
        """Stored rows as the compiled core reads them."""
        return core_rows(stored)

    def row_length(self, stored: Any) -> float:
        """How many numbers of a mapped row are read, in the mean: not the zeros of sparse rows."""
        return stored.nnz / max(1, stored.shape[0]) if sp.issparse(stored) else self.n_features_out

    def mapped(self, X: Any) -> Any:
        """φ(x) written out, for coding on mapped features."""
        return self.stored(X)

    def products(self, X: Any, others: Any) -> np.ndarray:
        """``φ(x)·φ(x')`` of rows and other rows, in single precision."""
        products = self.stored(X).astype(np.float32) @ self.stored(others).astype(np.float32).T
        return products.toarray() if sp.issparse(products) else products

    def pull_back(self, X: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, Any]:
        """Weights on φ(x), ``(n_rows, n_classes, p)``, as weights on x and a shift of the bias."""
        return coef, 0

    def gradients(self, stored: Any, coef: np.ndarray) -> np.ndarray:
        """``∂(a · φ(x))/∂x`` at stored rows, for weights ``a`` on φ of shape (n_rows, c, p)."""
        if type(self) is not FeatureMap:
            raise NoGradient(
                f"{type(self).__name__} states no gradients; use feature_map=None or 'quadratic', "
                "or give it a method gradients(stored, coef)."
            )
        return coef

    def feature_names(self, names: np.ndarray) -> np.ndarray:
        """Names of the features that weights (``local_coef``) are of."""
        return names

    # ---- along a line from a reference to a row ------------------------------------------------

    @property
    def attributes_input(self) -> bool:
        """Whether contributions are of the input's features, not of the mapped ones."""
        return self.explains_input

    @property
    def feature_factors(self) -> np.ndarray | None:
        """Where inner numbers are the features times factors: these. None elsewhere."""
        return np.ones(self.n_features_in) if type(self) is FeatureMap else None

    def inner_rows(self, X: Any) -> np.ndarray:
        """The numbers of which φ(x) is a polynomial, dense, in double precision."""
        stored = self.stored(X)
        return (stored.toarray() if sp.issparse(stored) else stored).astype(np.float64)

    def slopes(self, inner: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Gradients of ``coef_jc · φ`` with respect to the inner numbers.

        Parameters
        ----------
        inner : ndarray of shape (n_rows, e)
        coef : ndarray of shape (n_models, n_columns, p)

        Returns
        -------
        ndarray of shape (n_rows, n_models, n_columns, e)
            Or of one row, where the gradient is the same at all rows.
        """
        return coef[None]

    def curvature(self, n_inner: int, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes of ``coef_jc · φ`` at zero, and second derivatives of the numbers multiplied.

        Of shapes (n_models, n_columns, n_inner) and (n_models, n_columns, n, n).
        """
        n_paired = self.lengths[2]
        slopes = self.slopes(np.eye(n_inner + 1, n_inner, -1)[: n_paired + 1], coef)
        return slopes[0], np.moveaxis((slopes[1:] - slopes[0])[..., :n_paired], 0, 2)

    @property
    def lengths(self) -> tuple[float, float, int]:
        """``α``, ``β`` and ``n`` of ``‖φ‖² = α‖u‖² + β‖p‖⁴``.

        ``u`` are the inner numbers and ``p`` the first n of them, of which products are taken; no
        products are taken where β is zero.
        """
        return 1.0, 0.0, 0

    def path_weights(
        self, weights: np.ndarray, X: np.ndarray, reference: np.ndarray, workers: Workers
    ) -> np.ndarray:
        """Weights on differences of inner numbers as weights on differences of features.

        With ``w`` the weights given and ``v`` those returned,
        ``w · (inner(x) − inner(reference)) = v · (x − reference)``.

        Parameters
        ----------
        weights : ndarray of shape (n_rows, n_columns, e)
        X : ndarray of shape (n_rows, n_features)
        reference : ndarray of shape (1, n_features)
        workers : Workers

        Returns
        -------
        ndarray of shape (n_rows, n_columns, n_features)
            The weights given, where these are of the mapped features.
        """
        return weights

    def plain(self) -> list[Step]:
        """The map as plain steps, for export; a subclass states its own."""
        if type(self) is not FeatureMap:
            raise NotPlain(
                f"{type(self).__name__} has no plain form; give it a method plain() that returns "
                "its steps."
            )
        return []


class BiasOnlyMap(FeatureMap):
    """Nothing: a local model is one number (a linear SVM on the codes)."""

    @property
    def n_features_out(self) -> int:
        """Zero."""
        return 0

    def stored(self, X: Any) -> Any:
        """Rows of no features."""
        return np.empty((X.shape[0], 0), X.dtype)

    def mapped(self, X: Any) -> Any:
        """Raise: there is nothing to code on."""
        raise ValueError("code_on='features' needs a feature map that has features.")

    def pull_back(self, X: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, Any]:
        """No weight on any feature."""
        return self.gradients(None, coef), 0

    def gradients(self, stored: Any, coef: np.ndarray) -> np.ndarray:
        """Zero."""
        return np.zeros((*coef.shape[:2], self.n_features_in), coef.dtype)

    def path_weights(
        self, weights: np.ndarray, X: np.ndarray, reference: np.ndarray, workers: Workers
    ) -> np.ndarray:
        """Zero."""
        return np.zeros((*weights.shape[:2], self.n_features_in))

    def plain(self) -> list[Step]:
        """Rows of no features."""
        return [Step("nothing")]
