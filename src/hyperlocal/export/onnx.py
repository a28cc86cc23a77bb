"""Models as ONNX graphs of plain tensor operations: steps, gate, map, local scores.

Every local model is scored by one matrix product, and the gate, zero but for the nearest few, mixes
the scores. Whatever runs ONNX can run that; no operator is our own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..maps.plain import Step
from .graph import OPSET, Graph, import_onnx
from .onnx_paths import explained
from .paths import plain_paths
from .plain import PlainModel, fitted_parts, n_foreign_steps, plain_model

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
        Whether the graph explains rows too. For local models of linear or quadratic maps and soft
        or hard gates, with linear steps before; an error says what is not.

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
    graph = Graph(kind, target_opset)
    rows = input_name
    if n_foreign:
        rows = graph.sklearn(steps[:n_foreign], plain.n_features_in, rows)
    result = _apply(graph, rows, plain.steps)
    if len(plain.classes):
        outputs = _classes(graph, _spoiled(graph, result, rows), plain)
    elif hasattr(estimator, "predict"):
        width = _width(estimator)
        _named(graph, "values", _spoiled(graph, result, rows), width)
        outputs = {"values": (kind, () if width == 1 else (width,))}
    else:
        graph.op("Identity", result, name="features")
        outputs = {"features": (kind, (None,))}
    if contributions:
        outputs |= explained(graph, input_name, plain_paths(estimator))
    return graph.model(input_name, plain.n_features_in, outputs)


def _width(estimator: Any) -> int:
    return int(fitted_parts(estimator)[1].model_.n_columns)


def _spoiled(graph: Graph, values: str, rows: str) -> str:
    """The values, but NaN for rows that are not finite: not every operation passes NaN on."""
    return graph.op("Add", values, graph.sum(graph.op("Mul", rows, graph.number(0)), 1))


def _named(graph: Graph, name: str, values: str, width: int) -> str:
    if width > 1:
        return graph.op("Identity", values, name=name)
    return graph.op("Squeeze", values, graph.integers(1), name=name)


def _classes(graph: Graph, result: str, plain: PlainModel) -> dict[str, Any]:
    """Scores, labels and probabilities; returns their types and shapes."""
    labels = plain.labels
    n_classes = len(labels)
    scores = _named(graph, "scores", result, 1 if n_classes == 2 else n_classes)
    _labels(graph, scores, labels)
    outputs = {
        "label": (labels.dtype, ()),
        "scores": (graph.dtype, () if n_classes == 2 else (n_classes,)),
    }
    if plain.link is not None:
        _probabilities(graph, result, n_classes, plain.link)
        outputs["probabilities"] = (graph.dtype, (n_classes,))
    return outputs


def _probabilities(graph: Graph, scores: str, n_classes: int, link: str) -> None:
    if n_classes == 2:
        scores = graph.op("Concat", graph.op("Mul", scores, graph.number(0)), scores, axis=1)
    elif link == "ovr":  # log σ(s), scaled to one by the softmax
        scores = graph.op("Neg", graph.op("Softplus", graph.op("Neg", scores)))
    graph.op("Softmax", scores, axis=1, name="probabilities")


def _labels(graph: Graph, scores: str, labels: np.ndarray) -> None:
    if len(labels) == 2:
        is_second = graph.op("Greater", scores, graph.number(0))
        chosen = graph.op("Cast", is_second, to=import_onnx().TensorProto.INT64)
    else:
        chosen = graph.op("ArgMax", scores, axis=1, keepdims=0)
    graph.op("Gather", graph.constant(labels), chosen, name="label")


def _apply(graph: Graph, rows: str, steps: list[Step]) -> str:
    for step in steps:
        rows = _STEPS[step.kind](graph, rows, **step.parts)
    return rows


# ---- models: scores, (n, n_columns) --------------------------------------------------------------


def _local(
    graph: Graph,
    rows: str,
    map_steps: list[Step],
    code_steps: list[Step] | None,
    gate: Step,
    coef: np.ndarray,
    intercept: np.ndarray,
    global_intercept: np.ndarray,
    bias: float,
    normalize: bool,
) -> str:
    """``Σ_j γ_j (w_jc · φ + b_jc) + b_c``."""
    phi = _apply(graph, rows, map_steps)
    coded = phi if code_steps is None else _apply(graph, rows, code_steps)
    gamma = _apply(graph, coded, [gate])
    if normalize:
        gamma = _unit_gate(graph, gamma, phi, bias)
    if phi == NOTHING:
        mixed = graph.op("MatMul", gamma, graph.number(intercept))
    else:
        mixed = _mixed(graph, phi, gamma, coef, intercept)
    if not global_intercept.any():
        return mixed
    return graph.op("Add", mixed, graph.number(global_intercept))


def _mixed(graph: Graph, rows: str, gamma: str, coef: np.ndarray, intercept: np.ndarray) -> str:
    """Scores of all local models, mixed by their weights."""
    n_models, n_columns, width = coef.shape
    scores = graph.affine(rows, coef.reshape(n_models * n_columns, width).T, intercept.ravel())
    scores = graph.op("Reshape", scores, graph.integers(-1, n_models, n_columns))
    mixed = graph.op("Mul", scores, graph.op("Unsqueeze", gamma, graph.integers(2)))
    return graph.sum(mixed, 1, keepdims=0)


def _unit_gate(graph: Graph, gamma: str, phi: str, bias: float) -> str:
    squares = graph.number(bias**2)
    if phi != NOTHING:
        squares = graph.op("Add", graph.squares(phi), squares)
    lengths = graph.op("Sqrt", graph.op("Mul", graph.squares(gamma), squares))
    tiny = graph.number(np.finfo(graph.dtype).tiny)
    return graph.op("Div", gamma, graph.op("Max", lengths, tiny))


def _tree(
    graph: Graph, rows: str, routes: np.ndarray, gates: np.ndarray, weights: np.ndarray, depth: int
) -> str:
    """All nodes are scored; the weights of those off the row's path are zero."""
    columns = []
    for route, gate, models in zip(routes, gates, weights, strict=True):
        gamma = graph.op("Tanh", graph.affine(rows, gate[:, :-1].T, gate[:, -1]))
        gamma = graph.op("Mul", gamma, _reached(graph, rows, route, depth))
        columns.append(_mixed(graph, rows, gamma, models[..., :-1], models[..., -1]))
    return columns[0] if len(columns) == 1 else graph.op("Concat", *columns, axis=1)


