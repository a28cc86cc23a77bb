"""Finite maps of additive homogeneous kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data.arguments import check_choice, check_number
from ..data.rows import FLOATS, well_formed
from ..runtime.stamp import stamped
from .plain import Step

# Sampling periods that minimize the mean squared error over ratios x/y up to e³.
PERIODS = {"chi2": 0.6, "intersection": 0.75}


@dataclass(eq=False, repr=False)
@stamped
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
    >>> from hyperlocal.maps.additive import AdditiveKernelMap
    >>> phi = AdditiveKernelMap("intersection").fit_transform(np.array([[0.2], [0.5]]))
    >>> phi.shape
    (2, 3)
    >>> round(float(phi[0] @ phi[1]), 1)
    0.2
    """

    kernel: str = "chi2"
    n_steps: int = 2

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> AdditiveKernelMap:
        """Check the arguments; nothing is learned."""
        check_choice("kernel", self.kernel, PERIODS)
        check_number("n_steps", self.n_steps, integer=True, above=1, inclusive=True)
        validate_data(self, well_formed(X), accept_sparse="csr", dtype=list(FLOATS))
        return self

    def transform(self, X: Any) -> Any:
        """Map rows, dense or CSR."""
        check_is_fitted(self)
        X = validate_data(
            self, well_formed(X), accept_sparse="csr", dtype=list(FLOATS), reset=False
        )
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
        first, *amplitudes = self.amplitudes().astype(x.dtype)
        size = np.abs(x)
        log_size = np.log(np.where(size > 0, size, 1))
        root = np.sign(x) * np.sqrt(size)
        components = [root * first]
        for amplitude, frequency in zip(amplitudes, self.frequencies()[1:], strict=True):
            phase = x.dtype.type(frequency) * log_size
            components += [amplitude * root * wave(phase) for wave in (np.cos, np.sin)]
        return components

    def frequencies(self) -> np.ndarray:
        """Where the kernel's spectrum is sampled, zero first, ``(n_steps,)``."""
        return PERIODS[self.kernel] * np.arange(self.n_steps)

    def amplitudes(self) -> np.ndarray:
        """Amplitudes of each frequency, ``(n_steps,)``."""
        frequencies = self.frequencies()
        if self.kernel == "chi2":
            spectrum = 1 / np.cosh(np.pi * frequencies)
        else:
            spectrum = 2 / np.pi / (1 + 4 * frequencies**2)
        # A frequency above zero also represents its negative.
        return np.sqrt(PERIODS[self.kernel] * spectrum * np.where(frequencies > 0, 2, 1))

    def plain(self) -> list[Step]:
        """Amplitudes and frequencies."""
        return [
            Step("additive", {"amplitudes": self.amplitudes(), "frequencies": self.frequencies()})
        ]
