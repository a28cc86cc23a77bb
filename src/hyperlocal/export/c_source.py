"""C source under construction: constants, statements that compute scores, and statements that
turn weights on scores into weights on the input's features.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

Result = TypeVar("Result")
LINE = 100
LARGEST_INT8 = 127


@dataclass(frozen=True)
class Buffer:
    """An array of floats in the generated function."""

    name: str
    width: int

    @property
    def weights(self) -> str:
        """The name of the array of weights on these floats."""
        return self.name.replace("x", "w", 1)


class Source:
    """Collects constants and statements; a constant is known by its name.

    Parameters
    ----------
    dtype : {"float32", "int8"}
        How tables of numbers are stored.
    """

    def __init__(self, dtype: str):
        self.dtype = dtype
        self.constants: list[str] = []
        self.n_bytes = 0
        self.scores: list[str] = []  #: statements that compute the output of each step
        self.pulls: list[str] = []  #: statements from weights on outputs to weights on inputs
        self.weighted: list[Buffer] = []  #: outputs that have weights
        self.without_weights: list[str] = []  #: steps whose output has no weights on their input
        self._names: dict[tuple[Any, ...], str] = {}
        self._n_reserved = 0

    # ---- constants -----------------------------------------------------------------------------

    def floats(self, array: Any) -> str:
        """A constant array of floats."""
        return self._constant("float", np.asarray(array, np.float32).ravel())

    def integers(self, array: Any) -> str:
        """A constant array of integers."""
        return self._constant("int", np.asarray(array, np.int32).ravel())

    def table(self, rows: np.ndarray) -> str:
        """A constant table, ``(n_rows, width)``; as int8, each row has a scale of its own."""
        width = rows.shape[-1]
        rows = rows.reshape(math.prod(rows.shape[:-1]), width).astype(np.float32)
        if self.dtype == "float32":
            return f"(hl_table){{{self.floats(rows)}, 0, {width}}}"
        values, scales = quantize(rows)
        names = self._constant("hl_number", values.ravel()), self.floats(scales)
        return f"(hl_table){{{names[0]}, {names[1]}, {width}}}"

    def _constant(self, kind: str, values: np.ndarray) -> str:
        key = (kind, values.tobytes())
        if key not in self._names:
            self._names[key] = f"hl_constant_{len(self._names)}"
            self.n_bytes += values.nbytes
            self.constants.append(_definition(kind, self._names[key], values))
        return self._names[key]

    # ---- statements ----------------------------------------------------------------------------

    def linear(self, function: str, x: Buffer, width: int, *constants: Any) -> Buffer:
        """A step whose output is linear in ``x`` at a row, with weights on its output and ``x``."""
        out = self._called(function, x, width, *constants)
        arguments = (out.weights, x.name, x.width, *constants, x.weights, "&constant")
        self.pulls.insert(0, _call(f"pull_{function}", *arguments))
        self.weighted.append(out)
        return out

    def nonlinear(self, function: str, x: Buffer, width: int, *constants: Any) -> Buffer:
        """A step whose output has no weights on ``x``."""
        self.without_weights.append(function)
        return self._called(function, x, width, *constants)

    def _called(self, function: str, x: Buffer, width: int, *constants: Any) -> Buffer:
        out = Buffer(self.reserve("float", "x", width), width)
        self.call(function, x.name, x.width, *constants, out.name)
        return out

    def beside(self, parts: list[Buffer]) -> Buffer:
        """The outputs of several steps in one."""
        width = sum(part.width for part in parts)
        out = Buffer(self.reserve("float", "x", width), width)
        self.weighted.append(out)
        begin = 0
        for part in parts:
            self.call("copy", part.name, part.width, f"{out.name} + {begin}")
            pulled = _call("pull_copy", f"{out.weights} + {begin}", part.width, part.weights)
            self.pulls.insert(0, pulled)
            begin += part.width
        return out

    def reserve(self, kind: str, prefix: str, width: int) -> str:
        """A new array in the function that computes scores; C has none of size zero."""
        self._n_reserved += 1
        name = f"{prefix}{self._n_reserved}"
        self.scores.append(f"{kind} {name}[{max(1, width)}];")
        return name

    def call(self, function: str, *arguments: Any) -> None:
        """Add a call to the computation of scores."""
        self.scores.append(_call(function, *arguments))

    def held_fixed(self, build: Callable[[], Result]) -> Result:
        """What explanations hold fixed, such as the steps before the gate: without weights."""
        before = self.pulls, self.weighted, self.without_weights
        self.pulls, self.weighted, self.without_weights = [], [], []
        result = build()
        self.pulls, self.weighted, self.without_weights = before
        return result


def _call(function: str, *arguments: Any) -> str:
    return f"hl_{function}({', '.join(map(str, arguments))});"


def quantize(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows as int8 and a scale per row: the largest absolute value becomes 127.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.export.c_source import quantize
    >>> values, scales = quantize(np.array([[0.5, -1.0, 0.25]]))
    >>> values.tolist(), float(scales[0] * 127)
    ([[64, -127, 32]], 1.0)
    """
    largest = np.abs(rows).max(axis=1, initial=0)
    scales = np.where(largest > 0, largest, 1) / LARGEST_INT8
    return np.rint(rows / scales[:, None]).astype(np.int8), scales


def number(value: Any) -> str:
    """A float as C writes it, with as many digits as single precision needs.

    Examples
    --------
    >>> from hyperlocal.export.c_source import number
    >>> number(0.1), number(2), number(float("inf"))
    ('0.1f', '2.0f', 'INFINITY')
    """
    single = np.float32(value)
    if np.isinf(single):
        return "INFINITY" if single > 0 else "-INFINITY"
    text = str(single)
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def _definition(kind: str, name: str, values: np.ndarray) -> str:
    texts = map(number if kind == "float" else str, values)
    body = textwrap.fill(", ".join(texts) or "0", LINE, break_on_hyphens=False)
    return f"static const {kind} {name}[{max(1, len(values))}] = {{\n{body}}};"
