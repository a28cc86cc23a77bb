"""An ONNX graph under construction: nodes, constants, and the small operations that recur."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from ..data.arguments import check_number

OPSET = 18
# Sums take their axes as inputs from here on, and other reductions from 18 on.
OLDEST_OPSET = 13
REDUCTIONS_TAKE_INPUTS = 18
IR_VERSION = 8
MACHINE_LEARNING_OPSET = 3


def import_onnx() -> Any:
    """The module onnx; where it is missing, an error that names the extra."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs onnx; pip install 'hyperlocal[onnx]'.") from error
    return onnx


@dataclass(frozen=True)
class Value:
    """A tensor of a graph. Arithmetic adds nodes; what is no value becomes a constant."""

    graph: Graph = field(repr=False)
    name: str

    __array_ufunc__ = None  # arrays on the left leave arithmetic to the value

    def __add__(self, other: Any) -> Value:
        return self.graph.op("Add", self, other)

    def __sub__(self, other: Any) -> Value:
        return self.graph.op("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.op("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.graph.op("Mul", self, other)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.op("Div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.op("Div", other, self)

    def __pow__(self, other: Any) -> Value:
        return self.graph.op("Pow", self, other)

    def __matmul__(self, other: Any) -> Value:
        return self.graph.op("MatMul", self, other)

    def __neg__(self) -> Value:
        return self.graph.op("Neg", self)

    def __gt__(self, other: Any) -> Value:
        return self.graph.op("Greater", self, other)

    def sum(self, axis: int, keepdims: int = 1) -> Value:
        """Sums along an axis."""
        return self.graph.op("ReduceSum", self, self.graph.integers(axis), keepdims=keepdims)

    def clipped(self) -> Value:
        """Numbers below 0 as 0, those above 1 as 1."""
        return self.graph.op("Min", self.graph.op("Max", self, 0), 1)

    def with_axis(self, axis: int) -> Value:
        """With a new axis of size one."""
        return self.graph.op("Unsqueeze", self, self.graph.integers(axis))

    def without_axis(self, axis: int, name: str = "") -> Value:
        """Without an axis of size one."""
        return self.graph.op("Squeeze", self, self.graph.integers(axis), name=name)

    def take(self, places: Any, axis: int = 1) -> Value:
        """Some columns, or some places of another axis."""
        places = self.graph.constant(np.asarray(places, np.int64))
        return self.graph.op("Gather", self, places, axis=axis)

    def reshaped(self, *shape: int) -> Value:
        """With another shape."""
        return self.graph.op("Reshape", self, self.graph.integers(*shape))


class Graph:
    """Collects nodes and constants."""

    def __init__(self, dtype: np.dtype, opset: int = OPSET):
        check_number("target_opset", opset, integer=True, above=OLDEST_OPSET, inclusive=True)
        newest = import_onnx().defs.onnx_opset_version()
        if opset > newest:
            raise ValueError(f"target_opset must be at most {newest}, not {opset}: upgrade onnx.")
        self.dtype = dtype
        self.opset = int(opset)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.domains: dict[str, int] = {"": self.opset}
        self._names: dict[tuple[Any, ...], str] = {}

    # ---- values --------------------------------------------------------------------------------

    def number(self, value: Any) -> Value:
        """A constant in the graph's precision."""
        return self.constant(np.asarray(value, self.dtype))

    def constant(self, array: Any) -> Value:
        """A constant as it is; equal ones are stored once."""
        array = np.asarray(array)
        content = tuple(array.ravel()) if array.dtype.hasobject else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._names:
            self._names[key] = f"constant_{len(self._names)}"
            constant = import_onnx().numpy_helper.from_array(array, self._names[key])
            self.constants.append(constant)
        return Value(self, self._names[key])

    def integers(self, *values: int) -> Value:
        """A constant vector of integers: axes, shapes."""
        return self.constant(np.array(values, np.int64))

    # ---- operations ----------------------------------------------------------------------------

    def op(self, kind: str, *inputs: Any, name: str = "", **options: Any) -> Value:
        """Add a node; returns its output. Inputs that are no values become constants."""
        return self._added(kind, inputs, [name or f"{kind.lower()}_{len(self.nodes)}"], options)[0]

    def top(self, value: Value, k: int, axis: int, *, largest: bool) -> list[Value]:
        """The ``k`` largest or smallest along an axis, in order, and their places."""
        names = [f"{kind}_{len(self.nodes)}" for kind in ("top", "places")]
        options = {"axis": axis, "largest": int(largest), "sorted": 1}
        return self._added("TopK", (value, self.integers(k)), names, options)

    def _added(
        self, kind: str, inputs: Sequence[Any], names: list[str], options: dict[str, Any]
    ) -> list[Value]:
        taken = [one if isinstance(one, Value) else self.number(one) for one in inputs]
        make_node = import_onnx().helper.make_node
        node = make_node(kind, [one.name for one in taken], names, name=names[0], **options)
        self.nodes.append(node)
        return [Value(self, name) for name in names]

    def cast(self, value: Value) -> Value:
        """A value in the graph's precision."""
        return self.op("Cast", value, to=import_onnx().helper.np_dtype_to_tensor_dtype(self.dtype))

    def reduce(self, kind: str, value: Value, axis: int) -> Value:
        """Another reduction along an axis, which stays."""
        if self.opset >= REDUCTIONS_TAKE_INPUTS:
            return self.op(kind, value, self.integers(axis), keepdims=1)
        return self.op(kind, value, axes=[axis], keepdims=1)

    def tiny(self) -> Value:
        """The smallest normal number."""
        return self.number(np.finfo(self.dtype).tiny)

    def ranks(self, rows: Value, points: np.ndarray) -> tuple[Value, Value]:
        """Squared distances from rows to points, less ``‖x‖²``, and that."""
        # About the points' mean, digits are kept when the data lie far from the origin.
        origin = points.mean(axis=0, dtype=np.float64)
        centered = points - origin
        about = rows - origin
        ranks = about @ (-2 * centered.T) + (centered**2).sum(axis=1)
        return ranks, (about * about).sum(1)

    def sklearn(self, steps: list[Any], n_features: int, rows: Value) -> Value:
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
        single = self.op("Cast", rows, to=import_onnx().TensorProto.FLOAT)
        try:
            converted = convert_sklearn(
                make_pipeline(*map(by_number, steps)),
                initial_types=[(single.name, FloatTensorType([None, n_features]))],
                target_opset={"": self.opset, "ai.onnx.ml": MACHINE_LEARNING_OPSET},
            )
        except Exception as error:  # of many kinds, in its converters
            names = ", ".join(type(step).__name__ for step in steps)
            reason = (str(error).splitlines() or [""])[0].rstrip(".")
            raise ValueError(
                f"{names} cannot be converted by skl2onnx to take rows of numbers ({reason}). "
                f"Convert the steps after them, to_onnx(pipeline[{len(steps)}:]), and give it rows "
                f"that pipeline[:{len(steps)}].transform has encoded."
            ) from error
        self.nodes += converted.graph.node
        self.constants += converted.graph.initializer
        self.domains |= {entry.domain: entry.version for entry in converted.opset_import}
        return self.cast(Value(self, converted.graph.output[0].name))

    # ---- the finished model --------------------------------------------------------------------

    def model(self, input_name: str, n_features: int, outputs: dict[str, Any]) -> Any:
        """The graph with its input and its outputs, checked.

        ``outputs`` gives of each name the data type and the shape of one row; None for a vector
        that is the same for all rows.
        """
        onnx = import_onnx()
        helper = onnx.helper
        taken = {name for node in self.nodes for name in node.output}
        if input_name in taken | {constant.name for constant in self.constants}:
            raise ValueError(
                f"input_name={input_name!r} is the name of another value; give another name."
            )
        infos = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),
                [None] if shape is None else ["n", *shape],
            )
            for name, (dtype, shape) in {
                input_name: (self.dtype, (n_features,)), **outputs
            }.items()
        ]  # fmt: skip
        graph = helper.make_graph(self.nodes, "hyperlocal", infos[:1], infos[1:], self.constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        version = max(IR_VERSION, helper.find_min_ir_version_for(opsets))
        model = helper.make_model(
            graph, opset_imports=opsets, producer_name="hyperlocal", ir_version=version
        )
        onnx.checker.check_model(model, full_check=True)
        return model


def by_number(step: Any) -> Any:
    """A transformer that finds its columns by number: rows of an ONNX graph have no names."""
    if not isinstance(step, ColumnTransformer):
        return step
    names, step = list(getattr(step, "feature_names_in_", ())), copy(step)
    step.transformers_ = [
        (name, part, _numbers(columns, names, step.n_features_in_))
        for name, part, columns in step.transformers_
    ]
    return step


def _numbers(columns: Any, names: list[str], n_features: int) -> Any:
    if not isinstance(columns, list):
        return columns
    numbers = [names.index(one) if isinstance(one, str) else one for one in columns]
    if numbers != sorted(numbers) and sorted(numbers) == list(range(n_features)):
        # skl2onnx 1.20 takes them in the order of the table.
        raise ValueError(f"columns {columns} are all, in another order; give them in their order")
    return numbers
