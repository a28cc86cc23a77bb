"""Models as ONNX graphs of plain tensor operations: steps, gate, map, local scores.

Every local model is scored by one matrix product, and the gate, zero but for the nearest few, mixes
the scores. Whatever runs ONNX can run that; no operator is our own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.inspection import split_pipeline
from .plain import NotPlain, PlainModel, Step, plain_model

OPSET = 18
MACHINE_LEARNING_OPSET = 3
# Stands for rows of no features: tensors without columns are asking for trouble.
NOTHING = "nothing"


def to_onnx(estimator: Any, *, dtype: Any = None, input_name: str = "X") -> Any:
    """A fitted model as an ONNX graph.

    Parameters
    ----------
    estimator : classifier of this library with local models, or Pipeline that ends in one
        Fitted to dense rows. Where a step has no plain form (imputers, encoders, …), all steps
        before the model are converted by skl2onnx, in single precision.
    dtype : float32, float64 or None, default=None
        Of the input and of all numbers; None is the model's own. A graph in float32 is smaller and
        faster, and less exact.
    input_name : str, default="X"

    Returns
    -------
    onnx.ModelProto
        One input, rows of shape ``(n, n_features)``; outputs "label", shape ``(n,)``, and "scores",
        the decision function. Write it by ``onnx.save``.

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
    _import_onnx()
    try:
        plain, steps = plain_model(estimator), None
    except NotPlain:
        steps = split_pipeline(estimator)[0]
        if steps is None:
            raise
        plain = plain_model(estimator, with_steps=False)
    kind = np.dtype(plain.dtype if dtype is None else dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32, float64 or None, not {dtype!r}.")
    graph = _Graph(kind)
    rows = input_name
    if steps is not None:
        rows = graph.sklearn(steps, rows)
    scores = _scores(graph, plain, rows)
    _labels(graph, scores, plain.classes)
    n_features = plain.n_features_in if steps is None else steps.n_features_in_
    return graph.model(input_name, n_features, plain)


def _import_onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs onnx; pip install 'hyperlocal[onnx]'.") from error
    return onnx


class _Graph:
    """Collects nodes and constants; a value is known by its name."""

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.domains: dict[str, int] = {"": OPSET}

    def number(self, value: Any) -> str:
        """A constant in the graph's precision."""
        return self.constant(np.asarray(value, self.dtype))

    def constant(self, array: Any) -> str:
        """A constant as it is."""
        onnx = _import_onnx()
        name = f"constant_{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        if np.ndim(array) == 0:  # ascontiguousarray makes a vector of a number
            del self.constants[-1].dims[:]
        return name

    def integers(self, *values: int) -> str:
        """A constant vector of integers: axes, shapes."""
        return self.constant(np.array(values, np.int64))

    def op(self, kind: str, *inputs: str, outputs: Any = 1, name: str = "", **options: Any) -> Any:
        """Add a node; returns the name of its output, or the names of several."""
        onnx = _import_onnx()
        names = [name or f"{kind.lower()}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(onnx.helper.make_node(kind, list(inputs), names, **options))
        return names[0] if outputs == 1 else names

    def sklearn(self, steps: Any, rows: str) -> str:
        """The output of scikit-learn transformers, converted by skl2onnx."""
        try:
            from skl2onnx import convert_sklearn
            from skl2onnx.common.data_types import FloatTensorType
        except ImportError as error:
            raise ImportError(
                "these steps have no plain form, and skl2onnx is missing; "
                "pip install 'hyperlocal[onnx]'."
            ) from error
        # Many of its converters know single precision only.
        single = self.op("Cast", rows, to=_import_onnx().TensorProto.FLOAT)
        converted = convert_sklearn(
            steps, initial_types=[(single, FloatTensorType([None, steps.n_features_in_]))],
            target_opset={"": OPSET, "ai.onnx.ml": MACHINE_LEARNING_OPSET},
        )  # fmt: skip
        self.nodes += converted.graph.node
        self.constants += converted.graph.initializer
        self.domains |= {entry.domain: entry.version for entry in converted.opset_import}
        return self.cast(converted.graph.output[0].name)

    def cast(self, value: str) -> str:
        """A value in the graph's precision."""
        return self.op("Cast", value, to=_import_onnx().helper.np_dtype_to_tensor_dtype(self.dtype))

    def sum(self, value: str, axis: int, keepdims: int = 1) -> str:
        """Sums along an axis."""
        return self.op("ReduceSum", value, self.integers(axis), keepdims=keepdims)

    def model(self, input_name: str, n_features: int, plain: PlainModel) -> Any:
        """The finished model."""
        onnx = _import_onnx()
        helper = onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        n_columns = len(plain.classes)
        shape = ["n"] if n_columns == 2 else ["n", n_columns]
        labels = helper.np_dtype_to_tensor_dtype(_label_array(plain.classes).dtype)
        graph = helper.make_graph(
            self.nodes,
            "hyperlocal",
            [helper.make_tensor_value_info(input_name, kind, ["n", n_features])],
            [
                helper.make_tensor_value_info("label", labels, ["n"]),
                helper.make_tensor_value_info("scores", kind, shape),
            ],
            self.constants,
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        model = helper.make_model(
            graph, opset_imports=opsets, producer_name="hyperlocal", ir_version=8
        )
        onnx.checker.check_model(model, full_check=True)
        return model


# ---- the model -----------------------------------------------------------------------------------


def _scores(graph: _Graph, plain: PlainModel, rows: str) -> str:
    """The decision function, named "scores"."""
    rows = _apply(graph, plain.chains["input"], rows)
    make = {"local": _local, "tree": _tree, "latent": _latent}[plain.facts["kind"]]
    scores = make(graph, plain, rows)
    if len(plain.classes) > 2:
        return graph.op("Identity", scores, name="scores")
    return graph.op("Squeeze", scores, graph.integers(1), name="scores")


def _label_array(classes: np.ndarray) -> np.ndarray:
    if classes.dtype.kind in "OUS":
        return classes.astype(str).astype(object)
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    return classes


def _labels(graph: _Graph, scores: str, classes: np.ndarray) -> None:
    if len(classes) == 2:
        is_second = graph.op("Greater", scores, graph.number(0))
        chosen = graph.op("Cast", is_second, to=_import_onnx().TensorProto.INT64)
    else:
        chosen = graph.op("ArgMax", scores, axis=1, keepdims=0)
    graph.op("Gather", graph.constant(_label_array(classes)), chosen, name="label")


def _local(graph: _Graph, plain: PlainModel, rows: str) -> str:
    facts, arrays = plain.facts, plain.arrays
    phi = _apply(graph, plain.chains["map"], rows)
    coded = phi if facts["code_on_map"] else _apply(graph, plain.chains["code"], rows)
    seen = phi
    for number, stage in enumerate(facts["stages"]):
        gate = _gate(graph, stage["gate"], arrays[f"stage.{number}.anchors"], coded)
        scores = _mixed(graph, facts, arrays[f"stage.{number}.weights"], seen, gate)
        scaled = graph.op("Mul", scores, graph.number(stage["scale"]))
        seen = graph.op("Concat", phi, scaled, axis=1)
    gate = _gate(graph, facts["gate"], arrays["anchors"], coded)
    if facts["normalize"]:
        gate = _unit_gate(graph, gate, phi, facts["bias"])
    return _mixed(graph, facts, arrays["weights"], seen, gate)


def _mixed(graph: _Graph, facts: dict[str, Any], weights: np.ndarray, phi: str, gate: str) -> str:
    """``Σ_j γ_j (w_jc · φ + B b_jc)``, or with one bias that is added once."""
    n_models, n_columns, width = weights.shape
    biases = facts["bias"] * weights[..., -1]
    own = np.zeros_like(biases) if facts["shared_bias"] else biases
    matrix = weights[..., :-1].reshape(n_models * n_columns, width - 1).T
    if phi != NOTHING:
        scores = _affine(graph, phi, matrix, own.ravel())
        scores = graph.op("Reshape", scores, graph.integers(-1, n_models, n_columns))
        mixed = graph.op("Mul", scores, graph.op("Unsqueeze", gate, graph.integers(2)))
        mixed = graph.sum(mixed, 1, keepdims=0)
    else:
        mixed = graph.op("MatMul", gate, graph.number(own))
    return graph.op("Add", mixed, graph.number(biases[0])) if facts["shared_bias"] else mixed


def _unit_gate(graph: _Graph, gate: str, phi: str, bias: float) -> str:
    squares = graph.number(bias**2)
    if phi != NOTHING:
        squares = graph.op("Add", _squares(graph, phi), squares)
    lengths = graph.op("Sqrt", graph.op("Mul", _squares(graph, gate), squares))
    tiny = graph.number(np.finfo(graph.dtype).tiny)
    return graph.op("Div", gate, graph.op("Max", lengths, tiny))


def _tree(graph: _Graph, plain: PlainModel, rows: str) -> str:
    """All nodes speak; those off the row's path are multiplied by zero."""
    columns = []
    parts = (plain.arrays[name] for name in ("routes", "gates", "weights"))
    for routes, gates, weights in zip(*parts, strict=True):
        volume = graph.op("Tanh", _affine(graph, rows, gates[:, :-1].T, gates[:, -1]))
        volume = graph.op("Mul", volume, _reached(graph, rows, routes, plain.facts["depth"]))
        n_nodes, n_columns, width = weights.shape
        matrix = weights[..., :-1].reshape(-1, width - 1).T
        scores = _affine(graph, rows, matrix, weights[..., -1].ravel())
        scores = graph.op("Reshape", scores, graph.integers(-1, n_nodes, n_columns))
        mixed = graph.op("Mul", scores, graph.op("Unsqueeze", volume, graph.integers(2)))
        columns.append(graph.sum(mixed, 1, keepdims=0))
    return columns[0] if len(columns) == 1 else graph.op("Concat", *columns, axis=1)


def _reached(graph: _Graph, rows: str, routes: np.ndarray, depth: int) -> str:
    """One for the nodes of a row's path, zero for the others, ``(n, n_nodes)``, root first."""
    if depth == 0:
        ones = graph.number(np.ones((1, 1)))
        return graph.op("Add", ones, graph.number(0))
    turns = _affine(graph, rows, routes[:, :-1].T, routes[:, -1])
    left = graph.cast(graph.op("Greater", turns, graph.number(0)))
    zero = graph.op("Mul", left, graph.number(0))
    level = graph.op("Add", _columns(graph, zero, np.arange(1)), graph.number(1))
    levels = [level]
    for number in range(depth):
        nodes = np.arange(2**number - 1, 2 ** (number + 1) - 1)
        to_left = graph.op("Mul", level, _columns(graph, left, nodes))
        to_right = graph.op("Sub", level, to_left)
        pairs = [graph.op("Unsqueeze", side, graph.integers(2)) for side in (to_left, to_right)]
        both = graph.op("Concat", *pairs, axis=2)
        level = graph.op("Reshape", both, graph.integers(-1, 2 * len(nodes)))
        levels.append(level)
    return graph.op("Concat", *levels, axis=1)


def _latent(graph: _Graph, plain: PlainModel, rows: str) -> str:
    weights, exponent = plain.arrays["weights"], plain.facts["exponent"]
    by_class = weights.transpose(1, 0, 2)
    n_classes, n_models, width = by_class.shape
    flat = by_class.reshape(n_classes * n_models, width)
    products = _affine(graph, rows, flat[:, :-1].T, flat[:, -1])
    products = graph.op("Reshape", products, graph.integers(-1, n_classes, n_models))
    positive = graph.op("Relu", products)
    largest = graph.op("ReduceMax", positive, graph.integers(2), keepdims=1)
    largest = graph.op("Max", largest, graph.number(np.finfo(graph.dtype).tiny))
    share = graph.op("Div", positive, largest)
    powers = graph.sum(graph.op("Pow", share, graph.number(exponent)), 2)
    norms = graph.op("Mul", largest, graph.op("Pow", powers, graph.number(1 / exponent)))
    scores = graph.op("Squeeze", norms, graph.integers(2))
    if n_classes > 2:
        return scores
    first, second = (_columns(graph, scores, np.array([c])) for c in range(2))
    return graph.op("Sub", second, first)


# ---- the gate ------------------------------------------------------------------------------------


def _gate(graph: _Graph, facts: dict[str, Any], anchors: np.ndarray, rows: str) -> str:
    """Weights of all anchors, ``(n, n_anchors)``, zero but for the nearest few."""
    if facts["coding"] == "always":
        return graph.number(np.ones((1, len(anchors))))
    k = facts["n_neighbors"]
    origin = anchors.mean(axis=0, dtype=np.float64)
    centred = anchors - origin
    about = graph.op("Sub", rows, graph.number(origin))
    # ‖v‖² − 2x·v ranks anchors as distances do, and a softmax cannot tell them apart.
    ranks = _affine(graph, about, -2 * centred.T, (centred**2).sum(axis=1))
    # Anchors beyond the k-th nearest get weight zero.
    nearest, chosen = graph.op(
        "TopK", ranks, graph.integers(k), outputs=2, axis=1, largest=0, sorted=1
    )
    if facts["coding"] == "soft":
        cold = graph.op("Mul", nearest, graph.number(-facts["beta"]))
        weights = graph.op("Softmax", cold, axis=1)
    else:
        squared = graph.op("Add", nearest, _squares(graph, about))
        squared = graph.op("Max", squared, graph.number(np.finfo(graph.dtype).tiny))
        if facts["coding"] == "inverse_distance":
            near = _columns(graph, squared, np.arange(1))
            weights = graph.op("Sqrt", graph.op("Div", near, squared))
        else:
            near = graph.op("Gather", graph.number(centred), chosen, axis=0)
            away = graph.op("Sub", near, graph.op("Unsqueeze", about, graph.integers(1)))
            weights = _reconstruction(graph, facts, away, squared, k)
        weights = graph.op("Div", weights, graph.sum(weights, 1))
    zeros = graph.op("Mul", ranks, graph.number(0))
    return graph.op("ScatterElements", zeros, chosen, weights, axis=1)


def _reconstruction(graph: _Graph, facts: dict[str, Any], away: str, squared: str, k: int) -> str:
    """Solve ``(G + penalties) z = 1`` for each row, G the products of ``away``."""
    gram = graph.op("MatMul", away, graph.op("Transpose", away, perm=[0, 2, 1]))
    eye = np.eye(k)
    diagonal = graph.sum(graph.op("Mul", gram, graph.number(eye)), 2, keepdims=0)
    mean = graph.op("ReduceMean", diagonal, graph.integers(1), keepdims=1)
    tiny = graph.number(np.finfo(graph.dtype).tiny)
    mean = graph.op("Where", graph.op("Greater", mean, tiny), mean, graph.number(1))
    penalty = graph.number(facts["ridge"])
    if facts["coding"] == "llc":
        beyond = graph.op("Sub", squared, _columns(graph, squared, np.array([k - 1])))
        locality = graph.op("Exp", graph.op("Mul", beyond, graph.number(2 * facts["beta"])))
        locality = graph.op("Mul", locality, graph.number(facts["locality"]))
        penalty = graph.op("Add", locality, penalty)
    penalty = graph.op("Mul", graph.op("Add", penalty, graph.op("Mul", squared, graph.number(0))),
                       mean)  # fmt: skip
    ridge = graph.op("Mul", graph.op("Unsqueeze", penalty, graph.integers(2)), graph.number(eye))
    ones = graph.op("Add", graph.op("Mul", squared, graph.number(0)), graph.number(1))
    system = graph.op("Concat", graph.op("Add", gram, ridge),
                      graph.op("Unsqueeze", ones, graph.integers(2)), axis=2)  # fmt: skip
    for i in range(k):  # Gauss and Jordan; positive definite, so no pivots
        row = graph.op("Gather", system, graph.integers(i), axis=1)
        row = graph.op("Div", row, graph.op("Gather", row, graph.integers(i), axis=2))
        column = graph.op("Gather", system, graph.integers(i), axis=2)
        change = graph.op("Mul", graph.op("Sub", column, graph.number(eye[:, i : i + 1])), row)
        system = graph.op("Sub", system, change)
        # Row i became row − (pivot − 1)·row/pivot = row/pivot; all others lost column i.
    solution = graph.op("Gather", system, graph.integers(k), axis=2)
    return graph.op("Squeeze", solution, graph.integers(2))


# ---- steps ---------------------------------------------------------------------------------------


def _apply(graph: _Graph, steps: list[Step], rows: str) -> str:
    for step in steps:
        rows = _STEPS[step.kind](graph, rows, **step.parts)
    return rows


def _affine(graph: _Graph, rows: str, matrix: np.ndarray, shift: np.ndarray) -> str:
    return graph.op("Add", graph.op("MatMul", rows, graph.number(matrix)), graph.number(shift))


def _squares(graph: _Graph, rows: str) -> str:
    return graph.sum(graph.op("Mul", rows, rows), 1)


def _columns(graph: _Graph, rows: str, columns: np.ndarray) -> str:
    return graph.op("Gather", rows, graph.constant(columns.astype(np.int64)), axis=1)


def _scale(graph: _Graph, rows: str, factor: np.ndarray, shift: np.ndarray) -> str:
    return graph.op("Add", graph.op("Mul", rows, graph.number(factor)), graph.number(shift))


def _norm(graph: _Graph, rows: str, order: np.ndarray) -> str:
    kind = {"l1": "ReduceL1", "l2": "ReduceL2", "max": "ReduceMax"}[str(order)]
    sizes = graph.op("Abs", rows)
    length = graph.op(kind, sizes, graph.integers(1), keepdims=1)
    positive = graph.op("Greater", length, graph.number(0))
    return graph.op("Div", rows, graph.op("Where", positive, length, graph.number(1)))


def _nothing(graph: _Graph, rows: str) -> str:
    return NOTHING


def _quadratic(
    graph: _Graph, rows: str, factor: np.ndarray, upper: np.ndarray, lower: np.ndarray
) -> str:
    z = graph.op("Mul", rows, graph.number(factor))
    products = graph.op("Mul", _columns(graph, z, upper), _columns(graph, z, lower))
    sizes = np.where(upper == lower, 1, np.sqrt(2))
    return graph.op(
        "Concat", graph.op("Mul", z, graph.number(np.sqrt(2))),
        graph.op("Mul", products, graph.number(sizes)), axis=1,
    )  # fmt: skip


def _additive(graph: _Graph, rows: str, amplitudes: np.ndarray, frequencies: np.ndarray) -> str:
    sizes = graph.op("Abs", rows)
    root = graph.op("Mul", graph.op("Sign", rows), graph.op("Sqrt", sizes))
    positive = graph.op("Greater", sizes, graph.number(0))
    phase = graph.op("Log", graph.op("Where", positive, sizes, graph.number(1)))
    parts = [graph.op("Mul", root, graph.number(amplitudes[0]))]
    for amplitude, frequency in zip(amplitudes[1:], frequencies[1:], strict=True):
        angle = graph.op("Mul", phase, graph.number(frequency))
        size = graph.op("Mul", root, graph.number(amplitude))
        parts += [graph.op("Mul", size, graph.op(wave, angle)) for wave in ("Cos", "Sin")]
    return graph.op("Concat", *parts, axis=1)


def _gaussian(
    graph: _Graph, rows: str, centres: np.ndarray, gamma: np.ndarray, matrix: np.ndarray
) -> str:
    origin = centres.mean(axis=0, dtype=np.float64)
    centred = centres - origin
    about = graph.op("Sub", rows, graph.number(origin))
    ranks = _affine(graph, about, -2 * centred.T, (centred**2).sum(axis=1))
    squared = graph.op("Max", graph.op("Add", ranks, _squares(graph, about)), graph.number(0))
    values = graph.op("Exp", graph.op("Mul", squared, graph.number(-gamma)))
    return graph.op("MatMul", values, graph.number(matrix))


_STEPS: dict[str, Any] = {
    "scale": _scale, "matrix": _affine, "norm": _norm, "columns": _columns, "nothing": _nothing,
    "quadratic": _quadratic, "additive": _additive, "gaussian": _gaussian,
}  # fmt: skip
