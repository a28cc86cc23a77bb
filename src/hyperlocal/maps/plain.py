"""The plain form of what is fitted: chains of formulas and their arrays, for export.

A map, a gate, a model or a transformer that can be exported has a method ``plain()``, which states
it as steps. A step turns rows into rows by a formula that ``export/numpy_predict.py`` and
``export/onnx.py`` know by its name; what the formula needs are its parts. scikit-learn's
transformers have no such method: their steps are listed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)


@dataclass(frozen=True)
class Step:
    """One formula and what it needs.

    Attributes
    ----------
    kind : str
        Name of the formula.
    parts : dict
        Arrays, numbers, texts, steps and lists of steps, by name.
    """

    kind: str
    parts: dict[str, Any] = field(default_factory=dict)


class NotPlain(ValueError):
    """Raised for what has no plain form."""


def scaling(factor: Any, shift: Any = 0.0) -> Step:
    """``x * factor + shift``, one of each per feature, or one for all."""
    factor, shift = np.broadcast_arrays(np.atleast_1d(factor), np.atleast_1d(shift))
    return Step("scale", {"factor": factor.astype(np.float64), "shift": shift.astype(np.float64)})


def product(matrix: np.ndarray, shift: Any = 0.0) -> Step:
    """``x @ matrix + shift``."""
    return Step("matrix", {"matrix": matrix, "shift": np.zeros(matrix.shape[1]) + shift})


def gaussian(centers: np.ndarray, gamma: float, matrix: np.ndarray) -> Step:
    """``k @ matrix`` with ``k_j = exp(−γ‖x − c_j‖²)``."""
    return Step("gaussian", {"centers": centers, "gamma": float(gamma), "matrix": matrix})


def plain_steps(transformer: Any) -> list[Step]:
    """A fitted transformer as steps; ``NotPlain`` gives the reason where it has none.

    Parameters
    ----------
    transformer : fitted transformer, "passthrough" or None
        With a method ``plain()`` of its own, or one of scikit-learn's that are listed here.

    Returns
    -------
    list of Step

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from hyperlocal.maps.plain import plain_steps
    >>> [step] = plain_steps(MaxAbsScaler().fit(np.array([[2.0], [-4.0]])))
    >>> step.kind, step.parts["factor"].tolist()
    ('scale', [0.25])
    """
    if transformer is None or isinstance(transformer, str):
        return []
    if hasattr(transformer, "plain"):
        return transformer.plain()
    if type(transformer) not in _FORMS:
        raise NotPlain(
            f"{type(transformer).__name__} has no plain form; scalers, Normalizer, PCA, "
            "TruncatedSVD, Nystroem (rbf), the transformers of this library and those with a "
            "method plain() have one."
        )
    return _FORMS[type(transformer)](transformer)


def _pipeline(pipeline: Pipeline) -> list[Step]:
    return [step for _, part in pipeline.steps for step in plain_steps(part)]


def _function(transformer: FunctionTransformer) -> list[Step]:
    if transformer.func is not None:
        raise NotPlain("FunctionTransformer has no plain form; func=None has one.")
    return []


def _normalizer(normalizer: Normalizer) -> list[Step]:
    return [Step("norm", {"order": normalizer.norm})]


def _nystroem(nystroem: Nystroem) -> list[Step]:
    if nystroem.kernel != "rbf":
        raise NotPlain("Nystroem has no plain form with this kernel; kernel='rbf' has one.")
    gamma = 1 / nystroem.n_features_in_ if nystroem.gamma is None else nystroem.gamma
    centers = nystroem.components_  # rows as they were given
    centers = centers.toarray() if sp.issparse(centers) else centers
    return [gaussian(centers, gamma, nystroem.normalization_.T)]


def _standard(scaler: StandardScaler) -> list[Step]:
    factor = 1 if scaler.scale_ is None else 1 / scaler.scale_
    return [scaling(factor, (-scaler.mean_ if scaler.with_mean else 0) * factor)]


def _robust(scaler: RobustScaler) -> list[Step]:
    factor = 1 / scaler.scale_ if scaler.with_scaling else 1
    return [scaling(factor, (-scaler.center_ if scaler.with_centering else 0) * factor)]


def _min_max(scaler: MinMaxScaler) -> list[Step]:
    if scaler.clip:
        raise NotPlain("MinMaxScaler(clip=True) has no plain form; use clip=False.")
    return [scaling(scaler.scale_, scaler.min_)]


def _max_abs(scaler: MaxAbsScaler) -> list[Step]:
    return [scaling(1 / scaler.scale_)]


def _pca(pca: PCA) -> list[Step]:
    matrix = pca.components_.T
    if pca.whiten:
        matrix = matrix / np.sqrt(pca.explained_variance_)
    return [product(matrix, -(pca.mean_ @ matrix))]


def _nca(nca: NeighborhoodComponentsAnalysis) -> list[Step]:
    return [product(nca.components_.T)]


def _svd(svd: TruncatedSVD) -> list[Step]:
    return [product(svd.components_.T)]


_FORMS: dict[type, Callable[[Any], list[Step]]] = {
    FunctionTransformer: _function,
    MaxAbsScaler: _max_abs,
    MinMaxScaler: _min_max,
    NeighborhoodComponentsAnalysis: _nca,
    Normalizer: _normalizer,
    Nystroem: _nystroem,
    PCA: _pca,
    Pipeline: _pipeline,
    RobustScaler: _robust,
    StandardScaler: _standard,
    TruncatedSVD: _svd,
}
