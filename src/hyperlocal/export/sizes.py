"""The size of a fitted model: how many numbers it needs in order to predict."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from ..datasets import is_sparse
from ..model.local_model import LocalModel

__all__ = ["count_numbers"]


def count_numbers(model: Any) -> int | None:
    """Count the numbers a fitted model needs in order to predict.

    Local models: anchors, weights, intercepts and the arrays of the feature map. Trees of gates:
    routes, gates and weights. Linear SVMs: weights and intercepts. Kernel SVMs: support vectors,
    their coefficients and intercepts. Anything else: the elements of all arrays that its pickle
    would hold (a record of ``k`` fields, such as a node of a boosted tree, counts ``k``).

    Parameters
    ----------
    model : estimator
        A fitted model.

    Returns
    -------
    int or None
        None if the model cannot be looked into.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import LinearSVC
    >>> from hyperlocal.export import count_numbers
    >>> count_numbers(LinearSVC().fit(*load_iris(return_X_y=True)))  # 3 classes × (4 + 1)
    15
    """
    model = getattr(model, "regressor_", model)  # of a TransformedTargetRegressor
    fitted = getattr(model, "model_", None)
    if isinstance(fitted, LocalModel):
        before = _count_reachable([fitted.gate, fitted.code_on, fitted.feature_map])
        return None if before is None else before + _count_attributes(fitted, "coef", "intercept")
    if fitted is not None and hasattr(fitted, "plain"):
        parts = fitted.plain().parts.values()
        return sum(_count_stored(part) for part in parts if isinstance(part, np.ndarray))
    if hasattr(model, "support_vectors_"):
        return _count_attributes(model, "support_vectors_", "dual_coef_", "intercept_")
    if hasattr(model, "coef_") and hasattr(model, "intercept_"):
        return _count_attributes(model, "coef_", "intercept_")
    return _count_reachable(model)


def _count_attributes(model: Any, *names: str) -> int:
    return sum(_count_stored(getattr(model, name)) for name in names)


def _count_stored(values: Any) -> int:
    if is_sparse(values):
        rows = values.tocsr()
        return int(rows.data.size + rows.indices.size + rows.indptr.size)
    array = np.asarray(values)
    n_fields = len(array.dtype.names) if array.dtype.names else 1
    return int(array.size * n_fields)


class _ArrayCounter(pickle.Pickler):
    """Walk through an object as pickling would, and count arrays instead of writing them."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), protocol=pickle.HIGHEST_PROTOCOL)
        self.n_numbers = 0
        self._seen: dict[int, Any] = {}  # holds the objects, so that no id is used twice

    def persistent_id(self, obj: Any) -> str | None:
        # An id other than None keeps the pickler from going into the object.
        if isinstance(obj, np.random.RandomState | np.random.Generator | np.random.BitGenerator):
            return "random state: no part of the model"
        if not isinstance(obj, np.ndarray) or obj.dtype.hasobject:
            return None
        if id(obj) not in self._seen:
            self._seen[id(obj)] = obj
            self.n_numbers += _count_stored(obj)
        return "array"


def _count_reachable(model: Any) -> int | None:
    counter = _ArrayCounter()
    try:
        counter.dump(model)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return counter.n_numbers
