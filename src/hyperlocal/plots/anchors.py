"""Where a fitted model's anchors are, in the rows that a user gave."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..model.inspection import split_pipeline


def anchors_of(estimator: Any) -> tuple[Any, np.ndarray]:
    """The model itself, and its anchors as it sees them; raises where they are no rows."""
    check_is_fitted(estimator)
    _, model = split_pipeline(estimator)
    anchors = getattr(model, "anchors_", None)
    if anchors is None or anchors.shape[1] != model.n_features_in_:
        raise ValueError(
            f"this {type(model).__name__} has no anchors among the rows; fit a model that has, "
            "with code_on='input'."
        )
    return model, anchors


def as_given(estimator: Any, rows: np.ndarray) -> np.ndarray:
    """Rows as a model sees them, taken back through the steps before it."""
    steps, _ = split_pipeline(estimator)
    if steps is None:
        return rows
    if not hasattr(steps, "inverse_transform"):
        raise ValueError("the pipeline's steps cannot be undone; give its last step alone.")
    return np.asarray(steps.inverse_transform(rows))
