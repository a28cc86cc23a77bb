"""Tests of hyperlocal.selection.searched_rows: how a search stores the rows of its folds."""

import numpy as np

from estimators.data import make_data
from hyperlocal import LocallyLinearSVCCV


def test_wide_rows_are_searched_in_coordinates(monkeypatch):
    """Scores of held-out rows are those of the lifted rows, nearly."""
    X, y = make_data(3)
    found = []
    for wide in (True, False):
        monkeypatch.setattr(
            "hyperlocal.selection.searched_rows.is_wide", lambda *_, wide=wide: wide
        )
        model = LocallyLinearSVCCV((1, 6), feature_maps=("quadratic",), Cs=(1.0,), n_neighbors=3)
        found.append(model.set_params(random_state=0, relevance=None).fit(X, y).cv_results_)
    np.testing.assert_allclose(
        found[0]["mean_test_score"], found[1]["mean_test_score"], atol=2.5 / len(y)
    )
