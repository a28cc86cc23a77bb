"""The quadratic map: all products of pairs of features, or of principal components."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from ..data.rows import core_rows, quadratic_width, squared_lengths, take_rows
from ..runtime.threads import Workers
from .base import FeatureMap
from .plain import Step, product, scaling

ROWS_FOR_PRINCIPAL_AXES = 20_000
WIDEST_COVARIANCE = 1_500


class QuadraticMap(FeatureMap):
    """All products of pairs, weighted so that ``φ·φ' = (x·x' + 1)² − 1``.

    The map is applied when the core reads a row: only the input is stored.

    Parameters
    ----------
    n_axes : int or None
        Products are taken of that many principal components of the rows instead of the features.
    keep_features : bool
        With principal components: the centered features themselves stay beside them, without
        products, so that the map has all that a linear model has.
    least_share : float
        Principal components of a smaller share of the variance are left out.
    rescale : bool
        Rows are first divided by the root of their mean squared length, and multiplied by
        ``√(N/1000)`` between 1 and 4. Without this, products outweigh the features themselves, the
        more so the more features there are; more rows support more curvature.
    n_rows : int or None
        N where the map is fitted on a sample.
    is_sparse : bool
        Store rows as CSR: products with zeros then take no time.
    """

    def __init__(
        self,
        n_axes: int | None = None,
        rescale: bool = False,
        n_rows: int | None = None,
        keep_features: bool = False,
        least_share: float = 0.0,
        is_sparse: bool = False,
    ):
        super().__init__(is_sparse=is_sparse)
        self.n_axes = n_axes
        self.keep_features = keep_features
        self.least_share = least_share
        self.rescale = rescale
        self.n_rows = n_rows

    def fit(self, X: Any, y: Any, sample_weight: np.ndarray, rng: np.random.Generator) -> Any:
        """Find the principal axes and the scale, if wanted, on a sample of rows."""
        super().fit(X, y, sample_weight, rng)
        self.mean: Any = None
        self.axes: Any = None
        self.scale = X.dtype.type(1)
        if self.n_axes is not None:
            self.mean, self.axes = principal_axes(
                X, sample_weight, self.n_axes, rng, least_share=self.least_share
            )
        if self.rescale:
            length = self._mean_squared_length(X, sample_weight, rng)
            curvature = np.clip(np.sqrt((self.n_rows or X.shape[0]) / 1000), 1, 4)
            self.scale = X.dtype.type(curvature / np.sqrt(length or 1))
        return self

    def _mean_squared_length(
        self, X: Any, sample_weight: np.ndarray, rng: np.random.Generator
    ) -> float:
        sample, weights = sampled_rows(X, sample_weight, rng)
        squares = squared_lengths(self._paired(sample), Workers())
        length = float(np.average(squares.astype(np.float64), weights=weights))
        return length

    @property
    def n_features_out(self) -> int:
        """Features, squares and products."""
        n_rest = self.n_features_in if self._keeps_features else 0
        return quadratic_width(self._n_paired + n_rest, self._n_paired)

    @property
    def without_products(self) -> FeatureMap:
        """The rows themselves."""
        return FeatureMap(self.n_features_in, is_sparse=self.is_sparse)

    @property
    def _n_paired(self) -> int:
        """The number of features or components of which products are taken."""
        return self.n_features_in if self.axes is None else len(self.axes)

    @property
    def _keeps_features(self) -> bool:
        return self.keep_features and self.axes is not None

    def _paired(self, X: Any) -> Any:
        if self.axes is None:
            return super().stored(X)
        return np.ascontiguousarray(X @ self.axes.T - self.mean @ self.axes.T)

    def stored(self, X: Any) -> Any:
        """The rows, or their principal components, beside them the features if these are kept."""
        components = self._paired(X)
        if not self._keeps_features:
            return components
        centered = (X.toarray() if sp.issparse(X) else X) - self.mean
        return np.hstack([components, centered])

    def rows(self, stored: Any) -> Any:
        """Rows that are expanded as they are read."""
        n_paired = None if sp.issparse(stored) else self._n_paired
        return core_rows(stored, quadratic=True, scale=float(self.scale), n_paired=n_paired)

    def row_length(self, stored: Any) -> float:
        """The products of zeros are zero, too."""
        if not sp.issparse(stored):
            return self.n_features_out
        counts = np.diff(stored.indptr).astype(np.float64)
        return float(quadratic_width(counts).mean()) if len(counts) else 0.0

    def mapped(self, X: Any) -> Any:
        """φ(x) written out."""
        out = np.empty((X.shape[0], self.n_features_out), X.dtype)
        self.rows(self.stored(X)).gather(np.arange(X.shape[0]), out)
        return out

    def products(self, X: Any, others: Any) -> np.ndarray:
        """``(z·z' + 1)² − 1`` of scaled rows, and twice the products of features that are kept."""
        z, z_others = (self._scaled(rows) for rows in (X, others))
        products = z[:, : self._n_paired] @ z_others[:, : self._n_paired].T
        products *= products + 2
        if self._keeps_features:
            products += 2 * (z[:, self._n_paired :] @ z_others[:, self._n_paired :].T)
        return products

    def _scaled(self, X: Any) -> np.ndarray:
        z = self.stored(X) * self.scale
        return (z.toarray() if sp.issparse(z) else z).astype(np.float32)

    def pull_back(self, X: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, Any]:
        """Contract the symmetric matrix of product weights with the row itself.

        The weight of feature i is its linear weight plus row i of the matrix times x, so that the
        weights times x still sum to the score.
        """
        local = self._contracted(self._paired(X), coef, 1)
        if self.axes is None:
            return local, 0
        local = self._on_features(local, coef)
        return local, -(local @ self.mean)

    def gradients(self, stored: Any, coef: np.ndarray) -> np.ndarray:
        """The linear weights plus twice the symmetric matrix of product weights times the row."""
        gradients = self._contracted(stored[:, : self._n_paired], coef, 2)
        return gradients if self.axes is None else self._on_features(gradients, coef)

    def _on_features(self, local: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Weights on principal components, and on features that are kept, as weights on these."""
        local = local @ self.axes
        if self._keeps_features:
            n = self._n_paired
            root = coef.dtype.type(np.sqrt(2))
            local += root * self.scale * coef[..., n : n + self.n_features_in]
        return local

    def _contracted(self, stored: Any, coef: np.ndarray, times: int) -> np.ndarray:
        """``(a + times · M z) · scale``, ``z`` the scaled row, of weights ``[a, M]`` on φ."""
        z = (stored.toarray() if sp.issparse(stored) else stored) * self.scale
        n = z.shape[1]
        root = coef.dtype.type(np.sqrt(2))
        local = coef[..., :n] * root
        # An off-diagonal product has weight √2 M_ij. The rows of its triangle come one after
        # another: row i holds the products of feature i with the features from i on.
        begin, half = coef.shape[-1] - n * (n + 1) // 2, coef.dtype.type(times) / root
        for i in range(n):
            diagonal, rest = coef[..., begin], coef[..., begin + 1 : begin + n - i]
            own = z[:, i, None]
            local[..., i] += times * diagonal * own
            local[..., i] += half * np.matmul(rest, z[:, i + 1 :, None])[..., 0]
            local[..., i + 1 :] += half * rest * own[:, :, None]
            begin += n - i
        return local * self.scale

    @property
    def feature_factors(self) -> np.ndarray | None:
        """The scale, unless products are of principal components."""
        return np.full(self.n_features_in, float(self.scale)) if self.axes is None else None

    def inner_rows(self, X: Any) -> np.ndarray:
        """The rows, or their principal components, times the scale."""
        return super().inner_rows(X) * float(self.scale)

    def slopes(self, inner: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The linear weights plus twice the symmetric matrices of product weights times the row."""
        width, n = inner.shape[1], self._n_paired
        upper, lower = np.triu_indices(n)
        matrix = np.zeros((n + 1, *coef.shape[:2], width))
        # An off-diagonal product has weight √2 M_ij: half of it for each of its two features.
        products = coef[..., width:] * np.where(upper == lower, 2, np.sqrt(2))
        matrix[upper, ..., lower] = matrix[lower, ..., upper] = np.moveaxis(products, 2, 0)
        matrix[n] = np.sqrt(2) * coef[..., :width]
        extended = np.hstack([inner[:, :n], np.ones((len(inner), 1))])
        return (extended @ matrix.reshape(n + 1, -1)).reshape(-1, *matrix.shape[1:])

    @property
    def lengths(self) -> tuple[float, float, int]:
        """``2‖z‖² + ‖p‖⁴``, ``p`` the numbers of which products are taken."""
        return 2.0, 1.0, self._n_paired

    def path_weights(
        self, weights: np.ndarray, X: np.ndarray, reference: np.ndarray, workers: Workers
    ) -> np.ndarray:
        """Weights on principal components, and on features that are kept, are weights on these."""
        weights = weights * float(self.scale)
        if self.axes is None:
            return weights
        n = self._n_paired
        local = weights[..., :n] @ self.axes
        return local + weights[..., n:] if self._keeps_features else local

    def plain(self) -> list[Step]:
        """Principal components, if there are any, then products of pairs."""
        upper, lower = np.triu_indices(self._n_paired)
        quadratic = Step("quadratic", {"factor": float(self.scale), "upper": upper, "lower": lower})
        if self.axes is None:
            return [quadratic]
        components = product(self.axes.T, -(self.mean @ self.axes.T))
        if not self._keeps_features:
            return [components, quadratic]
        features = scaling(np.ones(self.n_features_in), -self.mean)
        return [Step("beside", {"branches": [[components], [features]]}), quadratic]


def sampled_rows(
    X: Any,
    sample_weight: np.ndarray,
    rng: np.random.Generator,
    most_rows: int = ROWS_FOR_PRINCIPAL_AXES,
) -> tuple[Any, np.ndarray]:
    """At most so many random rows, and their weights."""
    if X.shape[0] <= most_rows:
        return X, sample_weight
    chosen = np.sort(rng.choice(X.shape[0], most_rows, replace=False))
    return take_rows(X, chosen), sample_weight[chosen]


def principal_axes(
    X: Any,
    sample_weight: np.ndarray,
    n_axes: int,
    rng: np.random.Generator,
    *,
    most_rows: int = ROWS_FOR_PRINCIPAL_AXES,
    widest_covariance: int = WIDEST_COVARIANCE,
    least_share: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and leading axes of weighted rows, ``(d,)`` and ``(n_axes, d)``.

    Sparse rows are not centered, to stay sparse: their mean is taken as zero. Beyond ``most_rows``
    a random sample is taken; beyond ``widest_covariance`` features axes come from a randomized
    decomposition. Axes along which rows have less than ``least_share`` of their variance are left
    out.
    """
    X, sample_weight = sampled_rows(X, sample_weight, rng, most_rows)
    weights = (sample_weight / sample_weight.sum()).astype(X.dtype)
    n_axes = min(n_axes, *X.shape)
    if sp.issparse(X):
        mean = np.zeros(X.shape[1], X.dtype)
        scaled = sp.diags_array(np.sqrt(weights), dtype=X.dtype) @ X
    else:
        mean = weights @ X
        scaled = (X - mean) * np.sqrt(weights)[:, None]
    if X.shape[1] <= widest_covariance:
        covariance = scaled.T @ scaled
        variances, vectors = np.linalg.eigh(
            covariance.toarray() if sp.issparse(covariance) else covariance
        )
        variances, axes = variances[::-1][:n_axes], vectors.T[::-1][:n_axes]
    else:
        seed = int(rng.integers(np.iinfo(np.int32).max))
        _, deviations, axes = randomized_svd(scaled, n_axes, random_state=seed)
        variances = deviations**2
    # Directions in which the rows do not vary would be arbitrary.
    least = X.shape[1] * np.finfo(X.dtype).eps * variances[0]
    if least_share:
        squares = scaled.multiply(scaled) if sp.issparse(scaled) else scaled * scaled
        least = max(least, least_share * float(squares.sum()))
    axes = axes[: max(1, np.count_nonzero(variances > least))]
    # A fixed sign: the largest entry of each axis is positive.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    return mean, np.ascontiguousarray(axes, dtype=X.dtype)
