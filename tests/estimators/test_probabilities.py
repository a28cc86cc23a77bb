"""Tests of hyperlocal.estimators.probabilities."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import TunedThresholdClassifierCV

from hyperlocal import LocallyLinearSVC, LocallyLinearSVCCV, SupervisedAnchorSVC
from hyperlocal.linear import SDCASVC, PegasosSVC
from hyperlocal.model.multiclass import scaled_to_one
from hyperlocal.papers import ClusteredSVC, LandmarkSVC, ProfileSVC

ESTIMATORS = [
    LocallyLinearSVC(8, loss="log", random_state=0),
    LocallyLinearSVCCV(loss="log", random_state=0, cv=2, Cs=[1.0]),
    SupervisedAnchorSVC(8, loss="log", random_state=0),
    PegasosSVC(loss="log", random_state=0),
    PegasosSVC(loss="log", multi_class="multinomial", random_state=0),
    SDCASVC(loss="log", random_state=0),
    ClusteredSVC(2, loss="log", random_state=0),
    LandmarkSVC(8, loss="log", random_state=0),
    ProfileSVC(2, loss="log", random_state=0),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_logarithms_are_those_of_the_probabilities(model, n_classes):
    """Of every estimator that has probabilities; they need the log loss both."""
    X, y = make_classification(
        120, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0
    )
    fitted = model.fit(X, y)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X))
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    other = type(model)(loss="hinge")
    assert not hasattr(other, "predict_proba")
    assert not hasattr(other, "predict_log_proba")


def test_logarithms_are_finite_where_probabilities_are_zero():
    """A score of −2,000 has a probability of zero, whose logarithm is known all the same."""
    X = np.array([[-1.0], [1.0]])
    model = SDCASVC(loss="log", C=1e3, random_state=0).fit(X, [0, 1])
    logs = model.predict_log_proba([[1e4]])
    assert model.predict_proba([[1e4]]).tolist() == [[0.0, 1.0]]
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(logs[0, 0], -model.decision_function([[1e4]])[0])


def test_shares_sum_to_one():
    """As in a softmax."""
    logs = np.array([[0.0, 1.0, 2.0]])
    softmax = LogisticRegression()  # its formula for several classes
    softmax.coef_, softmax.intercept_ = np.eye(3), np.zeros(3)
    softmax.classes_ = np.arange(3)
    np.testing.assert_allclose(np.exp(scaled_to_one(logs)), softmax.predict_proba(logs))


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_a_threshold_chosen_out_of_fold(loss):
    """scikit-learn chooses a threshold for rare positives, of scores or of probabilities."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = X[:, 0] + rng.normal(size=800) > 2
    model = LocallyLinearSVC(1, n_neighbors=1, feature_map=None, C=1.0, loss=loss, random_state=0)
    tuned = TunedThresholdClassifierCV(model, scoring="balanced_accuracy", random_state=0)
    tuned.fit(X, y)
    plain = model.fit(X, y)
    assert tuned.predict(X).mean() > 1.5 * plain.predict(X).mean()
    assert balanced_accuracy_score(y, tuned.predict(X)) > balanced_accuracy_score(
        y, plain.predict(X)
    )
