"""Models as ONNX graphs of plain tensor operations: steps, gate, map, local scores.

Every local model is scored by one matrix product, and the gate, zero but for the nearest few, mixes
the scores. Whatever runs ONNX can run that; no operator is our own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..maps.plain import Step
from ..model.through import fitted_parts
from .graph import OPSET, Graph, Value, import_onnx
from .onnx_paths import explained
from .paths import plain_paths
from .plain import PlainModel, n_foreign_steps, plain_model

# Stands for rows of no features: not every runtime takes tensors without columns.
NOTHING = "nothing"


def to_onnx(
    estimator: Any,
    *,
    dtype: Any = None,
    input_name: str = "X",
    target_opset: int = OPSET,
    contributions: bool = False,
) -> Any:
    """A fitted model as an ONNX graph.

    Parameters
    ----------
    estimator : estimator of this library with local models, or Pipeline that ends in one
        Fitted to dense rows; also ``LocalCoder`` and the other transformers. Where a step has no
        plain form (imputers, encoders, …), it and the steps before it are converted by skl2onnx, in
        single precision.
    dtype : float32, float64 or None, default=None
        Of the input and of all numbers; None is the model's own. A graph in float32 is smaller and
        faster, and less exact.
    input_name : str, default="X"
        Name of the graph's input.
    target_opset : int, default=18
        Version of the operators, 13 or more: older runtimes need an older one.
    contributions : bool, default=False
        Whether the graph explains rows too. For local models of linear, quadratic or piecewise maps
        and soft or hard gates, with linear steps before; an error says what is not.

    Returns
    -------
    onnx.ModelProto
        One input, rows of shape ``(n, n_features)``. A classifier has the outputs "label", shape
        ``(n,)``, "scores", the decision function, and with ``loss="log"`` "probabilities"; a
        regressor has "values", a transformer "features". A graph cannot refuse rows: those with NaN
        or infinity have scores of NaN, and their labels mean nothing. With contributions also
        "contributions", what each feature adds to each score, of shape
        ``(n, n_columns, n_features)``, and "reference", the mean scores of the references that the
        contributions are relative to, ``(n_columns,)``. Write it by ``onnx.save``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.export import to_onnx
    >>> model = LocallyLinearSVC(random_state=0).fit(*load_iris(return_X_y=True))
    >>> graph = to_onnx(model).graph
    >>> [output.name for output in graph.output]
    ['label', 'scores']
    """
    import_onnx()
    steps = fitted_parts(estimator)[0]
    n_foreign = n_foreign_steps(steps)
    plain = plain_model(estimator, skip=n_foreign, transformers=True)
    kind = np.dtype(plain.dtype if dtype is None else dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32, float64 or None, not {dtype!r}.")
    if not (isinstance(input_name, str) and input_name):
        raise ValueError(f"input_name must be a name, not {input_name!r}.")
    graph = Graph(kind, target_opset)
    given = rows = Value(graph, input_name)
    if n_foreign:
        rows = graph.sklearn(steps[:n_foreign], plain.n_features_in, rows)
    result = _apply(rows, plain.steps)
    if len(plain.classes):
        outputs = _classes(_spoiled(result, rows), plain)
    elif hasattr(estimator, "predict"):
        width = _width(estimator)
        _named("values", _spoiled(result, rows), width)
        outputs = {"values": (kind, () if width == 1 else (width,))}
    else:
        graph.op("Identity", result, name="features")
        outputs = {"features": (kind, (None,))}
    if contributions:
        outputs |= explained(given, plain_paths(estimator))
    return graph.model(input_name, plain.n_features_in, outputs)


def _width(estimator: Any) -> int:
    return int(fitted_parts(estimator)[1].model_.n_columns)


def _spoiled(values: Value, rows: Value) -> Value:
    """The values, but NaN for rows that are not finite: not every operation passes NaN on."""
    return values + (rows * 0).sum(1)


def _named(name: str, values: Value, width: int) -> Value:
    if width > 1:
        return values.graph.op("Identity", values, name=name)
    return values.without_axis(1, name)


def _classes(result: Value, plain: PlainModel) -> dict[str, Any]:
    """Scores, labels and probabilities; returns their types and shapes."""
    labels, dtype = plain.labels, result.graph.dtype
    n_classes = len(labels)
    scores = _named("scores", result, 1 if n_classes == 2 else n_classes)
    _labels(scores, labels)
    outputs = {
        "label": (labels.dtype, ()),
        "scores": (dtype, () if n_classes == 2 else (n_classes,)),
    }
    if plain.link is not None:
        _probabilities(result, n_classes, plain.link)
        outputs["probabilities"] = (dtype, (n_classes,))
    return outputs


def _probabilities(scores: Value, n_classes: int, link: str) -> None:
    graph = scores.graph
    if n_classes == 2:
        scores = graph.op("Concat", scores * 0, scores, axis=1)
    elif link == "ovr":  # log σ(s), scaled to one by the softmax
        scores = -graph.op("Softplus", -scores)
    graph.op("Softmax", scores, axis=1, name="probabilities")


def _labels(scores: Value, labels: np.ndarray) -> None:
    graph = scores.graph
    if len(labels) == 2:
        chosen = graph.op("Cast", scores > 0, to=import_onnx().TensorProto.INT64)
    else:
        chosen = graph.op("ArgMax", scores, axis=1, keepdims=0)
    graph.op("Gather", graph.constant(labels), chosen, name="label")


def _apply(rows: Value, steps: list[Step]) -> Value:
    for step in steps:
        rows = _STEPS[step.kind](rows, **step.parts)
    return rows


# ---- models: scores, (n, n_columns) --------------------------------------------------------------


def _local(
    rows: Value,
    map_steps: list[Step],
    code_steps: list[Step] | None,
    gate: Step,
    coef: np.ndarray,
    intercept: np.ndarray,
    global_intercept: np.ndarray,
    bias: float,
    normalize: bool,
) -> Value:
    """``Σ_j γ_j (w_jc · φ + b_jc) + b_c``."""
    phi = _apply(rows, map_steps)
    coded = phi if code_steps is None else _apply(rows, code_steps)
    gamma = _apply(coded, [gate])
    if normalize:
        gamma = _unit_gate(gamma, phi, bias)
    is_empty = phi.name == NOTHING
    mixed = gamma @ intercept if is_empty else _mixed(phi, gamma, coef, intercept)
    return mixed + global_intercept if global_intercept.any() else mixed


def _mixed(rows: Value, gamma: Value, coef: np.ndarray, intercept: np.ndarray) -> Value:
    """Scores of all local models, mixed by their weights."""
    n_models, n_columns, width = coef.shape
    scores = rows @ coef.reshape(n_models * n_columns, width).T + intercept.ravel()
    scores = scores.reshaped(-1, n_models, n_columns)
    return (scores * gamma.with_axis(2)).sum(1, keepdims=0)


def _unit_gate(gamma: Value, phi: Value, bias: float) -> Value:
    graph = gamma.graph
    squares = graph.number(bias**2)
    if phi.name != NOTHING:
        squares = (phi * phi).sum(1) + squares
    lengths = graph.op("Sqrt", (gamma * gamma).sum(1) * squares)
    return gamma / graph.op("Max", lengths, graph.tiny())


def _tree(
    rows: Value, routes: np.ndarray, gates: np.ndarray, weights: np.ndarray, depth: int
) -> Value:
    """All nodes are scored; the weights of those off the row's path are zero."""
    graph, columns = rows.graph, []
    for route, gate, models in zip(routes, gates, weights, strict=True):
        gamma = graph.op("Tanh", rows @ gate[:, :-1].T + gate[:, -1])
        gamma = gamma * _reached(rows, route, depth)
        columns.append(_mixed(rows, gamma, models[..., :-1], models[..., -1]))
    return columns[0] if len(columns) == 1 else graph.op("Concat", *columns, axis=1)


