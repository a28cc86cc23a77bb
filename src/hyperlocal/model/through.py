"""``hyperlocal.explain``: any model of the library, scikit-learn's SVMs, and pipelines of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeGuard

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..data.checks import check_rows
from ..maps.backwards import can_go_back, transform
from ..runtime.threads import Workers, row_blocks
from .background import Background
from .boundary import way_shares
from .columns import by_column, cells_of, keeps_columns
from .contributions import Contributions, Paths, as_dense, joined, model_paths
from .explaining import ExplainedRows, Places, as_rows, input_names, local_places
from .explanation import BoundaryPoint, Explanation, LocalRows
from .explanations import Explanations
from .foreign import foreign_background, foreign_model, is_known
from .inverses import inverse

ROWS_PER_BLOCK = 512


class ExplainedEstimator(Protocol):
    """An estimator of this library that explains its predictions."""

    n_features_in_: int

    def paths(self, X: Any, background: Any = None) -> Paths:
        """The ways from references to rows."""

    def explain(self, X: Any, background: Any = None) -> Explanation | Explanations:
        """Explanations of rows."""

    def local_rows(self, X: Any) -> Iterator[LocalRows]:
        """The linear model at each row."""


def is_explained(estimator: Any) -> TypeGuard[ExplainedEstimator]:
    """Whether it is one, by the names of its methods."""
    return all(hasattr(estimator, name) for name in ("paths", "explain", "local_rows"))


def explain(model: Any, X: Any, background: Any = None) -> Explanation | Explanations:
    """Explain predictions exactly: what each feature of the input adds to the scores.

    Steps of a pipeline are undone: scalers, PCA, learned metrics and other steps with known
    formulas. Of encoded tables (``TableEncoder``, ``OneHotEncoder``, ``ColumnTransformer``), the
    contributions of all numbers that one column became are summed. Where a step has no known
    formula, as for vectorizers of text, features are what it returns.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        Of this library, or scikit-learn's ``SVC``, ``NuSVC``, ``SVR``, ``NuSVR``, ``OneClassSVM``
        and linear models (``LinearSVC``, ``LinearSVR``, ``LogisticRegression``, ``SGDClassifier``,
        ``SGDOneClassSVM``, ``Ridge``, …); also a search of these.
    X : rows as the model takes them
        An array, CSR, a DataFrame or one of its rows, a list of texts.
    background : rows as the model takes them, default=None
        The rows that contributions are relative to. By default, those kept by models of this
        library; for scikit-learn's, some made from the support vectors, or, for linear models, what
        the steps before turn into zeros.

    Returns
    -------
    Explanation, or Explanations for several rows
        Of one row, or of several.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from hyperlocal import explain
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    >>> explanation = explain(model, X.iloc[60])
    >>> explanation.feature_names[2], explanation.values[2].item()
    ('petal length (cm)', 3.5)
    """
    steps, last = fitted_parts(model)
    check_is_fitted(last)
    if not steps and is_explained(last):
        return last.explain(X, background)
    if not is_explained(last) and not is_known(last):
        raise TypeError(
            f"{type(last).__name__} cannot be explained exactly; models of this library, SVMs of "
            f"scikit-learn and linear models can.{_advice(last)}"
        )
    X, index = _rows_of(X)
    chain = _Chain(steps, last)
    begins = list(row_blocks(_n_rows(X), ROWS_PER_BLOCK))
    given = None if background is None else _rows_of(background)[0]
    found = joined([chain.contributions(_take(X, *block), given) for block in begins])
    rows = ExplainedRows(
        found,
        chain.classes,
        chain.names,
        places=None if chain.classes is None else partial(chain.places, X),
        predicted=chain.predicted(model, X),
    )
    return rows[0] if len(rows) == 1 else Explanations(rows, index)


def _advice(model: Any) -> str:
    """How to explain the parts of an ensemble; nothing where there are none."""
    for name in ("estimator_", "estimators_[0]", "calibrated_classifiers_[0].estimator"):
        if hasattr(model, name.split("[")[0]):
            return f" Explain its parts: explain(model.{name}, X)."
    return ""


def fitted_parts(estimator: Any) -> tuple[list[Any], Any]:
    """The transformers that rows pass, and the model, of pipelines and searches.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> from hyperlocal.model.through import fitted_parts
    >>> fitted_parts(make_pipeline("passthrough", StandardScaler(), LinearSVC()))
    ([StandardScaler()], LinearSVC())
    """
    steps: list[Any] = []
    while True:
        if hasattr(estimator, "best_estimator_") and hasattr(estimator, "cv_results_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            for _, step in estimator.steps[:-1]:
                steps += _flat(step)
            estimator = estimator.steps[-1][1]
        else:
            return steps, estimator


def _flat(step: Any) -> list[Any]:
    if step is None or isinstance(step, str):
        return []
    if isinstance(step, Pipeline):
        return [one for _, part in step.steps for one in _flat(part)]
    return [step]


def affine_parts(
    function: Callable[[np.ndarray], np.ndarray], rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """``A`` and ``a`` with ``function(x) = x @ A + a``; None where it is not so at these rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.through import affine_parts
    >>> affine_parts(lambda x: 2 * x + 1, np.array([[3.0]]))
    (array([[2.]]), array([1.]))
    """
    width = rows.shape[1]
    # Steps of the size of the features: in other units they would be lost in rounding.
    origin, steps = rows.mean(axis=0), np.ptp(rows, axis=0)
    steps[steps == 0] = 1.0
    values = function(np.vstack([origin[None], origin + np.diag(steps), rows]))
    matrix = (values[1 : 1 + width] - values[0]) / steps[:, None]
    shift = values[0] - origin @ matrix
    size = np.abs(values).max(initial=1e-9)
    is_affine = np.allclose(values[1 + width :], rows @ matrix + shift, rtol=0, atol=1e-6 * size)
    return (matrix, shift) if is_affine else None


def transformed_rows(steps: list[Any], X: Any) -> Any:
    """Rows after transformers."""
    for step in steps:
        X = transform(step, X)
    return X


def input_paths(model: Any, X: Any, background: Any = None) -> Paths | None:
    """The ways in the features of ``X``, of anything that :func:`explain` takes; None for none."""
    paths, level = _Chain(*fitted_parts(model)).paths(X, background)
    return paths if level == 0 and paths.names is None else None


def background_before(steps: list[Any], kept: Background) -> Background | None:
    """References as rows before the steps; None where a step cannot be undone."""
    if not steps:
        return kept
    levels = _Chain(steps, None).starts(kept.rows)
    return None if levels is None or levels[0] is None else Background(levels[0], kept.weights)


class _Chain:
    """Transformers and the model after them."""

    def __init__(self, steps: list[Any], last: Any):
        self.steps, self.last = steps, last
        self.names = np.empty(0, dtype=object)

    @property
    def classes(self) -> np.ndarray | None:
        """The model's classes; None where it predicts numbers."""
        if is_outlier_detector(self.last):
            return np.array([-1, 1])
        return None if is_regressor(self.last) else getattr(self.last, "classes_", None)

    def forward(self, X: Any) -> list[Any]:
        """The rows before each step, and those that the model takes."""
        levels = [X]
        for step in self.steps:
            levels.append(transform(step, levels[-1]))
        return levels

    def predicted(self, model: Any, X: Any) -> np.ndarray | None:
        """Predicted classes as indices."""
        if self.classes is None:
            return None
        return np.searchsorted(self.classes, model.predict(X))

    def contributions(self, X: Any, given: Any) -> Contributions:
        """Contributions of the input's columns, as far as steps can be undone."""
        paths, level = self.paths(X, given)
        if paths.names is not None:
            return self._named(paths.contributions(), paths.names)
        return self._of_columns(paths, level, X, given)

    def paths(self, X: Any, given: Any) -> tuple[Paths, int]:
        """The ways before the first step that is undone, and its number."""
        levels, level = self.forward(X), len(self.steps)
        begins = None if given is None else [_each(rows) for rows in self.forward(given)]
        paths = self._paths(levels[-1], None if given is None else self.forward(given)[-1])
        if paths.names is not None:
            return paths, level
        if begins is None and self.steps:
            begins = self._begins(paths)
            if begins is not None and not paths.are_own:  # exact also where steps lose something
                paths = self._paths(levels[-1], np.concatenate(begins[-1]))
        while level and begins is not None and can_go_back(self.steps[level - 1]):
            if begins[level - 1] is None:
                break
            level -= 1
            starts = [as_dense(rows) for rows in begins[level]]
            paths = paths.before(self.steps[level], levels[level], starts)
        return paths, level

    def _begins(self, paths: Paths) -> list[Any] | None:
        """The references before each step; those of single rows if steps lose nothing of them."""
        starts = np.concatenate(paths.starts)
        levels = self.starts(starts)
        if levels is None or (paths.are_own and not np.allclose(as_dense(levels[-1]), starts)):
            return None
        n_rows = len(paths.starts[0]) if paths.are_own else 1
        return [None if rows is None else _each(as_dense(rows), n_rows) for rows in levels]

    def places(self, X: Any) -> Places:
        """Active local models of rows, and where predictions change, in the input's units."""
        levels, classes = self.forward(X), self.classes
        assert classes is not None
        if is_explained(self.last):
            inner = self.last.explain(levels[-1])
            several = [inner] if isinstance(inner, Explanation) else list(inner)
            active = [(e.anchors, e.anchor_weights, e.anchor_contributions) for e in several]
            points = [e.boundary for e in several]
        else:
            active, points = local_places(foreign_model(self.last), as_dense(levels[-1]), classes)
        if not all(can_go_back(step) for step in self.steps):
            return active, [None] * len(points)
        rows = as_dense(X)
        return active, [self._in_input(*pair) for pair in zip(points, rows, strict=True)]

    def _in_input(self, point: BoundaryPoint | None, row: np.ndarray) -> BoundaryPoint | None:
        """A point on the other side as a row of the input."""
        if point is None:
            return None
        rows: list[Any] = [point.row[None]]
        for step in reversed(self.steps):
            rows.insert(0, None if rows[0] is None else inverse(step, rows[0]))
        if rows[0] is None:
            return None
        changes = rows[0][0] - row
        distance = float(np.linalg.norm(changes))
        share = distance / point.distance if point.distance else 1.0
        # Changes are compared after scalers, while they are of single features.
        scaled, own = row[None], 0
        while own < len(self.steps) and keeps_columns(self.steps[own], scaled.shape[1]):
            scaled, own = as_dense(transform(self.steps[own], scaled)), own + 1
        shares = point.shares if own == len(self.steps) else way_shares((rows[own] - scaled)[0])
        return replace(
            point, row=rows[0][0], changes=changes, distance=distance,
            linear_distance=share * point.linear_distance, shares=shares,
        )  # fmt: skip

    def _paths(self, Z: Any, Z0: Any) -> Paths:
        """The ways in what the model takes."""
        if is_explained(self.last):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                return self.last.paths(Z, Z0)
        own = foreign_background(self.last) if Z0 is None else Background.of(self._checked(Z0))
        with Workers(None) as workers:
            return model_paths(foreign_model(self.last), self._checked(Z), own, workers)

    def _checked(self, Z: Any) -> np.ndarray:
        """Rows for a model of scikit-learn, dense and in double precision."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return check_rows(self.last, as_dense(Z), reset=False)

    def starts(self, starts: np.ndarray) -> list[Any] | None:
        """References before each step, from those of the model; None before the first unknown."""
        first, rows = len(self.steps), starts
        while first and can_go_back(self.steps[first - 1]):
            before = inverse(self.steps[first - 1], rows)
            if before is None:
                break
            first, rows = first - 1, before
        if first == len(self.steps):
            return None
        levels: list[Any] = [None] * first + [rows]
        for step in self.steps[first:]:
            levels.append(transform(step, levels[-1]))
        return levels

    def _named(self, found: Contributions, names: Any) -> Contributions:
        self.names = np.asarray(names, dtype=object)
        return found

    def _of_columns(self, paths: Paths, level: int, X: Any, given: Any) -> Contributions:
        """Named by the input, or by what the steps before make of it; dummies are summed."""
        if level == 0:
            names = getattr(X, "columns", None)
            estimator = (self.steps or [self.last])[0]
            named = input_names(estimator) if names is None else list(names)
            return self._named(paths.contributions(), named)
        paths, groups = by_column(self.steps[:level], paths, X, given)
        found = paths.contributions()
        if groups is not None:
            members, labels, sources = groups
            seen = np.empty((len(found.seen), len(labels)), dtype=object)
            for place, source in enumerate(sources):
                own = found.seen[:, np.argmax(members == place)]
                seen[:, place] = own if source < 0 else cells_of(X, [source], object)[:, 0]
            return self._named(found.grouped(members, len(labels), seen), labels)
        names = None
        with suppress(AttributeError, ValueError, NotImplementedError):
            names = self._names_after(level)
        if names is None:
            names = [f"x{i}" for i in range(found.seen.shape[1])]
        return self._named(found, names)

    def _names_after(self, level: int) -> np.ndarray:
        names = None
        for step in self.steps[:level]:
            names = step.get_feature_names_out(names)
        return np.asarray(names, dtype=object)


def _each(rows: Any, size: int = 1) -> list[Any]:
    """Rows one by one, or so many at a time."""
    return [rows[i : i + size] for i in range(0, _n_rows(rows), size)]


def _rows_of(X: Any) -> tuple[Any, Any]:
    """Rows of what may be one row, or texts, and their index."""
    if isinstance(X, str):
        return [X], None
    if not sp.issparse(X) and np.ndim(X) == 1 and all(isinstance(one, str) for one in X):
        return list(X), getattr(X, "index", None) if not isinstance(X, list) else None
    rows, index = as_rows(X)
    if not hasattr(rows, "shape"):
        rows = np.array(rows, dtype=object)  # numbers stay numbers beside text
    if len(rows.shape) != 2:
        raise ValueError(f"expected rows of features, got {type(X).__name__}: {X!r:.60}.")
    return rows, index


def _n_rows(X: Any) -> int:
    return len(X) if isinstance(X, list) else X.shape[0]


def _take(X: Any, begin: int, end: int) -> Any:
    return X.iloc[begin:end] if hasattr(X, "iloc") else X[begin:end]
