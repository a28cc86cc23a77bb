"""Tests of hyperlocal.estimators.sdca: SDCASVC."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from estimators.data import every_coupling, make_data
from hyperlocal.linear import SDCASVC, KernelPegasosSVC, PegasosSVC
from hyperlocal.model.inspection import support_fraction_bound

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sdca_solves_the_problem_of_linear_svc(loss, n_classes):
    """The gap goes to zero, and the solution is LIBLINEAR's."""
    X, y = make_data(n_classes)
    options = {"tol": 1e-9, "max_iter": 200_000, "random_state": 0}
    found = SDCASVC(loss=loss, **options).fit(X, y)
    best = LinearSVC(loss=loss, dual=True, **options).fit(X, y)
    assert found.duality_gap_ <= 1e-9 * found.objective_
    assert found.dual_objective_ <= found.objective_
    np.testing.assert_allclose(found.coef_, best.coef_, atol=1e-3)
    np.testing.assert_allclose(found.intercept_, best.intercept_, atol=1e-3)


@every_coupling
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_representer_form(multi_class, n_classes, loss):
    """Weights are sums of the given rows, times dual coefficients; also of equal, weighted rows."""
    X, y = make_data(n_classes)
    X, y = np.vstack([X, X[:20]]), np.concatenate([y, y[:20]])
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = SDCASVC(loss=loss, multi_class=multi_class, random_state=0).fit(X, y, weights)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-9)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), model.intercept_, atol=1e-9)
    assert model.n_samples_fit_ == len(y)
    assert (weights[model.support_] > 0).all()
    if loss == "hinge" and n_classes == 2:
        labels = np.where(y[model.support_] == 1, 1, -1)
        alpha = model.dual_coef_[0] * labels / (2 if multi_class == "crammer_singer" else 1)
        assert (alpha >= 0).all()
        assert (alpha <= weights[model.support_] + 1e-9).all()


def test_sdca_explains_itself():
    """A linear model is its own explanation; there is no partial_fit."""
    X, y = make_data()
    model = SDCASVC(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_)
    np.testing.assert_allclose(model.local_coef(X)[7], model.coef_)
    assert model.explain(X[7]).scores[0] == pytest.approx(model.decision_function(X[7:8])[0])
    assert not hasattr(model, "partial_fit")
    assert hasattr(SDCASVC(loss="log"), "predict_proba")
    assert not hasattr(model, "predict_proba")


def test_sdca_warm_start():
    """A second fit goes on from the dual variables of the first."""
    X, y = make_data()
    model = SDCASVC(warm_start=True, tol=1e-6, max_iter=10_000, random_state=0).fit(X, y)
    assert model.fit(X, y).n_iter_ < 3


def test_the_support_bound():
    """The share of support vectors, as the model has it or found by margins, bounds the error."""
    X, y = make_data(n_rows=300)
    model = SDCASVC(tol=1e-6, max_iter=100_000, random_state=0).fit(X, y)
    bound = support_fraction_bound(model)
    assert bound == len(model.support_) / 300
    assert support_fraction_bound(model, X, y) == pytest.approx(bound, abs=0.02)
    left_out = np.mean([
        LinearSVC(loss="hinge", C=1, max_iter=100_000).fit(np.delete(X, i, 0), np.delete(y, i))
        .predict(X[i : i + 1])[0] != y[i] for i in range(0, 300, 10)
    ])  # fmt: skip
    assert left_out <= bound
    svc = SVC(kernel="linear").fit(X, y)
    assert support_fraction_bound(svc) == pytest.approx(bound, abs=0.05)
    kernel = KernelPegasosSVC(random_state=0).fit(X, y)
    assert 0 < support_fraction_bound(kernel) <= 1
    labels = np.array(["a", "b", "c"])[make_data(3)[1]]
    joint = PegasosSVC(random_state=0).fit(make_data(3)[0], labels)
    assert 0 < support_fraction_bound(joint, make_data(3)[0], labels) <= 1
    with pytest.raises(TypeError, match="support vectors"):
        support_fraction_bound(joint)
    with pytest.raises(ValueError, match="both X and y"):
        support_fraction_bound(joint, X)