def _reached(rows: Value, routes: np.ndarray, depth: int) -> Value:
    """One for the nodes of a row's path, zero for the others, ``(n, n_nodes)``, root first."""
    graph = rows.graph
    if depth == 0:
        return graph.number(np.ones((1, 1))) + 0
    left = graph.cast(rows @ routes[:, :-1].T + routes[:, -1] > 0)
    level = (left * 0).take([0]) + 1
    levels = [level]
    for number in range(depth):
        nodes = np.arange(2**number - 1, 2 ** (number + 1) - 1)
        to_left = level * left.take(nodes)
        pairs = [side.with_axis(2) for side in (to_left, level - to_left)]
        level = graph.op("Concat", *pairs, axis=2).reshaped(-1, 2 * len(nodes))
        levels.append(level)
    return graph.op("Concat", *levels, axis=1)


def _latent(rows: Value, weights: np.ndarray, exponent: float) -> Value:
    """``‖[W_c x]_+‖_q`` of each class; two classes: the difference."""
    graph, by_class = rows.graph, weights.transpose(1, 0, 2)
    n_classes, n_models, width = by_class.shape
    flat = by_class.reshape(n_classes * n_models, width)
    products = (rows @ flat[:, :-1].T + flat[:, -1]).reshaped(-1, n_classes, n_models)
    positive = graph.op("Relu", products)
    largest = graph.op("Max", graph.reduce("ReduceMax", positive, 2), graph.tiny())
    norms = largest * ((positive / largest) ** exponent).sum(2) ** (1 / exponent)
    scores = norms.without_axis(2)
    return scores if n_classes > 2 else scores.take([1]) - scores.take([0])


