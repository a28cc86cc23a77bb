"""Tests of hyperlocal.plots.anchors."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from estimators.data import make_data
from hyperlocal.plots.anchors import input_anchors, model_and_anchors, undo_steps
from plots.fitted import local


def test_anchors_of_the_last_step():
    """They are those of the model, in the units of its own input."""
    X, y = make_data()
    pipeline = make_pipeline(StandardScaler(), local()).fit(X, y)
    model, anchors = model_and_anchors(pipeline)
    assert model is pipeline[-1]
    np.testing.assert_array_equal(anchors, model.anchors_)
    back = undo_steps(pipeline, anchors)
    np.testing.assert_allclose(pipeline[0].transform(back), anchors)


def test_anchors_that_are_not_among_the_rows():
    """Anchors on some of the columns cannot be shown as rows."""
    X, y = make_data()
    model = local(code_on=[0, 1]).fit(X, y)
    assert input_anchors(model) is None
    with pytest.raises(ValueError, match="no anchors among the rows"):
        model_and_anchors(model)


def test_what_is_missing_is_named():
    """A model must be fitted, and steps must have an inverse."""
    X, y = make_data()
    with pytest.raises(NotFittedError):
        model_and_anchors(local())
    pipeline = make_pipeline(Normalizer(), local()).fit(X, y)
    with pytest.raises(ValueError, match="have no inverse_transform"):
        undo_steps(pipeline, X)
