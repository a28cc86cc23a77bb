"""Scores and label of one row at a time, without checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..data.rows import core_rows
from ..gates.codes import LOCALITY, RIDGE, Codes
from ..gates.gate import ConstantGate, Gate
from ..maps.base import FeatureMap
from ..maps.quadratic import QuadraticMap
from ..runtime.threads import Workers
from .lifting import LiftedRows
from .multiclass import predicted_codes

if TYPE_CHECKING:
    from .local_model import LocalModel


class Scorer:
    """A trained model as a function of one row, for use in a loop where microseconds count.

    Rows are not checked: give finite numbers, as many as the model has features, best as a
    contiguous array of the model's precision. All memory is prepared before, so a scorer must not
    be called by two threads at once; make one for each. Models whose codes are of the input and
    whose map is the identity or quadratic are compiled as a whole; others go through
    :meth:`hyperlocal.model.local_model.LocalModel.scores`.

    Parameters
    ----------
    model : LocalModel
    labels : sequence, optional
        What is returned for each class; by default its index.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = LocallyLinearSVC(random_state=0).fit(X, y)
    >>> score = fitted.model_.scorer(fitted.classes_)
    >>> scores, label = score(X[0])
    >>> scores.shape, int(label)
    ((3,), 0)
    """

    def __init__(self, model: LocalModel, labels: Sequence[Any] | np.ndarray | None = None):
        self._model = model
        n_classes = max(2, model.n_columns)
        self._labels = list(range(n_classes)) if labels is None else list(labels)
        if len(self._labels) != n_classes:
            raise ValueError(f"labels must have {n_classes} entries, not {len(self._labels)}.")
        self._scores = np.empty(model.n_columns, model.dtype)
        self._core = _compiled(model)

    def __call__(self, row: np.ndarray) -> tuple[np.ndarray, Any]:
        """The scores of a row, a new array of shape (n_columns,), and its label."""
        if self._core is None:
            return self._score_by_model(row)
        try:
            code = self._core.score(row, self._scores)
        except TypeError:
            code = self._core.score(np.ascontiguousarray(row, self._model.dtype), self._scores)
        return self._scores.copy(), self._labels[code]

    def _score_by_model(self, row: np.ndarray) -> tuple[np.ndarray, Any]:
        rows = np.ascontiguousarray(row, self._model.dtype)[None]
        scores = self._model.scores(rows, Workers(1))
        return scores[0], self._labels[int(predicted_codes(scores)[0])]


def _compiled(model: LocalModel) -> Any:
    """The compiled scorer; None for models that are not compiled as a whole."""
    gate, feature_map, dtype = model.gate, model.feature_map, model.dtype
    is_plain = type(feature_map) is FeatureMap or (
        isinstance(feature_map, QuadraticMap) and feature_map.axes is None
    )
    if not (is_plain and model.code_on.uses_input and type(gate) in (Gate, ConstantGate)):
        return None
    row = np.zeros((1, model.n_features_in), dtype)
    anchors = gate.anchors if type(gate) is Gate else row
    chosen = np.zeros((1, gate.n_neighbors), np.int32)
    weights = np.zeros((1, gate.n_neighbors), dtype)
    lifted = LiftedRows(
        feature_map.rows(row), Codes(chosen, weights, weights), model.n_anchors, model.bias.value,
        False, Workers(1), offset=model.bias.offset,
    )  # fmt: skip
    options = _core.CodingOptions(
        coding=getattr(_core.Coding, gate.coding), beta=gate.beta, ridge=RIDGE, locality=LOCALITY
    )
    half_norms = np.zeros(len(anchors), dtype)
    coder = _core.coder(core_rows(row), np.ascontiguousarray(anchors, dtype), half_norms, options)
    return _core.row_scorer(
        row, coder, lifted.core, chosen, weights, model.weights, model.normalize
    )