# ---- gates: weights of all anchors, (n, n_anchors) -----------------------------------------------


def _always(rows: Value) -> Value:
    return rows.graph.number(np.ones((1, 1)))


def _gate(
    rows: Value,
    anchors: np.ndarray,
    n_neighbors: int,
    coding: str,
    beta: float,
    ridge: float,
    locality: float,
) -> Value:
    """Zero but for the nearest anchors."""
    # Without ‖x‖², anchors are ranked as by distances, and a softmax has the same weights.
    graph = rows.graph
    ranks, squares = graph.ranks(rows, anchors)
    nearest, chosen = graph.top(ranks, n_neighbors, 1, largest=False)
    if coding == "soft":
        weights = graph.op("Softmax", nearest * -beta, axis=1)
    else:
        squared = graph.op("Max", nearest + squares, graph.tiny())
        if coding == "inverse_distance":
            weights = graph.op("Sqrt", squared.take([0]) / squared)
        else:
            penalty = squared * 0 + ridge
            if coding == "llc":
                beyond = squared - squared.take([n_neighbors - 1])
                penalty = graph.op("Exp", beyond * (2 * beta)) * locality + penalty
            away = graph.op("Gather", anchors, chosen, axis=0) - rows.with_axis(1)
            weights = _reconstruction(away, penalty, n_neighbors)
        weights = weights / weights.sum(1)
    return graph.op("ScatterElements", ranks * 0, chosen, weights, axis=1)


def _levels(rows: Value, gates: list[Step]) -> Value:
    """Each level's weights have unit length."""
    graph, parts = rows.graph, [_apply(rows, [gate]) for gate in gates]
    units = [part / graph.op("Sqrt", (part * part).sum(1)) for part in parts]
    return graph.op("Concat", *units, axis=1)


