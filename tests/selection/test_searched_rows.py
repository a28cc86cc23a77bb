"""Tests of hyperlocal.selection.searched_rows: how a search stores the rows of its folds."""

import numpy as np
import pytest

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


def test_coordinates_of_very_many_rows_are_not_stored(monkeypatch):
    """They would take a thousand numbers for each row."""
    module = "hyperlocal.selection.searched_rows"
    monkeypatch.setattr(f"{module}.MOST_ROWS", 10)
    monkeypatch.setattr(f"{module}.is_wide", lambda *_: True)
    monkeypatch.setattr(f"{module}.coordinates", lambda *_: pytest.fail("stored"))
    X, y = make_data(3)
    model = LocallyLinearSVCCV((1,), feature_maps=("quadratic",), Cs=(1.0,), relevance=None)
    assert model.fit(X, y).best_score_ > 0
