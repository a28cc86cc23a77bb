"""Landmarks, and the feature map that projects rows on them: ``φ(x) = [μ(x, l_1) … μ(x, l_L)]``."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms

from ..data.arguments import check_choice, check_number
from ..data.rows import FLOATS, take_rows
from ..gates.anchors import choose_anchors
from ..gates.gate import weighted_median
from ..runtime.threads import Workers, row_blocks
from .backwards import step_weights
from .base import FeatureMap
from .plain import Step, gaussian, product
from .quadratic import principal_axes

LANDMARKS = ("random", "pca", "kmeans")
PROJECTIONS = ("linear", "rbf")
ROWS_FOR_GAMMA = 2_048
NUMBERS_PER_BLOCK = 1 << 20


def check_landmarks(n_landmarks: Any, landmarks: Any, projection: Any, gamma: Any) -> None:
    """Raise unless the arguments that describe landmarks make sense together."""
    if isinstance(n_landmarks, str):
        check_choice("n_landmarks", n_landmarks, ["auto"])
    else:
        check_number("n_landmarks", n_landmarks, integer=True, above=1, inclusive=True)
    if isinstance(landmarks, str) or landmarks is None:
        check_choice("landmarks", landmarks, LANDMARKS)
    elif sp.issparse(landmarks) or np.ndim(landmarks) != 2:
        raise TypeError(
            f"landmarks must be one of {list(LANDMARKS)} or a dense 2-D array with one landmark "
            f"per row, not {landmarks!r}."
        )
    check_choice("projection", projection, PROJECTIONS)
    if isinstance(gamma, str):
        check_choice("gamma", gamma, ["auto"])
    else:
        check_number("gamma", gamma)


def choose_landmarks(
    X: Any,
    sample_weight: np.ndarray,
    kind: Any,
    n_landmarks: Any,
    rng: np.random.Generator,
    workers: Workers,
) -> np.ndarray:
    """Landmarks for rows ``X``, ``(n_landmarks, n_features)``; "auto" is as many as features.

    ``kind`` is "random" (training rows), "pca" (principal axes, at most as many as vary), "kmeans"
    (centers), or an array.
    """
    if not isinstance(kind, str):
        return _given_landmarks(kind, n_landmarks, X)
    if kind == "pca":
        n_axes = min(X.shape) if n_landmarks == "auto" else n_landmarks
        return principal_axes(X, sample_weight, n_axes, rng)[1]
    return choose_anchors(
        X, sample_weight, kind, n_landmarks, rng, workers,
        argument="n_landmarks", default=lambda n_distinct: min(X.shape[1], max(1, int(n_distinct))),
    )  # fmt: skip


def _given_landmarks(given: Any, n_landmarks: Any, X: Any) -> np.ndarray:
    landmarks = check_array(given, dtype=list(FLOATS), order="C", input_name="landmarks")
    if landmarks.shape[1] != X.shape[1]:
        raise ValueError(
            f"landmarks have {landmarks.shape[1]} columns, but X has {X.shape[1]} features."
        )
    if n_landmarks != "auto" and n_landmarks != len(landmarks):
        raise ValueError(
            f"n_landmarks={n_landmarks} but {len(landmarks)} landmarks are given; leave "
            "n_landmarks at 'auto' when landmarks is an array."
        )
    return np.ascontiguousarray(landmarks, dtype=X.dtype)


def check_projections(projections: np.ndarray) -> None:
    """Raise where squares of projections overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(row_norms(projections, squared=True).max())
    if not np.isfinite(largest):
        raise ValueError(
            f"projections on landmarks overflow in {projections.dtype}; scale the features first, "
            "for instance with make_pipeline(StandardScaler(), ...)."
        )


class LandmarkMap(FeatureMap):
    """Projections on landmarks.

    Parameters
    ----------
    landmarks : ndarray of shape (n_landmarks, n_features)
    projection : {"linear", "rbf"}
        ``x · l`` or ``exp(−γ‖x − l‖²)``.
    gamma : float or "auto"
        ``γ`` of the RBF. "auto" is one over the median squared distance between rows and landmarks.
    """

    def __init__(self, landmarks: np.ndarray, projection: str = "linear", gamma: Any = "auto"):
        super().__init__(landmarks.shape[1])
        self.landmarks = landmarks
        self.projection = projection
        self.gamma = gamma
        self.explains_input = projection == "linear"

    def fit(self, X: Any, y: Any, sample_weight: np.ndarray, rng: np.random.Generator) -> Any:
        """Find γ on a sample of rows, if wanted."""
        super().fit(X, y, sample_weight, rng)
        self._half_norms = 0.5 * row_norms(self.landmarks, squared=True)
        if self.gamma == "auto" and self.projection == "rbf":
            self.gamma = 1 / self._typical_distance(X, sample_weight, rng)
        return self

    def _typical_distance(
        self, X: Any, sample_weight: np.ndarray, rng: np.random.Generator
    ) -> float:
        if X.shape[0] > ROWS_FOR_GAMMA:
            chosen = np.sort(rng.choice(X.shape[0], ROWS_FOR_GAMMA, replace=False))
            X, sample_weight = take_rows(X, chosen), sample_weight[chosen]
        distances = self._squared_distances(X).astype(np.float64)
        weights = np.repeat(sample_weight, distances.shape[1])
        typical = weighted_median(distances.ravel(), weights)
        return typical or float(distances.mean()) or 1.0

    @property
    def n_features_out(self) -> int:
        """Number of landmarks."""
        return len(self.landmarks)

    def stored(self, X: Any, *, numbers_per_block: int = NUMBERS_PER_BLOCK) -> np.ndarray:
        """Projections, by matrix products over blocks of rows."""
        out = np.empty((X.shape[0], self.n_features_out), self.landmarks.dtype)
        size = max(256, numbers_per_block // self.n_features_out)
        for begin, end in row_blocks(X.shape[0], size):
            rows = X[begin:end]
            if self.projection == "linear":
                out[begin:end] = rows @ self.landmarks.T
            else:
                distances = self._squared_distances(rows)
                distances *= -self.landmarks.dtype.type(self.gamma)
                np.exp(distances, out=out[begin:end])
        return out

    def _squared_distances(self, X: Any) -> np.ndarray:
        distances = self._half_norms - X @ self.landmarks.T
        distances *= 2
        distances += row_norms(X, squared=True)[:, None].astype(distances.dtype, copy=False)
        return np.maximum(distances, 0, out=distances)

    def pull_back(self, X: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, Any]:
        """Weights on linear projections are weights on the input: ``Σ_l w_l (x·l) = x·Σ_l w_l l``.

        With the RBF they stay weights on landmarks.
        """
        return (coef @ self.landmarks if self.explains_input else coef), 0

    @property
    def attributes_input(self) -> bool:
        """True: Gaussians have path averages in closed form."""
        return True

    def path_weights(
        self, weights: np.ndarray, X: np.ndarray, reference: np.ndarray, workers: Workers
    ) -> np.ndarray:
        """By the landmarks for linear projections, by path averages for Gaussian ones."""
        return step_weights(self.plain()[0], weights, X, reference)

    def feature_names(self, names: np.ndarray) -> np.ndarray:
        """The input's, or the landmarks' with the RBF."""
        if self.explains_input:
            return names
        return np.array([f"landmark{i}" for i in range(self.n_features_out)], dtype=object)

    def plain(self) -> list[Step]:
        """Products with the landmarks, or Gaussians at them."""
        if self.projection == "linear":
            return [product(self.landmarks.T)]
        return [gaussian(self.landmarks, self.gamma, np.eye(len(self.landmarks)))]
