"""Tests of hyperlocal.model.foreign: scikit-learn's models as sums of kernel values."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDOneClassSVM
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM

from estimators.data import make_data
from hyperlocal.model.foreign import foreign_background, foreign_model, is_known
from hyperlocal.runtime.threads import Workers

BINARY = [
    SVC(), SVC(kernel="poly", gamma="auto"), SVC(kernel="linear"), SVC(kernel="sigmoid", gamma=0.1),
    NuSVC(), LinearSVC(), LogisticRegression(), OneClassSVM(gamma=0.3),
    SGDClassifier(random_state=0), SGDOneClassSVM(random_state=0),
]  # fmt: skip


@pytest.mark.parametrize("model", BINARY, ids=str)
def test_scores_of_two_classes_are_decisions(model):
    """The sum is the decision function."""
    X, y = make_data()
    model.fit(X, y)
    with Workers(1) as workers:
        scores = foreign_model(model).scores(X, workers)
    np.testing.assert_allclose(scores[:, 0], model.decision_function(X), atol=1e-9)


def test_scores_of_several_classes_are_sums_of_pairs():
    """Each class's decision values against the others, summed."""
    X, y = make_data(4)
    model = SVC(decision_function_shape="ovo").fit(X, y)
    pairs = model.decision_function(X)
    expected, pair = np.zeros((len(X), 4)), 0
    for i in range(4):
        for j in range(i + 1, 4):
            expected[:, i] += pairs[:, pair]
            expected[:, j] -= pairs[:, pair]
            pair += 1
    with Workers(1) as workers:
        np.testing.assert_allclose(foreign_model(model).scores(X, workers), expected, atol=1e-9)


SCALED = TransformedTargetRegressor(SVR(), transformer=StandardScaler())


@pytest.mark.parametrize("model", [SVR(), Ridge(), SCALED], ids=str)
def test_regressors(model):
    """The sum is the prediction."""
    X, _ = make_data()
    model.fit(X, 3 * X[:, 0] + X[:, 1] ** 2)
    with Workers(1) as workers:
        scores = foreign_model(model).scores(X, workers)
    np.testing.assert_allclose(scores[:, 0], model.predict(X), atol=1e-9)
    assert foreign_background(model).rows.shape[1] == 5


def test_precomputed_kernels_are_refused():
    """They do not know the features."""
    X, y = make_data()
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    assert is_known(model)
    with pytest.raises(ValueError, match="precomputed"):
        foreign_model(model)


def test_kernels_that_are_functions_are_refused():
    """scikit-learn keeps none of the rows that such a kernel would be computed with."""
    X, y = make_data()
    model = SVC(kernel=lambda A, B: A @ B.T).fit(X, y)
    with pytest.raises(ValueError, match="KernelPegasosSVC"):
        foreign_model(model)