def _reached(graph: Graph, rows: str, routes: np.ndarray, depth: int) -> str:
    """One for the nodes of a row's path, zero for the others, ``(n, n_nodes)``, root first."""
    if depth == 0:
        ones = graph.number(np.ones((1, 1)))
        return graph.op("Add", ones, graph.number(0))
    turns = graph.affine(rows, routes[:, :-1].T, routes[:, -1])
    left = graph.cast(graph.op("Greater", turns, graph.number(0)))
    zero = graph.op("Mul", left, graph.number(0))
    level = graph.op("Add", graph.columns(zero, [0]), graph.number(1))
    levels = [level]
    for number in range(depth):
        nodes = np.arange(2**number - 1, 2 ** (number + 1) - 1)
        to_left = graph.op("Mul", level, graph.columns(left, nodes))
        to_right = graph.op("Sub", level, to_left)
        pairs = [graph.op("Unsqueeze", side, graph.integers(2)) for side in (to_left, to_right)]
        both = graph.op("Concat", *pairs, axis=2)
        level = graph.op("Reshape", both, graph.integers(-1, 2 * len(nodes)))
        levels.append(level)
    return graph.op("Concat", *levels, axis=1)


def _latent(graph: Graph, rows: str, weights: np.ndarray, exponent: float) -> str:
    """``‖[W_c x]_+‖_q`` of each class; two classes: the difference."""
    by_class = weights.transpose(1, 0, 2)
    n_classes, n_models, width = by_class.shape
    flat = by_class.reshape(n_classes * n_models, width)
    products = graph.affine(rows, flat[:, :-1].T, flat[:, -1])
    products = graph.op("Reshape", products, graph.integers(-1, n_classes, n_models))
    positive = graph.op("Relu", products)
    largest = graph.reduce("ReduceMax", positive, 2)
    largest = graph.op("Max", largest, graph.number(np.finfo(graph.dtype).tiny))
    share = graph.op("Div", positive, largest)
    powers = graph.sum(graph.op("Pow", share, graph.number(exponent)), 2)
    norms = graph.op("Mul", largest, graph.op("Pow", powers, graph.number(1 / exponent)))
    scores = graph.op("Squeeze", norms, graph.integers(2))
    if n_classes > 2:
        return scores
    return graph.op("Sub", graph.columns(scores, [1]), graph.columns(scores, [0]))


