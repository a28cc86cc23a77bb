"""Feature maps φ(x): what a local model sees of a row.

A map knows how to hand mapped rows to the compiled core and, where it can, how to state weights on
φ(x) as weights on the input's own features. Any scikit-learn transformer serves as a map.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .rows import core_rows, quadratic_width, take_rows
from .validation import FLOATS, canonical, check_choice, check_number

FEATURE_MAPS = (
    "auto", None, "identity", "bias_only", "quadratic", "additive_chi2", "intersection", "nystroem",
)  # fmt: skip

# "auto": quadratic local models on the input up to this many features, else on principal axes.
WIDEST_QUADRATIC_INPUT = 64
N_PRINCIPAL_AXES = 40
ROWS_FOR_PRINCIPAL_AXES = 20_000
WIDEST_COVARIANCE = 1_500
NYSTROEM_COMPONENTS = 100


class FeatureMap:
    """The identity; base of all maps."""

    #: Whether weights on φ(x) can be stated as weights on the input's features.
    explains_input = True

    def fit(self, X: Any, y: Any, sample_weight: np.ndarray, rng: np.random.Generator) -> Any:
        """Learn what the map needs from training rows."""
        self.n_features_in = X.shape[1]
        return self

    @property
    def n_features_out(self) -> int:
        """Number of mapped features ``p``."""
        return self.n_features_in

    def stored(self, X: Any) -> Any:
        """The rows as they are kept during training."""
        return X

    def rows(self, stored: Any) -> Any:
        """Kept rows as the compiled core reads them."""
        return core_rows(stored)

    def mapped(self, X: Any) -> Any:
        """φ(x) written out, for coding on mapped features."""
        return self.stored(X)

    def pull_back(self, X: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, Any]:
        """Weights on φ(x), ``(n_rows, n_classes, p)``, as weights on x and a shift of the bias."""
        return coef, 0

    def feature_names(self, names: np.ndarray) -> np.ndarray:
        """Names of the features that explanations speak of."""
        return names


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
        return np.zeros((*coef.shape[:2], self.n_features_in), coef.dtype), 0


class QuadraticMap(FeatureMap):
    """All products of pairs, weighted so that ``φ·φ' = (x·x' + 1)² − 1``.

    The map is applied when the core reads a row: only the input is stored.

    Parameters
    ----------
    n_axes : int or None
        Products are taken of that many principal components of the rows instead of the features.
    rescale : bool
        The map sees rows divided by the root of their mean squared length, and multiplied by
        ``√(N/1000)`` between 1 and 4. As they are, products would outweigh the features themselves
        the more, the more features there are; but the more rows, the more curvature they support.
    n_rows : int or None
        N where the map is fitted on a sample.
    """

    def __init__(self, n_axes: int | None = None, rescale: bool = False, n_rows: int | None = None):
        self.n_axes = n_axes
        self.rescale = rescale
        self.n_rows = n_rows

    def fit(self, X: Any, y: Any, sample_weight: np.ndarray, rng: np.random.Generator) -> Any:
        """Find the principal axes and the scale, if wanted, on a sample of rows."""
        super().fit(X, y, sample_weight, rng)
        self.mean, self.axes, self.scale = None, None, X.dtype.type(1)
        if self.n_axes is not None:
            self.mean, self.axes = principal_axes(X, sample_weight, self.n_axes, rng)
        if self.rescale:
            length = self._mean_squared_length(X, sample_weight, rng)
            curvature = np.clip(np.sqrt((self.n_rows or X.shape[0]) / 1000), 1, 4)
            self.scale = X.dtype.type(curvature / np.sqrt(length or 1))
        return self

    def _mean_squared_length(
        self, X: Any, sample_weight: np.ndarray, rng: np.random.Generator
    ) -> float:
        sample, weights = _sample_rows(X, sample_weight, rng)
        z = self.stored(sample)
        return float(np.average(np.einsum("ij,ij->i", z, z).astype(np.float64), weights=weights))

    @property
    def n_features_out(self) -> int:
        """Features, squares and products."""
        n_inputs = self.n_features_in if self.axes is None else len(self.axes)
        return quadratic_width(n_inputs)

    def stored(self, X: Any) -> Any:
        """The rows, or their principal components."""
        if self.axes is not None:
            X = np.ascontiguousarray(X @ self.axes.T - self.mean @ self.axes.T)
        return X

    def rows(self, stored: Any) -> Any:
        """Rows that are expanded as they are read."""
        return core_rows(stored, quadratic=True, scale=float(self.scale))

    def mapped(self, X: Any) -> Any:
        """φ(x) written out."""
        out = np.empty((X.shape[0], self.n_features_out), X.dtype)
        self.rows(self.stored(X)).gather(np.arange(X.shape[0]), out)
        return out

    def pull_back(self, X: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, Any]:
        """Contract the symmetric matrix of product weights with the row itself.

        Feature i weighs its linear weight plus row i of the matrix times x, so that the weights
        times x still add up to the score.
        """
        z = self.stored(X)
        if sp.issparse(z):
            z = z.toarray()
        z = z * self.scale
        n = z.shape[1]
        linear, products = coef[..., :n] * coef.dtype.type(np.sqrt(2)), coef[..., n:]
        matrix = np.zeros((*coef.shape[:2], n, n), coef.dtype)
        upper, lower = np.triu_indices(n)
        # An off-diagonal product has weight √2 w: half of it goes to each of its two features.
        half = np.where(upper == lower, 1.0, np.sqrt(0.5)).astype(coef.dtype)
        matrix[..., upper, lower] = products * half
        matrix[..., lower, upper] = products * half
        local = (linear + np.einsum("ncij,nj->nci", matrix, z)) * self.scale
        if self.axes is None:
            return local, 0
        return local @ self.axes, -(local @ (self.axes @ self.mean))


class TransformerMap(FeatureMap):
    """Any scikit-learn transformer as a map; explanations speak of its output features."""

    explains_input = False

    def __init__(self, transformer: Any):
        self.transformer = transformer

    def fit(self, X: Any, y: Any, sample_weight: np.ndarray, rng: np.random.Generator) -> Any:
        """Fit a clone of the transformer."""
        super().fit(X, y, sample_weight, rng)
        self.transformer = clone(self.transformer).fit(X, y)
        self._width = self.stored(take_rows(X, np.arange(1))).shape[1]
        return self

    @property
    def n_features_out(self) -> int:
        """Width of the transformer's output."""
        return self._width

    def stored(self, X: Any) -> Any:
        """The transformer's output in the dtype of the rows."""
        return transformed(self.transformer, X, "feature_map")

    def feature_names(self, names: np.ndarray) -> np.ndarray:
        """The transformer's own names, or φ0, φ1, …"""
        try:
            return np.asarray(self.transformer.get_feature_names_out(names), dtype=object)
        except (AttributeError, NotImplementedError, ValueError):
            return np.array([f"φ{i}" for i in range(self._width)], dtype=object)


