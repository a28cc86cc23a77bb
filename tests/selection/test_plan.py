"""Tests of hyperlocal.selection.plan: from parameters to candidates."""

import pytest
import scipy.sparse as sp

from estimators.data import SEARCH as SMALL
from hyperlocal import LocallyLinearSVCCV


def test_maps_suit_the_rows(moons):
    """Dense rows get three maps by default, CSR rows the identity alone."""
    X, y = moons[:2]
    tried = LocallyLinearSVCCV(search="grid", **SMALL).fit(X, y).cv_results_["param_feature_map"]
    assert set(tried) == {None, "auto", "nystroem"}
    sparse = LocallyLinearSVCCV(search="grid", **SMALL).fit(sp.csr_array(X), y)
    assert set(sparse.cv_results_["param_feature_map"]) == {None}


def test_given_costs_are_all_there_are(moons):
    """Values of C that are given are not extended."""
    model = LocallyLinearSVCCV(6, feature_maps=(None,), Cs=(0.03, 0.3), random_state=0)
    assert set(model.fit(*moons[:2]).cv_results_["param_C"]) == {0.03, 0.3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_anchors": (0, 3)}, "n_anchors"),
        ({"n_anchors": "many"}, "n_anchors"),
        ({"Cs": ()}, "Cs must be a sequence"),
        ({"Cs": (1.0, -1.0)}, "Cs"),
        ({"feature_maps": "quadratic"}, "feature_maps must be one of"),
        ({"feature_maps": ()}, "feature_maps must be a sequence"),
        ({"cv": 1}, "cv"),
        ({"search": "random"}, "search"),
        ({"one_standard_error": 2}, "one_standard_error"),
        ({"loss": "absolute"}, "loss"),
    ],
)
def test_errors_name_the_argument(moons, arguments, message):
    """A parameter that makes no sense is refused by its name."""
    with pytest.raises((ValueError, TypeError), match=message):
        LocallyLinearSVCCV(**arguments).fit(*moons[:2])


def test_rows_of_one_each_cannot_be_cross_validated():
    """A class of one row cannot be in both parts of a fold."""
    with pytest.raises(ValueError, match="at least two distinct rows"):
        LocallyLinearSVCCV().fit([[0.0], [1.0]], [0, 1])
