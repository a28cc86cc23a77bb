"""A fitted model as plain arrays and a few facts: what every export is made from.

Rows go through chains of steps, each a plain formula: ``input`` (the pipeline's steps before the
model), ``map`` (φ) and ``code`` (what distances are measured on). Then come gate and weights.
``numpy_predict.py`` reads this form, ``onnx.py`` turns it into tensor operations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from ..estimators.latent import LatentLocallyLinearSVC
from ..estimators.local_deep import LocalDeepSVC
from ..estimators.old_local_model import LocalModel
from ..estimators.relevance import RelevanceScaler
from ..gates.code_on import CodeOn
from ..gates.codes import LOCALITY, RIDGE
from ..gates.gate import ConstantGate, Gate
from ..maps.additive import AdditiveKernelMap
from ..maps.base import BiasOnlyMap, FeatureMap
from ..maps.landmarks import LandmarkMap
from ..maps.quadratic import QuadraticMap
from ..maps.transformer import TransformerMap
from ..model.inspection import split_pipeline
from ..neighbors.megm import MEGM


@dataclass
class Step:
    """One formula and its arrays."""

    kind: str
    parts: dict[str, np.ndarray] = field(default_factory=dict)


class NotPlain(ValueError):
    """Raised for what has no plain form."""


@dataclass
class PlainModel:
    """A model in plain form.

    Attributes
    ----------
    chains : dict of str to list of Step
        "input", "map" and "code".
    facts : dict
        Names and numbers; can be written as JSON.
    arrays : dict of str to ndarray
    classes : ndarray
    n_features_in : int
    """

    chains: dict[str, list[Step]]
    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]
    classes: np.ndarray
    n_features_in: int

    @property
    def dtype(self) -> np.dtype:
        """Of all numbers."""
        return self.arrays["weights"].dtype


def plain_model(estimator: Any, *, with_steps: bool = True) -> PlainModel:
    """The plain form of a fitted model or pipeline; ``NotPlain`` says why there is none.

    Without ``with_steps`` the steps before a pipeline's last are left out.
    """
    check_is_fitted(estimator)
    steps, model = split_pipeline(estimator)
    if not isinstance(model, LocalModel) or getattr(model, "_uses_kernel", False):
        raise NotPlain(
            f"{type(model).__name__} cannot be exported: only local linear models can, without "
            "kernels."
        )
    dtype = model._weights.dtype
    before = plain_steps(steps, dtype) if steps is not None and with_steps else []
    scaler = getattr(model, "scaler_", None)  # the one that a search chose
    if scaler is not None:
        before = [*before, *plain_steps(scaler, dtype)]
    if isinstance(model, LocalDeepSVC):
        facts, arrays = _tree(model)
    elif isinstance(model, LatentLocallyLinearSVC):
        facts, arrays = _latent(model)
    else:
        facts, arrays = _local(model)
    chains = {"input": before, "map": [], "code": []}
    if facts["kind"] == "local":
        chains["map"] = _map_steps(model._feature_map, dtype)
        chains["code"] = _code_steps(model._code_space, dtype)
    n_features = model.n_features_in_ if not with_steps else estimator.n_features_in_
    return PlainModel(chains, facts, arrays, model.classes_, n_features)


def _local(model: LocalModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    earlier = getattr(model, "_earlier", [])
    facts = {
        "kind": "local",
        "gate": _gate_facts(model._gate),
        "bias": model._bias,
        "shared_bias": model._shared_bias,
        "normalize": model._unit_rows,
        "code_on_map": _is_text(model._code_space.source, "features"),
        "stages": [
            {"gate": _gate_facts(stage.gate), "scale": float(stage.scale)} for stage in earlier
        ],
    }
    arrays = {"weights": model._weights, "anchors": model._gate.anchors}
    for number, stage in enumerate(earlier):
        arrays[f"stage.{number}.weights"] = stage.weights
        arrays[f"stage.{number}.anchors"] = stage.gate.anchors
    return facts, arrays


def _gate_facts(gate: Gate) -> dict[str, Any]:
    return {
        "coding": _coding(gate),
        "n_neighbors": int(gate.n_neighbors),
        "beta": float(gate.beta),
        "ridge": RIDGE,
        "locality": LOCALITY,
    }


def _coding(gate: Gate) -> str:
    if isinstance(gate, ConstantGate):
        return "always"
    if type(gate) is not Gate:
        raise NotPlain("clusters found by a clusterer cannot be exported; use clusters='kmeans'.")
    if gate.coding == "lcc":
        raise NotPlain("coding='lcc' is an iteration and cannot be exported; use coding='llc'.")
    return "soft" if gate.coding == "hard" else gate.coding  # one anchor: its weight is one


def _tree(model: LocalDeepSVC) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    fitted = model.tree_ if isinstance(model.tree_, list) else [model.tree_]
    names = ("routes", "gates", "weights")
    arrays = {name: np.stack([getattr(tree, name) for tree in fitted]) for name in names}
    return {"kind": "tree", "depth": int(model.depth_)}, arrays


def _latent(model: LatentLocallyLinearSVC) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    facts = {"kind": "latent", "exponent": float(model._exponent)}
    return facts, {"weights": np.ascontiguousarray(model._weights)}


# ---- chains of steps -----------------------------------------------------------------------------


def _map_steps(feature_map: FeatureMap, dtype: Any) -> list[Step]:
    if isinstance(feature_map, BiasOnlyMap):
        return [Step("nothing")]
    if isinstance(feature_map, QuadraticMap):
        axes = feature_map.axes
        upper, lower = np.triu_indices(feature_map.n_features_in if axes is None else len(axes))
        factor = np.asarray(feature_map.scale, dtype)
        quadratic = Step("quadratic", {"factor": factor, "upper": upper, "lower": lower})
        if axes is None:
            return [quadratic]
        return [_product(axes.T, -(feature_map.mean @ axes.T), dtype), quadratic]
    if isinstance(feature_map, LandmarkMap):
        landmarks = feature_map.landmarks
        if feature_map.projection == "linear":
            return [_product(landmarks.T, 0, dtype)]
        return [_gaussian(landmarks, 1 / feature_map.sigma, np.eye(len(landmarks)), dtype)]
    if isinstance(feature_map, TransformerMap):
        return plain_steps(feature_map.transformer, dtype)
    return []


def _code_steps(code_space: CodeOn, dtype: Any) -> list[Step]:
    code_on = code_space.source
    if isinstance(code_on, str):
        return []
    if isinstance(code_on, np.ndarray):
        return [Step("columns", {"columns": code_on.astype(np.int64)})]
    return plain_steps(code_on, dtype)


def plain_steps(transformer: Any, dtype: Any) -> list[Step]:
    """A fitted transformer as plain steps."""
    kind = type(transformer)
    if kind is Pipeline:
        return [step for _, part in transformer.steps for step in plain_steps(part, dtype)]
    if transformer in (None, "passthrough"):
        return []
    if kind is FunctionTransformer and transformer.func is None:
        return []
    if kind is Normalizer:
        return [Step("norm", {"order": np.array(transformer.norm)})]
    if kind is AdditiveKernelMap:
        return [_additive(transformer, dtype)]
    if kind is Nystroem and transformer.kernel == "rbf":
        gamma = transformer.gamma
        gamma = 1 / transformer.n_features_in_ if gamma is None else gamma
        return [_gaussian(transformer.components_, gamma, transformer.normalization_.T, dtype)]
    if kind is MEGM:
        components = transformer.components_
        if components.ndim == 1:
            return [_scaling(components, 0, dtype)]
        return [_product(components.T, 0, dtype)]
    if kind in _SCALERS:
        factor, shift = _SCALERS[kind](transformer)
        return [_scaling(factor, shift, dtype)]
    if kind is PCA:
        matrix = transformer.components_.T
        if transformer.whiten:
            matrix = matrix / np.sqrt(transformer.explained_variance_)
        return [_product(matrix, -(transformer.mean_ @ matrix), dtype)]
    if kind is TruncatedSVD:
        return [_product(transformer.components_.T, 0, dtype)]
    raise NotPlain(
        f"{kind.__name__} has no plain form; scalers, Normalizer, PCA, TruncatedSVD, MEGM, "
        "Nystroem (rbf) and the maps of this library have."
    )


def _standard(scaler: StandardScaler) -> tuple[Any, Any]:
    factor = 1 if scaler.scale_ is None else 1 / scaler.scale_
    return factor, (0 if not scaler.with_mean else -scaler.mean_) * factor


def _robust(scaler: RobustScaler) -> tuple[Any, Any]:
    factor = 1 / scaler.scale_ if scaler.with_scaling else 1
    return factor, (-scaler.center_ if scaler.with_centering else 0) * factor


def _min_max(scaler: MinMaxScaler) -> tuple[Any, Any]:
    if scaler.clip:
        raise NotPlain("MinMaxScaler(clip=True) has no plain form; use clip=False.")
    return scaler.scale_, scaler.min_


_SCALERS = {
    StandardScaler: _standard,
    RobustScaler: _robust,
    MinMaxScaler: _min_max,
    MaxAbsScaler: lambda scaler: (1 / scaler.scale_, 0),
    RelevanceScaler: lambda scaler: (scaler.scale_, 0),
}


def _scaling(factor: Any, shift: Any, dtype: Any) -> Step:
    factor, shift = np.broadcast_arrays(np.atleast_1d(factor), np.atleast_1d(shift))
    return Step("scale", {"factor": factor.astype(dtype), "shift": shift.astype(dtype)})


def _product(matrix: Any, shift: Any, dtype: Any) -> Step:
    shift = np.broadcast_to(shift, matrix.shape[1])
    parts = {"matrix": np.ascontiguousarray(matrix, dtype), "shift": shift.astype(dtype)}
    return Step("matrix", parts)


def _gaussian(centres: Any, gamma: float, matrix: Any, dtype: Any) -> Step:
    parts = {"centres": centres, "gamma": gamma, "matrix": matrix}
    return Step("gaussian", {name: np.asarray(part, dtype) for name, part in parts.items()})


def _additive(transformer: AdditiveKernelMap, dtype: Any) -> Step:
    period = transformer._PERIODS[transformer.kernel]
    frequencies = period * np.arange(transformer.n_steps)
    sizes = [transformer._spectrum(frequency) for frequency in frequencies]
    amplitudes = np.sqrt(period * np.array(sizes) * np.where(frequencies > 0, 2, 1))
    parts = {"amplitudes": amplitudes.astype(dtype), "frequencies": frequencies.astype(dtype)}
    return Step("additive", parts)


def _is_text(value: Any, text: str) -> bool:
    return isinstance(value, str) and value == text
