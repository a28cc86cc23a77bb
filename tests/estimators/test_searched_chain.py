"""Tests of hyperlocal.estimators.searched_chain: what the searches of both tasks share."""

import numpy as np
import pytest

from hyperlocal import LocallyLinearSVC, LocallyLinearSVCCV, LocallyLinearSVR, LocallyLinearSVRCV

PAIRS = {LocallyLinearSVCCV: LocallyLinearSVC, LocallyLinearSVRCV: LocallyLinearSVR}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (300, 3))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("search", PAIRS)
def test_levels_are_candidates(rows, search):
    """An element of n_anchors may be levels, by name or by their numbers."""
    found = search(n_anchors=(1, "levels", (2, 30)), Cs=(1.0,), random_state=0).fit(*rows)
    assert set(found.cv_results_["param_n_anchors"]) == {1, (1, 8, 37), (2, 30)}


@pytest.mark.parametrize("search", PAIRS)
def test_the_final_model_is_one_of_the_chosen_setting(rows, search):
    """``best_estimator_`` is the plain estimator, and predicts as the search does."""
    found = search(random_state=0).fit(*rows)
    assert type(found.best_estimator_) is PAIRS[search]
    assert found.best_estimator_.get_params().items() >= found.best_params_.items()
    np.testing.assert_array_equal(found.predict(rows[0]), found.best_estimator_.predict(rows[0]))


@pytest.mark.parametrize("search", PAIRS)
@pytest.mark.parametrize("levels", ["fine", (0, 3), []])
def test_bad_levels_are_refused(rows, search, levels):
    """The error names the argument."""
    with pytest.raises(ValueError, match="n_anchors"):
        search(n_anchors=(1, levels)).fit(*rows)


@pytest.mark.parametrize("search", [LocallyLinearSVCCV, LocallyLinearSVRCV])
def test_what_the_default_chooses_is_a_candidate(search):
    """Left to itself, a search also evaluates the chain of the plain estimator."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, size=(400, 3))
    steps = np.floor(X[:, 0]) % 2 + np.floor(X[:, 1]) % 2
    y = steps if search is LocallyLinearSVRCV else steps > 0.5
    model = search(cv=3, random_state=0).fit(X, y)
    chosen = [one for one in model.cv_results_["params"] if "intercept_scaling" in one]
    assert len({one["C"] for one in chosen}) == 3
    plain = PAIRS[search](**model.best_params_, random_state=0).fit(X, y)
    assert plain.score(X, y) == pytest.approx(model.score(X, y), abs=0.02)
    given = search(cv=3, Cs=(1.0,), random_state=0).fit(X, y)
    assert not any("intercept_scaling" in one for one in given.cv_results_["params"])


def test_the_default_is_tried_with_the_given_neighbors(rows):
    """One number of neighbors is that of all candidates; of several, the default is not one."""
    X, y = rows
    for numbers, n_expected in ((3, {3}), ((3, 5), set())):
        model = LocallyLinearSVCCV(n_neighbors=numbers, cv=2, random_state=0).fit(X, y)
        chosen = [one for one in model.cv_results_["params"] if "intercept_scaling" in one]
        found = {one["n_neighbors"] for one in chosen if one["n_anchors"] != 1}
        assert found <= n_expected
        assert bool(chosen) == bool(n_expected)