# ---- gates: weights of all anchors, (n, n_anchors) -----------------------------------------------


def _always(graph: Graph, rows: str) -> str:
    return graph.number(np.ones((1, 1)))


def _gate(
    graph: Graph,
    rows: str,
    anchors: np.ndarray,
    n_neighbors: int,
    coding: str,
    beta: float,
    ridge: float,
    locality: float,
) -> str:
    """Zero but for the nearest anchors."""
    # Without ‖x‖², anchors are ranked as by distances, and a softmax has the same weights.
    ranks, squares = graph.ranks(rows, anchors)
    nearest, chosen = graph.op(
        "TopK", ranks, graph.integers(n_neighbors), outputs=2, axis=1, largest=0, sorted=1
    )
    if coding == "soft":
        weights = graph.op("Softmax", graph.op("Mul", nearest, graph.number(-beta)), axis=1)
    else:
        squared = graph.op("Add", nearest, squares)
        squared = graph.op("Max", squared, graph.number(np.finfo(graph.dtype).tiny))
        if coding == "inverse_distance":
            weights = graph.op("Sqrt", graph.op("Div", graph.columns(squared, [0]), squared))
        else:
            penalty = graph.op("Mul", squared, graph.number(0))
            penalty = graph.op("Add", penalty, graph.number(ridge))
            if coding == "llc":
                beyond = graph.op("Sub", squared, graph.columns(squared, [n_neighbors - 1]))
                growth = graph.op("Exp", graph.op("Mul", beyond, graph.number(2 * beta)))
                penalty = graph.op("Add", graph.op("Mul", growth, graph.number(locality)), penalty)
            near = graph.op("Gather", graph.number(anchors), chosen, axis=0)
            away = graph.op("Sub", near, graph.op("Unsqueeze", rows, graph.integers(1)))
            weights = _reconstruction(graph, away, penalty, n_neighbors)
        weights = graph.op("Div", weights, graph.sum(weights, 1))
    zeros = graph.op("Mul", ranks, graph.number(0))
    return graph.op("ScatterElements", zeros, chosen, weights, axis=1)


def _levels(graph: Graph, rows: str, gates: list[Step]) -> str:
    """Each level's weights have unit length."""
    parts = [_apply(graph, rows, [gate]) for gate in gates]
    units = [graph.op("Div", part, graph.op("Sqrt", graph.squares(part))) for part in parts]
    return graph.op("Concat", *units, axis=1)


def _reconstruction(graph: Graph, away: str, penalty: str, k: int) -> str:
    """Solve ``(G + penalties) z = 1`` for each row, G the products of ``away``."""
    # Not a product with the transpose: onnxruntime before 1.25 or so fuses the two into an operator
    # that it lacks in double precision.
    down, across = (graph.op("Unsqueeze", away, graph.integers(axis)) for axis in (2, 1))
    gram = graph.sum(graph.op("Mul", down, across), 3, keepdims=0)
    eye = np.eye(k)
    diagonal = graph.sum(graph.op("Mul", gram, graph.number(eye)), 2, keepdims=0)
    mean = graph.reduce("ReduceMean", diagonal, 1)
    tiny = graph.number(np.finfo(graph.dtype).tiny)
    mean = graph.op("Where", graph.op("Greater", mean, tiny), mean, graph.number(1))
    ridge = graph.op("Unsqueeze", graph.op("Mul", penalty, mean), graph.integers(2))
    ridge = graph.op("Mul", ridge, graph.number(eye))
    ones = graph.op("Add", graph.op("Mul", penalty, graph.number(0)), graph.number(1))
    right = graph.op("Unsqueeze", ones, graph.integers(2))
    system = graph.op("Concat", graph.op("Add", gram, ridge), right, axis=2)
    for i in range(k):  # Gauss and Jordan; positive definite, so no pivots
        row = graph.op("Gather", system, graph.integers(i), axis=1)
        row = graph.op("Div", row, graph.op("Gather", row, graph.integers(i), axis=2))
        column = graph.op("Gather", system, graph.integers(i), axis=2)
        change = graph.op("Mul", graph.op("Sub", column, graph.number(eye[:, i : i + 1])), row)
        system = graph.op("Sub", system, change)
        # Row i became row − (pivot − 1)·row/pivot = row/pivot; all others lost column i.
    solution = graph.op("Gather", system, graph.integers(k), axis=2)
    return graph.op("Squeeze", solution, graph.integers(2))


