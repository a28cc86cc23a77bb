"""Where a fitted model's anchors are, in the features that the user gave."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..model.inspection import split_pipeline


def input_anchors(model: Any) -> np.ndarray | None:
    """The anchors of a fitted model; None where they are not points among its input rows."""
    anchors = getattr(model, "anchors_", None)
    is_among_rows = anchors is not None and anchors.shape[1] == model.n_features_in_
    return anchors if is_among_rows else None


def model_and_anchors(estimator: Any) -> tuple[Any, np.ndarray]:
    """The last step of a pipeline and its anchors; raises where they are not among the rows."""
    check_is_fitted(estimator)
    _, model = split_pipeline(estimator)
    anchors = input_anchors(model)
    if anchors is None:
        raise ValueError(
            f"this {type(model).__name__} has no anchors among the rows; fit a model that has "
            "anchors, with code_on='input'."
        )
    return model, anchors


def undo_steps(estimator: Any, rows: np.ndarray) -> np.ndarray:
    """Rows of the last step's input, transformed back to the pipeline's input."""
    steps, _ = split_pipeline(estimator)
    if steps is None:
        return rows
    if not hasattr(steps, "inverse_transform"):
        raise ValueError(
            "the pipeline's steps have no inverse_transform; give the display its last step alone."
        )
    return np.asarray(steps.inverse_transform(rows))
