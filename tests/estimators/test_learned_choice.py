"""Tests of hyperlocal.estimators.learned_choice: settings to try, and axes to train along."""

import numpy as np
import pytest

from estimators.data import make_data
from hyperlocal.estimators.learned_choice import GateSettings, climbed
from hyperlocal.papers import LatentLocallyLinearSVC, LocalDeepSVC
from hyperlocal.runtime.threads import Workers


def test_values_are_tried_while_the_error_falls():
    """From the start up, then down; beyond a rise nothing is tried."""
    start = GateSettings(4)
    tried = climbed(start, "penalty", [1, 2, 3, 4, 5, 6, 7], lambda one: abs(one.penalty - 4.6))
    assert [one.penalty for one in tried] == [4, 5, 6, 3]


@pytest.mark.parametrize("Classifier", [LocalDeepSVC, LatentLocallyLinearSVC])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_rows_are_trained_on_along_their_principal_axes(Classifier, dtype, monkeypatch):
    """The model has weights for the features as given, and the scores of the one trained."""
    X, y = make_data(3, dtype=dtype)
    wide = (X @ np.random.default_rng(0).normal(size=(5, 80)) / 3 + 1).astype(dtype)
    original, trained = Classifier._train, []

    def train(self, data, *given):
        trained.append((data.X, *original(self, data, *given)))
        return trained[-1][1:]

    monkeypatch.setattr(Classifier, "_train", train)
    fitted = Classifier(2, C=11.0, max_iter=5, random_state=0).fit(wide, y)
    rows, inner, _ = trained[0]
    assert rows.shape == (90, 5)
    assert fitted.coef_.shape[1:] == (3, 80)
    with Workers(1) as workers:
        scores = np.sort(inner.scores(rows, workers), axis=0)  # rows are in another order
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    found = np.sort(fitted.decision_function(wide), axis=0)
    np.testing.assert_allclose(found, scores, atol=tolerance)
