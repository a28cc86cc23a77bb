"""Tests of hyperlocal.dask.classifier."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from hyperlocal.dask import DaskLocallyLinearSVC


def test_scores_and_accuracy_are_those_of_the_local_model(client):
    """Methods of classifiers go to the fitted model; probabilities need their loss."""
    X, y = make_moons(200, noise=0.1, random_state=0)
    model = DaskLocallyLinearSVC(client, random_state=0).fit(X, y)
    local = model.to_local()
    np.testing.assert_array_equal(model.decision_function(X), local.decision_function(X))
    assert model.score(X, y) == local.score(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)
