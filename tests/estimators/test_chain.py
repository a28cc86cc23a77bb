"""Tests of hyperlocal.estimators.chain: seeds, given arrays and warm starts."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from estimators.data import make_data, model, precise
from hyperlocal import LocallyLinearSVC


@pytest.mark.parametrize("options", [{}, {"solver": "sgd"}, {"feature_map": "nystroem"}], ids=str)
def test_equal_seeds_give_equal_models(options):
    """The seed decides everything; a RandomState moves on from fit to fit."""
    X, y = make_data()
    first, second = (model(**options).fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    moving = model(random_state=np.random.RandomState(0), anchors="random", **options)
    assert not np.array_equal(moving.fit(X, y).anchors_, moving.fit(X, y).anchors_)


def test_input_is_left_alone():
    """Neither rows, labels, weights nor anchors are written to."""
    X, y = make_data()
    weights, anchors = np.ones(len(y)), X[:9].copy()
    given = (X, y, weights, anchors)
    kept = [array.copy() for array in given]
    for writeable in (True, False):
        for array in given:
            array.flags.writeable = writeable
        LocallyLinearSVC(anchors=anchors).fit(X, y, sample_weight=weights).predict(X)
        for array, before in zip(given, kept, strict=True):
            np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_warm_start_goes_on(loss, multi_class):
    """Fitting the same rows again takes few epochs and ends no higher."""
    X, y = make_data(3)
    fitted = model(loss=loss, multi_class=multi_class, warm_start=True, tol=1e-4, max_iter=5000)
    fitted.fit(X, y)
    epochs, objective = fitted.n_iter_, fitted.objective_
    fitted.fit(X, y)
    assert fitted.n_iter_ < 0.5 * epochs
    assert fitted.objective_ == pytest.approx(objective, rel=1e-3)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"C": 3.0}, {"C": 0.1}),
        ({"C": 0.1}, {"C": 3.0}),
        ({"loss": "hinge", "C": 3.0}, {"C": 0.1}),
        ({"loss": "hinge"}, {"loss": "squared_hinge"}),
        ({"loss": "hinge"}, {"loss": "log"}),
        ({"loss": "log"}, {"loss": "hinge"}),
        ({"normalize": True}, {"normalize": False}),
        ({"intercept_scaling": 1.0}, {"intercept_scaling": 3.0}),
        ({"multi_class": "crammer_singer", "C": 3.0}, {"C": 0.1}),
        ({"multi_class": "crammer_singer", "loss": "hinge", "C": 3.0}, {"C": 0.1}),
        ({"multi_class": "crammer_singer", "loss": "hinge"}, {"loss": "squared_hinge"}),
        ({"multi_class": "crammer_singer"}, {"multi_class": "ovr"}),
        ({"loss": "hinge"}, {"multi_class": "crammer_singer"}),
        ({"solver": "dual"}, {"solver": "qp"}),
        ({"n_anchors": 8}, {"n_anchors": 12}),
        ({"n_neighbors": 3}, {"n_neighbors": 5}),
        ({"beta": 0.5}, {"beta": 2.0}),
        ({"coding": "soft"}, {"coding": "lle"}),
        ({"anchors": "kmeans"}, {"anchors": make_data(3)[0][:8]}),
        ({"feature_map": None}, {"feature_map": "quadratic"}),
        ({"feature_map": PCA(3, random_state=0)}, {"feature_map__n_components": 2}),
        ({"code_on": "input"}, {"code_on": [0, 1]}),
    ],
    ids=str,
)
def test_warm_starts_find_what_cold_starts_find(before, after):
    """Whatever argument changes between two fits, the second solves its own problem."""
    X, y = make_data(3)
    warm = precise(warm_start=True, **before).fit(X, y).set_params(**after).fit(X, y)
    cold = clone(warm).set_params(warm_start=False).fit(X, y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-6)
    assert warm.coef_.shape == cold.coef_.shape
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_warm_starts_take_other_labels_and_rows(multi_class):
    """New labels for the same rows, and other rows, are learned as from scratch."""
    X, y = make_data(3)
    fitted = precise(warm_start=True, multi_class=multi_class, loss="hinge").fit(X, y)
    relabelled = clone(fitted).fit(X, (y + 1) % 3).objective_
    assert fitted.fit(X, (y + 1) % 3).objective_ == pytest.approx(relabelled, rel=1e-2)
    assert fitted.fit(X[:70], y[:70]).score(X[:70], y[:70]) > 0.8
    assert fitted.fit(X[:, :4], y).local_coef(X[:2, :4]).shape == (2, 3, 4)
    np.testing.assert_array_equal(fitted.fit(X, y + 5).classes_, [5, 6, 7])


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_of_sgd_goes_on(multi_class, n_classes):
    """Stochastic gradient starts from the weights of the last fit."""
    X, y = make_data(n_classes)
    fitted = model(solver="sgd", warm_start=True, multi_class=multi_class).fit(X, y)
    _, objective_after_one_epoch, _ = fitted.history_[0]
    objective = fitted.objective_
    fitted.fit(X, y)
    assert fitted.history_[0][1] < 0.5 * (objective + objective_after_one_epoch)
    assert fitted.objective_ <= 1.01 * objective


def test_a_cold_start_forgets():
    """Without ``warm_start`` a second fit is the first fit."""
    X, y = make_data()
    fitted = model().fit(X, y)
    scores = fitted.decision_function(X)
    fitted.set_params(C=100.0).fit(X, y)
    np.testing.assert_array_equal(fitted.set_params(C=3.0).fit(X, y).decision_function(X), scores)