def _reconstruction(away: Value, penalty: Value, k: int) -> Value:
    """Solve ``(G + penalties) z = 1`` for each row, G the products of ``away``."""
    # Not a product with the transpose: onnxruntime before 1.25 or so fuses the two into an operator
    # that it lacks in double precision.
    graph, eye = away.graph, np.eye(k)
    gram = (away.with_axis(2) * away.with_axis(1)).sum(3, keepdims=0)
    mean = graph.reduce("ReduceMean", (gram * eye).sum(2, keepdims=0), 1)
    mean = graph.op("Where", mean > graph.tiny(), mean, 1)
    ridge = (penalty * mean).with_axis(2) * eye
    right = (penalty * 0 + 1).with_axis(2)
    system = graph.op("Concat", gram + ridge, right, axis=2)
    for i in range(k):  # Gauss and Jordan; positive definite, so no pivots
        row = system.take([i])
        row = row / row.take([i], axis=2)
        system = system - (system.take([i], axis=2) - eye[:, i : i + 1]) * row
        # Row i became row − (pivot − 1)·row/pivot = row/pivot; all others lost column i.
    return system.take([k], axis=2).without_axis(2)


# ---- steps before a model, and its maps ----------------------------------------------------------


def _scale(rows: Value, factor: np.ndarray, shift: np.ndarray) -> Value:
    return rows * factor + shift


def _clip(rows: Value) -> Value:
    return rows.clipped()


def _matrix(rows: Value, matrix: np.ndarray, shift: np.ndarray) -> Value:
    return rows @ matrix + shift


def _norm(rows: Value, order: str) -> Value:
    graph = rows.graph
    sizes = graph.op("Abs", rows)
    if order == "l1":  # some runtimes have ReduceL1 for single precision alone
        length = sizes.sum(1)
    else:
        length = graph.reduce({"l2": "ReduceL2", "max": "ReduceMax"}[order], sizes, 1)
    return rows / graph.op("Where", length > 0, length, 1)


def _columns(rows: Value, columns: np.ndarray) -> Value:
    return rows.take(columns)


def _nothing(rows: Value) -> Value:
    return Value(rows.graph, NOTHING)


def _beside(rows: Value, branches: list[list[Step]]) -> Value:
    return rows.graph.op("Concat", *(_apply(rows, steps) for steps in branches), axis=1)


def _quadratic(rows: Value, factor: float, upper: np.ndarray, lower: np.ndarray) -> Value:
    z = rows * factor
    products = z.take(upper) * z.take(lower) * np.where(upper == lower, 1, np.sqrt(2))
    return rows.graph.op("Concat", z * np.sqrt(2), products, axis=1)


def _additive(rows: Value, amplitudes: np.ndarray, frequencies: np.ndarray) -> Value:
    graph = rows.graph
    sizes = graph.op("Abs", rows)
    root = graph.op("Sign", rows) * graph.op("Sqrt", sizes)
    phase = graph.op("Log", graph.op("Where", sizes > 0, sizes, 1))
    parts = [root * amplitudes[0]]
    for amplitude, frequency in zip(amplitudes[1:], frequencies[1:], strict=True):
        angle = phase * frequency
        # A cosine as a sine: onnxruntime before 1.25 or so has no cosine in double precision.
        waves = (graph.op("Sin", one) for one in (angle + np.pi / 2, angle))
        parts += [root * amplitude * wave for wave in waves]
    return graph.op("Concat", *parts, axis=1)


def _gaussian(rows: Value, centers: np.ndarray, gamma: float, matrix: np.ndarray) -> Value:
    graph = rows.graph
    ranks, squares = graph.ranks(rows, centers)
    squared = graph.op("Max", ranks + squares, 0)
    return graph.op("Exp", squared * -gamma) @ matrix


def _sorted(rows: Value, n_columns: int) -> Value:
    """Each group of so many columns in ascending order."""
    graph = rows.graph
    ascending, _ = graph.top(rows.reshaped(0, -1, n_columns), n_columns, 2, largest=False)
    return graph.op("Reshape", ascending, graph.op("Shape", rows))


_STEPS: dict[str, Callable[..., Value]] = {
    "scale": _scale, "matrix": _matrix, "norm": _norm, "columns": _columns,
    "nothing": _nothing, "beside": _beside, "quadratic": _quadratic, "additive": _additive,
    "gaussian": _gaussian, "always": _always, "gate": _gate, "levels": _levels,
    "local": _local, "tree": _tree, "latent": _latent, "sorted": _sorted, "clip": _clip,
}  # fmt: skip