# ---- steps before a model, and its maps ----------------------------------------------------------


def _scale(graph: Graph, rows: str, factor: np.ndarray, shift: np.ndarray) -> str:
    return graph.op("Add", graph.op("Mul", rows, graph.number(factor)), graph.number(shift))


def _norm(graph: Graph, rows: str, order: str) -> str:
    kind = {"l1": "ReduceL1", "l2": "ReduceL2", "max": "ReduceMax"}[order]
    sizes = graph.op("Abs", rows)
    length = graph.reduce(kind, sizes, 1)
    positive = graph.op("Greater", length, graph.number(0))
    return graph.op("Div", rows, graph.op("Where", positive, length, graph.number(1)))


def _nothing(graph: Graph, rows: str) -> str:
    return NOTHING


def _beside(graph: Graph, rows: str, branches: list[list[Step]]) -> str:
    return graph.op("Concat", *(_apply(graph, rows, steps) for steps in branches), axis=1)


def _quadratic(graph: Graph, rows: str, factor: float, upper: np.ndarray, lower: np.ndarray) -> str:
    z = graph.op("Mul", rows, graph.number(factor))
    products = graph.op("Mul", graph.columns(z, upper), graph.columns(z, lower))
    sizes = np.where(upper == lower, 1, np.sqrt(2))
    linear = graph.op("Mul", z, graph.number(np.sqrt(2)))
    return graph.op("Concat", linear, graph.op("Mul", products, graph.number(sizes)), axis=1)


def _additive(graph: Graph, rows: str, amplitudes: np.ndarray, frequencies: np.ndarray) -> str:
    sizes = graph.op("Abs", rows)
    root = graph.op("Mul", graph.op("Sign", rows), graph.op("Sqrt", sizes))
    positive = graph.op("Greater", sizes, graph.number(0))
    phase = graph.op("Log", graph.op("Where", positive, sizes, graph.number(1)))
    parts = [graph.op("Mul", root, graph.number(amplitudes[0]))]
    for amplitude, frequency in zip(amplitudes[1:], frequencies[1:], strict=True):
        angle = graph.op("Mul", phase, graph.number(frequency))
        size = graph.op("Mul", root, graph.number(amplitude))
        # A cosine as a sine: onnxruntime before 1.25 or so has no cosine in double precision.
        later = graph.op("Add", angle, graph.number(np.pi / 2))
        parts += [graph.op("Mul", size, graph.op("Sin", one)) for one in (later, angle)]
    return graph.op("Concat", *parts, axis=1)


def _gaussian(
    graph: Graph, rows: str, centers: np.ndarray, gamma: float, matrix: np.ndarray
) -> str:
    squared = graph.op("Max", graph.op("Add", *graph.ranks(rows, centers)), graph.number(0))
    values = graph.op("Exp", graph.op("Mul", squared, graph.number(-gamma)))
    return graph.op("MatMul", values, graph.number(matrix))


def _sorted(graph: Graph, rows: str, n_columns: int) -> str:
    """Each group of so many columns in ascending order."""
    groups = graph.op("Reshape", rows, graph.integers(0, -1, n_columns))
    ascending, _ = graph.op(
        "TopK", groups, graph.integers(n_columns), outputs=2, axis=2, largest=0, sorted=1
    )
    return graph.op("Reshape", ascending, graph.op("Shape", rows))


_STEPS: dict[str, Any] = {
    "scale": _scale, "matrix": Graph.affine, "norm": _norm, "columns": Graph.columns,
    "nothing": _nothing, "beside": _beside, "quadratic": _quadratic, "additive": _additive,
    "gaussian": _gaussian, "always": _always, "gate": _gate, "levels": _levels,
    "local": _local, "tree": _tree, "latent": _latent, "sorted": _sorted,
}  # fmt: skip
