"""Models as one C99 header: constants, and functions that classify and explain one row.

The formulas are in ``steps.h`` and ``models.h``; here the plain steps of a model become calls of
them. A new step is a function there and one below that calls it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..data.arguments import check_choice
from ..maps.plain import NotPlain, Step
from .c_paths import path_functions
from .c_source import Buffer, Source, number
from .paths import plain_paths
from .plain import PlainModel, plain_model

DTYPES = ("float32", "int8")
FORMULAS = [Path(__file__).with_name(name) for name in ("steps.h", "models.h")]


def to_c(
    estimator: Any, *, dtype: str = "float32", name: str = "model", contributions: bool = False
) -> str:
    """A fitted model as a C99 header that needs no library but ``math.h`` and no heap.

    The header defines, for rows of ``NAME_N_FEATURES`` floats (``NAME`` in capital letters):

    - ``void NAME_scores(const float* x, float* scores)``: the decision function, of
      ``NAME_N_SCORES`` numbers: one per class, or one for two classes;
    - ``int NAME_predict(const float* x)``: the index of the predicted class in ``NAME_classes``
      (of a regressor the scores are the predictions, and this is missing);
    - ``float NAME_contributions(const float* x, int column, float* contributions)``: what each
      feature adds to one of the scores, and returns the rest of it; their sum is the score. By
      default these are local weights times values, and missing where a map is not linear at a row.

    Parameters
    ----------
    estimator : classifier of this library with local models, or Pipeline that ends in one
        The pipeline's other steps may be scalers, Normalizer, PCA, TruncatedSVD or MEGM.
    dtype : {"float32", "int8"}, default="float32"
        How weights, anchors and matrices are stored. "int8" needs a quarter of the memory: a byte
        per number and a scale per row; computations are in single precision. It suits features of
        similar scale.
    name : str, default="model"
        Prefix of all names in the header.
    contributions : bool, default=False
        Whether contributions are those of ``explain`` in Python, relative to references. The
        constants, in single precision, become about three times as many, and explaining a row costs
        some hundred predictions. For local models of linear, quadratic or piecewise maps and soft
        or hard gates, with linear steps before; an error says what is not.

    Returns
    -------
    str
        The text of the header.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.export import to_c
    >>> model = LocallyLinearSVC(random_state=0).fit(*load_iris(return_X_y=True))
    >>> header = to_c(model, name="iris")
    >>> "int iris_predict(const float* x)" in header
    True
    """
    check_choice("dtype", dtype, DTYPES)
    if not (isinstance(name, str) and re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name)):
        raise ValueError(f"name must be a C identifier, such as 'model', not {name!r}.")
    plain = plain_model(estimator)
    source = Source(dtype)
    scores = _apply(source, Buffer("x0", plain.n_features_in), plain.steps)
    paths = path_functions(source, plain_paths(estimator)) if contributions else []
    text = "\n\n".join(_parts(source, plain, scores, paths))
    return re.sub(r"\bhl_", f"{name}_", text).replace("HL_", f"{name.upper()}_") + "\n"


def _parts(source: Source, plain: PlainModel, scores: Buffer, paths: list[str]) -> list[str]:
    kind = "float" if source.dtype == "float32" else "signed char"
    return [
        f"/* Written by hyperlocal.export.to_c: {plain.n_features_in} features, "
        f"{scores.width} scores, {source.n_bytes} bytes of constants. */",
        "#ifndef HL_HEADER\n#define HL_HEADER",
        "#include <float.h>\n#include <math.h>",
        f"#define HL_N_FEATURES {plain.n_features_in}\n#define HL_N_SCORES {scores.width}",
        *([] if not len(plain.classes) else [_classes(plain.labels)]),
        f"typedef {kind} hl_number;",
        *(path.read_text(encoding="utf-8").rstrip() for path in FORMULAS),
        "/* ---- the model ---- */",
        *source.constants,
        _score_function(source, scores),
        *([] if not len(plain.classes) else [_PREDICT_TWO if scores.width == 1 else _PREDICT]),
        *(paths or [_contribution_function(source, scores)]),
        "#endif",
    ]


def _classes(labels: np.ndarray) -> str:
    if labels.dtype.kind == "O":
        kind, texts = "char *const", [_quoted(label) for label in labels]
    elif labels.dtype.kind == "f":
        kind, texts = "double", [repr(float(label)) for label in labels]
    else:
        numbers = [int(label) for label in labels]
        # Where long has 32 bits, as on small devices.
        is_long = all(-(2**31) < number < 2**31 for number in numbers)
        kind, texts = ("long" if is_long else "long long"), [str(number) for number in numbers]
    size = f"#define HL_N_CLASSES {len(labels)}"
    return f"{size}\nstatic const {kind} hl_classes[HL_N_CLASSES] = {{{', '.join(texts)}}};"


def _quoted(text: str) -> str:
    """A text as C writes it; bytes that are not plain in octal, three digits each."""
    marks = b'"\\?_'  # question marks begin trigraphs; underscores may be in names to replace
    plain = (chr(b) if 32 <= b < 127 and b not in marks else f"\\{b:03o}" for b in text.encode())
    return f'"{"".join(plain)}"'


# ---- functions -----------------------------------------------------------------------------------

_PREDICT = """\
/* The index of the predicted class. */
static inline int hl_predict(const float* x) {
  float scores[HL_N_SCORES];
  int best = 0;
  hl_scores(x, scores);
  for (int i = 1; i < HL_N_SCORES; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  return best;
}"""

_PREDICT_TWO = """\
/* The index of the predicted class. */
static inline int hl_predict(const float* x) {
  float score;
  hl_scores(x, &score);
  return score > 0.0f;
}"""


def _score_function(source: Source, scores: Buffer) -> str:
    return _function(
        "The decision function of a row.",
        "void hl_scores(const float* x0, float* scores)",
        [*source.scores, f"hl_copy({scores.name}, {scores.width}, scores);"],
    )


def _contribution_function(source: Source, scores: Buffer) -> str:
    if source.without_weights:
        return f"/* No contributions: {source.without_weights[0]} is not linear at a row. */"
    weights = [f"float {one.weights}[{max(1, one.width)}] = {{0.0f}};" for one in source.weighted]
    return _function(
        "What each feature adds to a score; returns the constant part.",
        "float hl_contributions(const float* x0, int column, float* w0)",
        [
            *source.scores,
            *weights,
            "float constant = 0.0f;",
            "for (int i = 0; i < HL_N_FEATURES; ++i) w0[i] = 0.0f;",
            f"{scores.weights}[column] = 1.0f;",
            *source.pulls,
            "for (int i = 0; i < HL_N_FEATURES; ++i) w0[i] *= x0[i];",
            "return constant;",
        ],
    )


def _function(comment: str, head: str, statements: list[str]) -> str:
    body = "\n".join(f"  {statement}" for statement in statements)
    return f"/* {comment} */\nstatic inline {head} {{\n{body}\n}}"


# ---- steps ---------------------------------------------------------------------------------------


def _apply(source: Source, x: Buffer, steps: list[Step]) -> Buffer:
    for step in steps:
        if step.kind not in _STEPS:
            raise NotPlain(f"the step {step.kind} cannot be written in C yet; use to_onnx.")
        x = _STEPS[step.kind](source, x, **step.parts)
    return x


def _scale(source: Source, x: Buffer, factor: np.ndarray, shift: np.ndarray) -> Buffer:
    constants = source.floats(factor), source.floats(shift), factor.size
    return source.linear("scale", x, x.width, *constants)


def _matrix(source: Source, x: Buffer, matrix: np.ndarray, shift: np.ndarray) -> Buffer:
    width = matrix.shape[1]
    return source.linear("matrix", x, width, source.table(matrix.T), source.floats(shift), width)


def _norm(source: Source, x: Buffer, order: str) -> Buffer:
    return source.linear("norm", x, x.width, {"max": 0, "l1": 1, "l2": 2}[order])


def _clip(source: Source, x: Buffer) -> Buffer:
    return source.linear("clip", x, x.width)


def _columns(source: Source, x: Buffer, columns: np.ndarray) -> Buffer:
    names = source.integers(np.arange(x.width)[columns])
    return source.linear("columns", x, len(columns), names, len(columns))


def _nothing(source: Source, x: Buffer) -> Buffer:
    return source.linear("nothing", x, 0)


def _beside(source: Source, x: Buffer, branches: list[list[Step]]) -> Buffer:
    return source.beside([_apply(source, x, steps) for steps in branches])


def _quadratic(
    source: Source, x: Buffer, factor: float, upper: np.ndarray, lower: np.ndarray
) -> Buffer:
    """``upper`` and ``lower`` are all pairs of the first features, in the order of ``steps.h``."""
    n_paired = int(upper.max(initial=-1)) + 1
    return source.linear("quadratic", x, x.width + len(upper), number(factor), n_paired)


def _additive(source: Source, x: Buffer, amplitudes: np.ndarray, frequencies: np.ndarray) -> Buffer:
    constants = source.floats(amplitudes), source.floats(frequencies), len(amplitudes)
    return source.nonlinear("additive", x, x.width * (2 * len(amplitudes) - 1), *constants)


def _gaussian(
    source: Source, x: Buffer, centers: np.ndarray, gamma: float, matrix: np.ndarray
) -> Buffer:
    n_centers = len(centers)
    constants = source.table(centers), n_centers, number(gamma)
    values = source.nonlinear("gaussian", x, n_centers, *constants)
    if matrix.shape == (n_centers, n_centers) and np.array_equal(matrix, np.eye(n_centers)):
        return values
    return _matrix(source, values, matrix, np.zeros(matrix.shape[1]))


# ---- gates: names of the arrays of active anchors and their weights, and their number ------------

ActiveAnchors = tuple[str, str, int]


def _always(source: Source, x: Buffer) -> ActiveAnchors:
    near, weights = source.reserve("int", "near", 1), source.reserve("float", "gate", 1)
    source.call("always", near, weights)
    return near, weights, 1


def _gate(
    source: Source,
    x: Buffer,
    anchors: np.ndarray,
    n_neighbors: int,
    coding: str,
    beta: float,
    ridge: float,
    locality: float,
) -> ActiveAnchors:
    k = n_neighbors
    near, weights = source.reserve("int", "near", k), source.reserve("float", "gate", k)
    table = source.table(anchors)
    source.call("nearest", x.name, table, len(anchors), k, near, weights)
    if coding == "soft":
        source.call("soft", weights, k, number(beta))
    elif coding == "inverse_distance":
        source.call("inverse_distance", weights, k)
    else:
        gram = source.reserve("float", "gram", k * k)
        penalties = number(ridge), number(locality if coding == "llc" else 0), number(beta)
        source.call("reconstruction", x.name, table, near, weights, k, *penalties, gram)
    return near, weights, k


def _levels(source: Source, x: Buffer, gates: list[Step]) -> ActiveAnchors:
    parts = [_GATES[gate.kind](source, x, **gate.parts) for gate in gates]
    n_active = sum(k for _, _, k in parts)
    near = source.reserve("int", "near", n_active)
    weights = source.reserve("float", "gate", n_active)
    begin = first = 0
    for gate, (own, own_weights, k) in zip(gates, parts, strict=True):
        places = f"{near} + {begin}", f"{weights} + {begin}"
        source.call("level", own, own_weights, k, first, *places)
        begin += k
        first += len(gate.parts["anchors"])
    return near, weights, n_active


_GATES: dict[str, Callable[..., ActiveAnchors]] = {
    "always": _always, "gate": _gate, "levels": _levels,
}  # fmt: skip


# ---- models: scores ------------------------------------------------------------------------------


def _local(
    source: Source,
    x: Buffer,
    map_steps: list[Step],
    code_steps: list[Step] | None,
    gate: Step,
    coef: np.ndarray,
    intercept: np.ndarray,
    global_intercept: np.ndarray,
    bias: float,
    normalize: bool,
) -> Buffer:
    phi = _apply(source, x, map_steps)

    def code() -> ActiveAnchors:
        coded = phi if code_steps is None else _apply(source, x, code_steps)
        return _GATES[gate.kind](source, coded, **gate.parts)

    near, gamma, k = source.held_fixed(code)
    if normalize:
        source.call("normalize", gamma, k, phi.name, phi.width, number(bias))
    own = source.floats(intercept)
    shared = source.floats(global_intercept) if global_intercept.any() else "0"
    n_columns = coef.shape[1]
    return source.linear(
        "local", phi, n_columns, near, gamma, k, source.table(coef), own, shared, n_columns
    )


def _tree(
    source: Source,
    x: Buffer,
    routes: np.ndarray,
    gates: np.ndarray,
    weights: np.ndarray,
    depth: int,
) -> Buffer:
    n_trees, _, n_columns, _ = weights.shape
    tables = (source.table(part) for part in (routes, gates, weights))
    return source.linear("tree", x, n_trees * n_columns, *tables, depth, n_trees, n_columns)


def _latent(source: Source, x: Buffer, weights: np.ndarray, exponent: float) -> Buffer:
    n_models, n_classes, _ = weights.shape
    models = source.table(np.ascontiguousarray(weights.transpose(1, 0, 2)))
    products = source.reserve("float", "products", n_models)
    constants = models, n_models, n_classes, number(exponent), products
    return source.linear("latent", x, 1 if n_classes == 2 else n_classes, *constants)


_STEPS: dict[str, Callable[..., Buffer]] = {
    "scale": _scale, "matrix": _matrix, "norm": _norm, "columns": _columns, "nothing": _nothing,
    "beside": _beside, "quadratic": _quadratic, "additive": _additive, "gaussian": _gaussian,
    "local": _local, "tree": _tree, "latent": _latent, "clip": _clip,
}  # fmt: skip
