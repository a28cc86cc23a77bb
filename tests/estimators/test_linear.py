"""Tests of PegasosSVC, PegasosRegressor, SDCASVC and KernelPegasosSVC: what they promise."""

import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC, LinearSVR

from estimators.data import Recorder, interrupt, make_data
from hyperlocal.export.sizes import count_numbers
from hyperlocal.linear import SDCASVC, KernelPegasosSVC, PegasosRegressor, PegasosSVC
from hyperlocal.model.inspection import support_fraction_bound

CLASSIFIERS = [
    SDCASVC(),
    SDCASVC(multi_class="crammer_singer", loss="squared_hinge"),
    PegasosSVC(),
    PegasosSVC(loss="log", multi_class="multinomial", batch_size=4, project=True),
    PegasosSVC(multi_class="crammer_singer", average=False, sampling="replacement"),
    KernelPegasosSVC(),
    KernelPegasosSVC(kernel="poly", degree=2, sampling="fixed_permutation"),
]
every_model = pytest.mark.parametrize(
    "model", CLASSIFIERS, ids=lambda m: f"{type(m).__name__}-{len(str(m))}"
)
every_coupling = pytest.mark.parametrize(
    ("multi_class", "loss"),
    [*product(["ovr", "crammer_singer"], ["hinge", "squared_hinge"]), ("ovr", "log")],
)
every_pegasos = pytest.mark.parametrize("Model", [PegasosSVC, PegasosRegressor])


def fresh(model, **options):
    return clone(model).set_params(random_state=0, **options)


@pytest.fixture(autouse=True)
def may_stop_early():
    """Pegasos on 90 rows may stop at max_iter; the tests that care look for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


# What all promise ---------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dense_and_sparse_rows_agree(model, n_classes, dtype):
    """Dense and CSR rows, read as they are, give the same scores in the rows' dtype."""
    X, y = make_data(n_classes, dtype=dtype)
    dense, sparse = fresh(model).fit(X, y), fresh(model).fit(sp.csr_array(X), y)
    scores = dense.decision_function(X)
    assert scores.dtype == dtype
    assert scores.shape == ((90,) if n_classes == 2 else (90, 3))
    assert dense.score(X, y) > 0.75
    close = 0.1 if dtype == "float32" else 1e-6  # a rounding may turn a violation
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), scores, atol=close)