def transformed(transformer: Any, X: Any, argument: str) -> Any:
    """Output of a user's transformer, checked, in the dtype of ``X``."""
    out = transformer.transform(X)
    out = check_array(
        out, accept_sparse="csr", dtype=X.dtype, order="C", input_name=f"output of {argument}"
    )
    if out.shape[0] != X.shape[0]:
        raise ValueError(f"{argument} turned {X.shape[0]} rows into {out.shape[0]}.")
    return canonical(out)


class AdditiveKernelMap(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Finite map of an additive homogeneous kernel (Vedaldi and Zisserman 2010).

    Each feature becomes ``2·n_steps − 1`` numbers whose products approximate
    ``k(x, y) = 2xy/(x + y)`` (χ²) or ``min(x, y)`` (intersection), summed over features. Negative
    values are mapped by ``φ(−x) = −φ(x)``; zeros stay zeros, so sparse rows stay sparse.

    Parameters
    ----------
    kernel : {"chi2", "intersection"}, default="chi2"
    n_steps : int, default=2
        Frequencies at which the kernel's spectrum is sampled, zero included.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.features import AdditiveKernelMap
    >>> phi = AdditiveKernelMap("intersection").fit_transform(np.array([[0.2], [0.5]]))
    >>> phi.shape
    (2, 3)
    >>> round(float(phi[0] @ phi[1]), 1)
    0.2
    """

    # Sampling periods that minimise the mean squared error over ratios x/y up to e³.
    _PERIODS = {"chi2": 0.6, "intersection": 0.75}  # noqa: RUF012

    def __init__(self, kernel: str = "chi2", n_steps: int = 2):
        self.kernel = kernel
        self.n_steps = n_steps

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> AdditiveKernelMap:
        """Check the arguments; nothing is learned."""
        check_choice("kernel", self.kernel, self._PERIODS)
        check_number("n_steps", self.n_steps, integer=True, above=1, inclusive=True)
        validate_data(self, X, accept_sparse="csr", dtype=list(FLOATS))
        return self

    def transform(self, X: Any) -> Any:
        """Map rows, dense or CSR."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=list(FLOATS), reset=False)
        if not sp.issparse(X):
            return np.hstack(self._components(X))
        parts = []
        for values in self._components(X.data):
            part = X.copy()
            part.data = values
            parts.append(part)
        return sp.hstack(parts, format="csr")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names ``feature_part``."""
        names = super().get_feature_names_out(input_features)
        parts = ["0", *(f"{wave}{j}" for j in range(1, self.n_steps) for wave in ("cos", "sin"))]
        return np.array([f"{name}_{part}" for part in parts for name in names], dtype=object)

    def _components(self, x: np.ndarray) -> list[np.ndarray]:
        period = self._PERIODS[self.kernel]
        size = np.abs(x)
        log_size = np.log(np.where(size > 0, size, 1))
        root = np.sign(x) * np.sqrt(size * x.dtype.type(period))
        components = [root * x.dtype.type(np.sqrt(self._spectrum(0.0)))]
        for j in range(1, self.n_steps):
            amplitude = root * x.dtype.type(np.sqrt(2 * self._spectrum(j * period)))
            phase = x.dtype.type(j * period) * log_size
            components += [amplitude * np.cos(phase), amplitude * np.sin(phase)]
        return components

    def _spectrum(self, frequency: float) -> float:
        if self.kernel == "chi2":
            return float(1 / np.cosh(np.pi * frequency))
        return float(2 / np.pi / (1 + 4 * frequency**2))


def check_feature_map(feature_map: Any) -> None:
    """Raise unless ``feature_map`` is a known name, a map or a transformer."""
    if isinstance(feature_map, FeatureMap):
        return
    if isinstance(feature_map, str) or feature_map is None:
        check_choice("feature_map", feature_map, FEATURE_MAPS)
    elif isinstance(feature_map, type) or not (
        hasattr(feature_map, "fit") and hasattr(feature_map, "transform")
    ):
        raise TypeError(
            f"feature_map must be one of {list(FEATURE_MAPS)} or a transformer, "
            f"not {feature_map!r}."
        )


def make_feature_map(
    feature_map: Any, X: Any, rng: np.random.Generator, n_rows: int | None = None
) -> FeatureMap:
    """The unfitted map that an estimator's ``feature_map`` argument names, for rows like ``X``.

    Where ``X`` is a sample, ``n_rows`` tells of how many rows.
    """
    if isinstance(feature_map, FeatureMap):
        return copy(feature_map)
    if feature_map == "auto":
        return _automatic_map(X, n_rows)
    if feature_map is None or feature_map == "identity":
        return FeatureMap()
    if feature_map == "bias_only":
        return BiasOnlyMap()
    if feature_map == "quadratic":
        return QuadraticMap()
    if feature_map == "additive_chi2":
        return TransformerMap(AdditiveKernelMap("chi2"))
    if feature_map == "intersection":
        return TransformerMap(AdditiveKernelMap("intersection"))
    if feature_map == "nystroem":
        return TransformerMap(_nystroem(X, rng))
    return TransformerMap(feature_map)


def _automatic_map(X: Any, n_rows: int | None) -> FeatureMap:
    if sp.issparse(X):
        return FeatureMap()
    n_axes = None if X.shape[1] <= WIDEST_QUADRATIC_INPUT else N_PRINCIPAL_AXES
    return QuadraticMap(n_axes, rescale=True, n_rows=n_rows)


def _nystroem(X: Any, rng: np.random.Generator) -> Nystroem:
    sample = X[:ROWS_FOR_PRINCIPAL_AXES]
    variance = (
        sample.multiply(sample).mean() - sample.mean() ** 2 if sp.issparse(X) else sample.var()
    )
    return Nystroem(
        gamma=1 / (X.shape[1] * float(variance) or 1),
        n_components=min(NYSTROEM_COMPONENTS, X.shape[0]),
        random_state=int(rng.integers(np.iinfo(np.int32).max)),
    )


def _sample_rows(
    X: Any, sample_weight: np.ndarray, rng: np.random.Generator
) -> tuple[Any, np.ndarray]:
    if X.shape[0] <= ROWS_FOR_PRINCIPAL_AXES:
        return X, sample_weight
    chosen = np.sort(rng.choice(X.shape[0], ROWS_FOR_PRINCIPAL_AXES, replace=False))
    return take_rows(X, chosen), sample_weight[chosen]


def principal_axes(
    X: Any, sample_weight: np.ndarray, n_axes: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and leading axes of weighted rows, ``(d,)`` and ``(n_axes, d)``.

    Sparse rows are not centred (they would be sparse no more): their mean counts as zero.
    """
    X, sample_weight = _sample_rows(X, sample_weight, rng)
    weights = (sample_weight / sample_weight.sum()).astype(X.dtype)
    n_axes = min(n_axes, *X.shape)
    if sp.issparse(X):
        mean = np.zeros(X.shape[1], X.dtype)
        scaled = sp.diags_array(np.sqrt(weights), dtype=X.dtype) @ X
    else:
        mean = weights @ X
        scaled = (X - mean) * np.sqrt(weights)[:, None]
    if X.shape[1] <= WIDEST_COVARIANCE:
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
    rounding = X.shape[1] * np.finfo(X.dtype).eps * variances[0]
    axes = axes[: max(1, np.count_nonzero(variances > rounding))]
    # A fixed sign: the largest entry of each axis is positive.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    return mean, np.ascontiguousarray(axes, dtype=X.dtype)
