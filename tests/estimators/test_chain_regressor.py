"""Tests of hyperlocal.estimators.chain_regressor: values, targets and quantiles."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.data import Recorder, interrupt
from hyperlocal import LocallyLinearSVR, explain
from reference.problems import every_regression


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (300, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(300)


def make(loss="squared", **options):
    given = {
        "relevance": None,
        "C": 3.0,
        "n_anchors": 10,
        "tol": 1e-6,
        "max_iter": 20_000,
        "random_state": 0,
    }
    return LocallyLinearSVR(loss=loss, **(given | options))


@every_regression
@pytest.mark.parametrize(("unit", "center"), [(1e-8, 0.0), (1e9, 3e9), (100.0, -5.0)])
def test_units_of_y_do_not_matter(rows, loss, unit, center):
    """Values in cents or in billions give the same model, in their units."""
    X, y = rows
    plain, other = make(loss).fit(X, y), make(loss).fit(X, unit * y + center)
    np.testing.assert_allclose(
        (other.predict(X) - center) / unit, plain.predict(X), rtol=1e-5, atol=1e-5
    )
    assert other.objective_ == pytest.approx(plain.objective_, rel=1e-6)


def test_units_of_y_do_not_matter_to_what_is_chosen(rows):
    """Values in billions have the scales of features, C and anchors of the same values in ones."""
    X, y = rows
    plain, other = (
        LocallyLinearSVR(random_state=0, tol=1e-6).fit(X, values) for values in (y, 1e9 * y + 3e9)
    )
    assert plain.relevance_ is not None
    np.testing.assert_allclose(other.relevance_, plain.relevance_, rtol=1e-5)
    assert other.C_ == plain.C_
    np.testing.assert_allclose((other.predict(X) - 3e9) / 1e9, plain.predict(X), atol=1e-5)


def test_units_of_weights_do_not_matter_to_what_is_chosen(rows):
    """Weights that sum to one give the model of the same weights with a mean of one."""
    X, y = rows
    weights = np.random.default_rng(1).integers(1, 3, len(y)) / len(y) * 1e-3
    plain, other = (
        LocallyLinearSVR(random_state=0, tol=1e-6).fit(X, y, sample_weight=given)
        for given in (1e5 * weights, weights)
    )
    np.testing.assert_allclose(other.C_, 1e5 * plain.C_)
    np.testing.assert_allclose(other.predict(X), plain.predict(X), atol=1e-4)


def test_several_targets_of_few_rows(rows):
    """The default chooses for two targets of sixty rows, which one system solves."""
    X, y = rows[0][:60], np.stack([rows[1][:60], rows[0][:60, 0]], axis=1)
    model = LocallyLinearSVR(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("missing", [None, np.nan, np.inf])
def test_missing_values_are_refused(rows, missing):
    """A missing value is an error that says so, also if it is stored as an object."""
    X, y = rows[0], rows[1].astype(object)
    y[7] = missing
    with pytest.raises(ValueError, match=r"Input (y )?contains"):
        make().fit(X, y)


@every_regression
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sparse_rows_equal_dense_ones(rows, loss, dtype):
    """CSR rows give the same predictions, in the precision of the rows."""
    X, y = rows[0].astype(dtype), rows[1]
    tol = 1e-6 if dtype == "float64" else 1e-4
    dense = make(loss, feature_map=None, tol=tol).fit(X, y)
    sparse = make(loss, feature_map=None, tol=tol).fit(sp.csr_array(X), y)
    assert dense.predict(X).dtype == dtype
    close = 1e-2 if dtype == "float32" else 1e-3
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), atol=close)


@every_regression
def test_weights_are_repeated_rows(rows, loss):
    """A row of weight two and the same row twice give the same bits."""
    X, y = rows
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = make(loss).fit(X, y, weights)
    repeated = make(loss).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


@every_regression
def test_several_targets(rows, loss):
    """Targets trained together are those trained alone."""
    X, y = rows
    both = np.column_stack([y, 10 - 3 * X[:, 2]])
    options = {"C": 0.3, "tol": 1e-5}
    together = make(loss, **options).fit(X, both).predict(X)
    assert together.shape == both.shape
    for column in range(2):
        alone = make(loss, **options).fit(X, both[:, column]).predict(X)
        np.testing.assert_allclose(together[:, column], alone, atol=2e-2)


def test_quantiles(rows):
    """Several quantiles are sorted, and about as many values as they say lie below."""
    X, y = rows
    model = make("quantile", quantiles=[0.1, 0.5, 0.9], tol=1e-3).fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == (300, 3)
    assert (np.diff(predicted, axis=1) >= 0).all()
    # A binomial share of 300 rows has a standard error of at most 0.03.
    np.testing.assert_allclose((y[:, None] <= predicted).mean(axis=0), [0.1, 0.5, 0.9], atol=0.09)
    assert make("quantile", quantiles=0.9, tol=1e-3).fit(X, y).predict(X).shape == (300,)
    two = np.column_stack([y, -y])
    assert make("quantile", quantiles=[0.1, 0.9], tol=1e-3).fit(X, two).predict(X).shape == (
        300, 2, 2,
    )  # fmt: skip


@pytest.mark.parametrize("loss", ["squared", "quantile"])
def test_threads_do_not_change_the_bits(rows, loss):
    """Predictions do not depend on ``n_jobs``."""
    X, y = rows
    options = {"quantiles": [0.2, 0.8], "C": "auto", "tol": 1e-3}
    found = [make(loss, n_jobs=n, **options).fit(X, y).predict(X) for n in (1, 2)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("solver", ["dual", "sgd"])
def test_warm_starts(rows, solver):
    """A second fit to the same rows continues from the first."""
    X, y = rows
    model = make(solver=solver, warm_start=True, tol=1e-4, C=1.0).fit(X, y)
    before = model.objective_
    model.fit(X, y)
    assert model.n_iter_ <= 5
    assert model.objective_ <= before * (1 + 1e-3)


def test_partial_fit(rows):
    """Batches of the same rows come near the fit of all, also after a fit, in units of y."""
    X, y = rows
    y = 1000 + 50 * y
    model, fitted = make(solver="sgd"), make().fit(X, y)
    for _ in range(60):
        model.partial_fit(X, y)
    assert model.score(X, y) > fitted.score(X, y) - 0.05
    continued = make(solver="sgd", tol=1e-4).fit(X, y)
    before = continued.score(X, y)
    assert continued.partial_fit(X, y).score(X, y) > before - 0.05
    with pytest.raises(ValueError, match="earlier rows had 1"):
        model.partial_fit(X, np.column_stack([y, y]))
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = make().partial_fit


def test_local_models_are_exact(rows):
    """The linear model at a row gives its prediction."""
    X, y = rows
    model = make().fit(X, np.column_stack([y, 5 + y]))
    found = np.einsum("icv,iv->ic", model.local_coef(X), X) + model.local_intercept(X)
    np.testing.assert_allclose(found, model.predict(X), atol=1e-9)


def test_explanations_add_up(rows):
    """Contributions and reference sum to the prediction, which is a number."""
    X, y = rows
    model = make().fit(X, 100 + y)
    one = model.explain(X[0])
    assert one.classes is None
    assert one.prediction == pytest.approx(model.predict(X[:1])[0])
    total = one.references + one.contributions.sum(axis=1) + one.remainders
    np.testing.assert_allclose(total, model.predict(X[:1]))


@pytest.mark.parametrize(
    "options", [{}, {"loss": "quantile", "quantiles": [0.1, 0.9], "tol": 1e-3}]
)
def test_explanations_in_a_pipeline_are_in_units_of_y(rows, options):
    """By default the references are those of the training rows, also after a scaler."""
    X, y = 10 * rows[0], 1000 + 50 * rows[1]
    model = make_pipeline(StandardScaler(), make(**options)).fit(X, y)
    found = explain(model, X[:20])
    total = found.references + found.contributions.sum(axis=2) + found.remainders
    np.testing.assert_allclose(total, model.predict(X[:20]).reshape(total.shape))
    background = model[-1].background
    np.testing.assert_allclose(background.mean, 0, atol=1e-9)
    references = background.weights @ model[-1].predict(background.rows).reshape(-1, total.shape[1])
    np.testing.assert_allclose(found.references, np.tile(references, (20, 1)))
    assert np.isclose(found[0].to_frame().filter(like="contribution").sum(), total[0]).all()


def test_constant_values(rows):
    """A constant is predicted, without warnings."""
    X = rows[0]
    np.testing.assert_allclose(make(C="auto").fit(X, np.full(len(X), 7.5)).predict(X), 7.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"loss": "quantile", "quantiles": [0.5, 0.2]}, "increasing"),
        ({"C": 0.0}, "C must be"),
    ],
)
def test_arguments_are_checked(rows, options, message):
    """Errors name the argument."""
    with pytest.raises(ValueError, match=message):
        make(**options).fit(*rows)


def test_values_are_checked(rows):
    """Sparse values, infinite ones and text are refused."""
    X, y = rows
    with pytest.raises(TypeError, match="y is sparse"):
        make().fit(X, sp.csr_array(y[:, None]))
    with pytest.raises(ValueError, match="infinity"):
        make().fit(X, np.where(y > 1, np.inf, y))
    with pytest.raises(ValueError, match="convert"):
        make().fit(X, np.full(len(y), "a"))


def test_too_few_epochs_warn(rows):
    """A fit that did not converge says so."""
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        make("quantile", max_iter=1).fit(*rows)


def test_callbacks_stop_a_fit(rows):
    """A callback ends a fit after its epoch; one that Ctrl-C ends leaves no model."""
    if not hasattr(make(), "set_callbacks"):
        pytest.skip("scikit-learn has no callbacks")
    fitted = make("epsilon_insensitive").set_callbacks(Recorder(act_at=2)).fit(*rows)
    assert fitted.n_iter_ == 2
    interrupted = make("epsilon_insensitive").fit(*rows)
    with pytest.raises(KeyboardInterrupt):
        interrupted.set_callbacks(Recorder(act_at=1, act=interrupt)).fit(*rows)
    assert not hasattr(interrupted, "model_")