@every_model
def test_threads_change_nothing(model):
    """The result is the same to the last bit for any number of threads."""
    X, y = make_data(3)
    one, two = (fresh(model, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@every_model
def test_weights_are_repetitions(model):
    """A row of weight two is the row twice; one of weight zero is not there."""
    X, y = make_data(3)
    weights = np.arange(90) % 3
    weighted = fresh(model).fit(X, y, sample_weight=weights)
    repeated = fresh(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-9
    )


@every_model
def test_pickles_frames_and_refits(model):
    """A pickled model predicts the same, column names are kept, a second fit forgets the first."""
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = fresh(model).fit(frame, np.array(["no", "yes"])[y])
    assert fitted.feature_names_in_.tolist() == list("abcde")
    loaded = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(loaded.predict(frame), fitted.predict(frame))
    assert set(fitted.predict(frame)) == {"no", "yes"}
    again = fitted.fit(X, y)
    np.testing.assert_array_equal(
        again.decision_function(X), fresh(model).fit(X, y).decision_function(X)
    )
    assert count_numbers(fitted) > 0


@every_model
def test_one_row_per_class(model):
    """One row per class is enough to tell them apart."""
    X, y = np.array([[3.0, 0], [0, 3], [-3, -3]]), np.array([0, 1, 2])
    assert fresh(model).fit(X, y).score(X, y) == 1


@every_model
def test_class_weights(model):
    """A heavier class wins more rows."""
    X, y = make_data()
    y[::5] = 1 - y[::5]
    shares = [fresh(model, class_weight={1: w}).fit(X, y).predict(X).mean() for w in (0.1, 10)]
    assert shares[0] < shares[1]
    fresh(model, class_weight="balanced").fit(X, y)


@every_model
def test_callbacks_and_lines(model, capsys):
    """Every epoch is reported, and a callback or Ctrl-C may end the fit."""
    X, y = make_data()
    fresh(model, verbose=2, max_iter=3).fit(X, y)
    assert f"[{type(model).__name__}] epoch 1" in capsys.readouterr().err
    if not hasattr(model, "set_callbacks"):
        return
    fitted = fresh(model).set_callbacks(Recorder(act_at=2)).fit(X, y)
    assert fitted.n_iter_ == 2
    with pytest.raises(KeyboardInterrupt):
        fresh(model).set_callbacks(Recorder(act_at=1, act=interrupt)).fit(X, y)


@pytest.mark.parametrize(
    ("model", "name", "value", "error"),
    [
        (SDCASVC(), "C", 0, ValueError),
        (SDCASVC(), "loss", "log2", ValueError),
        (SDCASVC(), "multi_class", "multinomial", ValueError),
        (PegasosSVC(), "C", 0, ValueError),
        (PegasosSVC(), "C", -1.0, ValueError),
        (PegasosSVC(), "C", np.nan, ValueError),
        (PegasosSVC(), "C", "some", TypeError),
        (PegasosSVC(), "C", None, TypeError),
        (PegasosSVC(), "batch_size", 0, ValueError),
        (PegasosSVC(), "batch_size", 1.5, TypeError),
        (PegasosSVC(), "sampling", "shuffle", ValueError),
        (PegasosSVC(), "project", 1, TypeError),
        (PegasosSVC(), "average", "yes", TypeError),
        (PegasosSVC(), "loss", "epsilon_insensitive", ValueError),
        (PegasosSVC(), "multi_class", "ovo", ValueError),
        (PegasosSVC(), "multi_class", "multinomial", ValueError),
        (PegasosSVC(loss="log"), "multi_class", "crammer_singer", ValueError),
        (PegasosSVC(), "tol", -1, ValueError),
        (PegasosSVC(), "max_iter", 0, ValueError),
        (PegasosSVC(), "intercept_scaling", -1, ValueError),
        (PegasosSVC(), "n_jobs", 0, ValueError),
        (PegasosSVC(), "verbose", -1, ValueError),
        (PegasosRegressor(), "C", 0, ValueError),
        (PegasosRegressor(), "epsilon", -0.1, ValueError),
        (KernelPegasosSVC(), "C", 0, ValueError),
        (KernelPegasosSVC(), "kernel", "sigmoid", ValueError),
        (KernelPegasosSVC(), "kernel", 3, ValueError),
        (KernelPegasosSVC(), "gamma", 0, ValueError),
        (KernelPegasosSVC(), "gamma", "local", ValueError),
        (KernelPegasosSVC(), "degree", 0, ValueError),
        (KernelPegasosSVC(), "coef0", -1, ValueError),
        (KernelPegasosSVC(), "sampling", None, ValueError),
        (KernelPegasosSVC(), "average", 1, TypeError),
        (KernelPegasosSVC(), "cache_size", -1, ValueError),
        (KernelPegasosSVC(), "max_iter", 0, ValueError),
        (KernelPegasosSVC(), "tol", None, TypeError),
    ],
    ids=str,
)
def test_bad_arguments_are_named(model, name, value, error):
    """An argument that makes no sense raises at ``fit``, by its name."""
    with pytest.raises(error, match=name):
        clone(model).set_params(**{name: value}).fit(*make_data())


@pytest.mark.parametrize(
    "model", [SDCASVC(), PegasosSVC(), PegasosRegressor(), KernelPegasosSVC()], ids=str
)
def test_wild_scales_are_warned_of(model):
    """Features that differ in scale by a million give a warning: why it matters, what to do."""
    X, y = make_data()
    why = "kernel depends on distances" if hasattr(model, "kernel") else "penalty"
    with pytest.warns(UserWarning, match=rf"factor of 1e\+06.*{why}.*StandardScaler"):
        fresh(model, max_iter=2).fit(X * [1e6, 1, 1, 1, 1], y)


@pytest.mark.parametrize(
    "model", [SDCASVC(max_iter=1), PegasosSVC(max_iter=1), KernelPegasosSVC(max_iter=1)], ids=str
)
def test_stopping_early_warns(model):
    """A fit that ends at max_iter warns, and says what to raise."""
    warnings.simplefilter("always", ConvergenceWarning)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        fresh(model).fit(*make_data())


# SDCASVC ------------------------------------------------------------------------------------------


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


# Pegasos ------------------------------------------------------------------------------------------


@every_coupling
def test_pegasos_approaches_the_dual(loss, multi_class):
    """It minimizes what SDCASVC minimizes for the same C, to half a percent."""
    X, y = make_data(3, n_rows=400)
    options = {"loss": loss, "multi_class": multi_class, "random_state": 0}
    best = SDCASVC(tol=1e-6, max_iter=10_000, **options).fit(X, y).objective_ / 400
    found = PegasosSVC(tol=None, max_iter=300, **options).fit(X, y)
    assert best * (1 - 1e-6) <= found.objective_ <= 1.005 * best


def test_multinomial_is_logistic_regression():
    """The multinomial loss gives the probabilities of scikit-learn's logistic regression."""
    X, y = make_data(3, n_rows=400)
    Z = np.column_stack([X, np.ones(400)])
    best = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=1000).fit(Z, y)
    model = PegasosSVC(
        loss="log", multi_class="multinomial", tol=None, max_iter=400, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(Z), atol=0.02)
    two = PegasosSVC(loss="log", multi_class="multinomial", random_state=0).fit(X, y > 0)
    np.testing.assert_allclose(two.predict_proba(X).sum(axis=1), 1)
    assert (two.predict_proba(X).argmax(axis=1) == two.predict(X)).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_epsilon_insensitive_is_linear_svr(epsilon):
    """The regression reaches LinearSVR's objective to half a percent."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = X @ [1, -2, 0.5, 0] + 0.3 * rng.standard_t(3, 400)
    Z = np.column_stack([X, np.ones(400)])
    svr = LinearSVR(
        epsilon=epsilon, C=1.0, fit_intercept=False, tol=1e-8, max_iter=200_000, random_state=0
    ).fit(Z, y)
    losses = np.maximum(0, np.abs(y - Z @ svr.coef_) - epsilon)
    best = 0.5 / 400 * svr.coef_ @ svr.coef_ + losses.mean()
    model = PegasosRegressor(epsilon=epsilon, tol=None, max_iter=300, random_state=0)
    model.fit(X, y)
    assert best * (1 - 1e-6) <= model.objective_ <= 1.005 * best
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    sparse = clone(model).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, atol=1e-6)


@every_pegasos
def test_partial_fit_is_fit(Model):
    """One batch is the first epoch of fit; batches go on in its schedule."""
    X, y = make_data()
    first = {} if Model is PegasosRegressor else {"classes": [0, 1]}
    model = Model(0.2, max_iter=1, tol=None, random_state=0)
    whole, batch = clone(model).fit(X, y), clone(model).partial_fit(X, y, **first)
    np.testing.assert_array_equal(whole.coef_, batch.coef_)
    assert whole.t_ == batch.t_ == 90
    batch.partial_fit(X[:40].astype(np.float32), y[:40])
    assert (batch.t_, batch.n_iter_) == (130, 2)
    whole.partial_fit(X[:40], y[:40])
    assert whole.t_ == 130
    assert whole.penalty_ == batch.penalty_ == pytest.approx(1 / (0.2 * 90))


@every_pegasos
def test_many_batches_lead_where_fit_leads(Model):
    """Batches of a stream, given again and again, come close to the objective of fit."""
    X, y = make_data(n_rows=300)
    model = Model(0.5, random_state=0)  # the first batch has a weight of 200
    best = clone(model).set_params(C=1 / 3, tol=None, max_iter=100).fit(X, y).objective_
    first = {} if Model is PegasosRegressor else {"classes": [0, 1]}
    for _ in range(30):
        for begin in range(0, 300, 100):
            rows = slice(begin, begin + 100)
            weights = np.full(100, 2.0)
            model.partial_fit(X[rows], y[rows], sample_weight=weights, **first)
    scores = model.decision_function(X) if Model is PegasosSVC else model.predict(X)
    labels = 2 * y - 1
    losses = np.maximum(0, 1 - labels * scores) if Model is PegasosSVC else np.abs(y - scores)
    norm = np.sum(model.coef_**2) + np.sum(np.square(model.intercept_))
    assert model.penalty_ == 0.01
    assert 0.005 * norm + losses.mean() <= 1.03 * best


def test_what_partial_fit_refuses():
    """Labels must be known, stay the same, and cannot be balanced batch by batch."""
    X, y = make_data()
    with pytest.raises(ValueError, match="classes must be given"):
        PegasosSVC().partial_fit(X, y)
    model = PegasosSVC().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="differ"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="balanced"):
        PegasosSVC(class_weight="balanced").partial_fit(X, y, classes=[0, 1])


def test_overflow_is_an_error():
    """Steps too long for single precision raise, and the message says what to change."""
    X, y = make_data(dtype=np.float32)
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match="Lower C"),
    ):
        PegasosSVC(1e36, average=False, max_iter=2).fit(1000 * X, y)
