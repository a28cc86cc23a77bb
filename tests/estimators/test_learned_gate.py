"""Tests of hyperlocal.estimators.learned_gate: what its two classifiers have in common."""

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from estimators.data import Recorder, interrupt, make_data, make_ring
from hyperlocal.estimators import latent, learned_gate, local_deep
from hyperlocal.papers import LatentLocallyLinearSVC, LocalDeepSVC
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import latent as latent_solver
from hyperlocal.solvers import trees as tree_solver
from hyperlocal.solvers import visits

CLASSIFIERS = {
    "tree": (LocalDeepSVC, {"depth": 2}),
    "shared tree": (LocalDeepSVC, {"depth": 2, "share_tree": True}),
    "latent": (LatentLocallyLinearSVC, {"n_anchors": 6}),
    "latent p=∞": (LatentLocallyLinearSVC, {"n_anchors": 6, "p": np.inf}),
}
every_model = pytest.mark.parametrize("name", CLASSIFIERS)


def model(name, **options):
    """A small model with a seed; everything is given, so nothing is chosen."""
    Classifier, given = CLASSIFIERS[name]
    return Classifier(**{**given, "C": 11.0, "max_iter": 5, "random_state": 0, **options})


# Explanations -------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_local_weights_are_exact(name, n_classes, convert, dtype):
    """``local_coef(x)·x + local_intercept(x)`` is the decision function, per row and class."""
    X, y = make_data(n_classes, dtype=dtype)
    fitted = model(name).fit(convert(X), y)
    scores = fitted.decision_function(convert(X))
    assert scores.dtype == dtype
    assert scores.shape == ((90,) if n_classes == 2 else (90, n_classes))
    coef, intercept = fitted.local_coef(convert(X)), fitted.local_intercept(convert(X))
    assert coef.shape == (90, 1 if n_classes == 2 else n_classes, 5)
    rebuilt = np.einsum("icv,iv->ic", coef, X) + intercept
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(rebuilt.reshape(scores.shape), scores, atol=tolerance)


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_explanations_add_up(name, n_classes):
    """Contributions sum to the scores; the active models are named."""
    X, y = make_data(n_classes)
    fitted = model(name).fit(X, y)
    for row in X[:5]:
        explanation = fitted.explain(row)
        assert explanation.prediction == fitted.predict([row])[0]
        sums = explanation.contributions.sum(axis=1) + explanation.intercepts
        np.testing.assert_allclose(sums, np.ravel(fitted.decision_function([row])), atol=1e-10)
        assert len(explanation.anchors) == len(explanation.anchor_weights)
        assert "anchors:" in str(explanation)


@every_model
def test_fitted_weights_have_the_library_s_shape(name):
    """``coef_`` and ``intercept_`` are models × columns."""
    fitted = model(name).fit(*make_data(3))
    n_models = 6 if "latent" in name else 7
    assert fitted.coef_.shape == (n_models, 3, 5)
    assert fitted.intercept_.shape == (n_models, 3)


# The same data, the same model --------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_same_bits_for_any_number_of_threads(name, n_classes):
    """Training and prediction do not depend on ``n_jobs``."""
    X, y = make_data(n_classes)
    one, three = (model(name, n_jobs=n_jobs, C="auto").fit(X, y) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.coef_, three.coef_)
    np.testing.assert_array_equal(one.decision_function(X), three.decision_function(X))


@every_model
def test_sparse_rows_are_dense_rows(name):
    """CSR rows give the scores that dense rows give."""
    X, y = make_data(3)
    dense, sparse = model(name).fit(X, y), model(name).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        dense.decision_function(X), sparse.decision_function(sp.csr_array(X)), atol=1e-6
    )
    np.testing.assert_allclose(
        dense.decision_function(X), dense.decision_function(sp.csr_array(X)), atol=1e-10
    )


@every_model
def test_integer_weights_are_repeated_rows(name):
    """A weight of two is the row twice, to the last bit."""
    X, y = make_data(3)
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = model(name).fit(X, y, sample_weight=weights)
    repeated = model(name).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)


@every_model
def test_class_weights_are_sample_weights(name):
    """``class_weight`` multiplies the weights of the class's rows."""
    X, y = make_data()
    by_class = model(name, class_weight={0: 3.0, 1: 1.0}).fit(X, y)
    by_row = model(name).fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)


@every_model
def test_predictions_do_not_depend_on_blocks(name):
    """Scores and local weights are the same in small blocks of rows."""
    X, y = make_data(3)
    fitted = model(name).fit(X, y)
    with Workers(2) as workers:
        scores = fitted.model_.scores(X, workers, rows_per_block=7)
        blocks = list(fitted.model_.local_rows(X, workers, numbers_per_block=100))
    assert len(blocks) > 5
    np.testing.assert_allclose(scores, fitted.decision_function(X), atol=1e-12)
    coef = np.concatenate([block.coef for block in blocks])
    np.testing.assert_allclose(coef, fitted.local_coef(X), atol=1e-12)


@every_model
def test_copies_predict_alike(name):
    """Pickles and clones; ``set_params`` after a fit changes nothing before the next."""
    X, y = make_data(3)
    fitted = model(name).fit(X, y)
    scores = fitted.decision_function(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).decision_function(X), scores)
    np.testing.assert_array_equal(clone(fitted).fit(X, y).decision_function(X), scores)
    fitted.set_params(**({"p": 2.0} if "latent" in name else {"depth": 1}))
    np.testing.assert_array_equal(fitted.decision_function(X), scores)


def test_pandas_names_are_kept():
    """Feature names of a DataFrame come back in explanations."""
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    for name in ("tree", "latent"):
        fitted = model(name).fit(frame, y)
        assert list(fitted.explain(frame.iloc[0]).feature_names) == list("abcde")


@every_model
def test_one_row_per_class(name):
    """Two rows make a model that tells them apart, also with everything left to "auto"."""
    X, y = np.array([[-1.0, 0.5], [1.0, -0.5]]), np.array(["no", "yes"])
    assert list(model(name).fit(X, y).predict(X)) == ["no", "yes"]
    assert list(CLASSIFIERS[name][0](random_state=0).fit(X, y).predict(X)) == ["no", "yes"]


# "auto" -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Classifier", [LocalDeepSVC, LatentLocallyLinearSVC])
def test_defaults_bend_where_a_linear_svm_cannot(Classifier):
    """Untuned models separate a disc from a ring; fitted attributes hold what was chosen."""
    X, y = make_ring(400)
    fitted = Classifier(random_state=0).fit(X[:250], y[:250])
    assert fitted.score(X[250:], y[250:]) > 0.93
    assert fitted.C_ > 0
    assert (fitted.depth_ if Classifier is LocalDeepSVC else fitted.n_anchors_) >= 1


def test_given_settings_are_kept():
    """Nothing is tried where nothing is left open."""
    X, y = make_data()
    tree = model("tree", depth=np.int64(1)).fit(X, y)
    assert (tree.depth_, tree.C_, tree.tree_.depth) == (1, 11.0, 1)
    mixed = model("latent").fit(X, y)
    assert (mixed.n_anchors_, mixed.C_) == (6, 11.0)


@every_model
def test_C_weighs_the_sum_of_losses(name):
    """Rows of weight two with ``C`` are rows of weight one with ``2C``, to the last bit."""
    X, y = make_data(3)
    heavy = model(name, C=5.0).fit(X, y, sample_weight=np.full(90, 2.0))
    light = model(name, C=10.0).fit(X, y)
    np.testing.assert_array_equal(heavy.coef_, light.coef_)


@pytest.mark.parametrize(("name", "module"), [("tree", local_deep), ("latent", latent)])
def test_the_C_chosen_is_one_of_those_tried(name, module):
    """``C_`` is ``1/(λN)`` with one of the penalties tried, N the weight of all rows."""
    X, y = make_data(3)
    fitted = model(name, C="auto").fit(X, y, sample_weight=np.full(90, 2.0))
    penalties = np.array([*module.PENALTIES, module.FIRST_PENALTY])
    assert np.isclose(1 / (fitted.C_ * 180), penalties).any()


def test_choices_are_made_on_held_out_rows(monkeypatch):
    """Settings are evaluated on rows they were not trained on, the close ones twice."""
    X, y = make_data(n_rows=200)
    tried = []

    def error(self, train, test, settings, seed, workers):
        tried.append((settings.depth, settings.penalty, test.X.tobytes()))
        rows = {row.tobytes() for row in train.X}
        assert not any(row.tobytes() in rows for row in test.X)
        assert len(train.X) + len(test.X) == 200
        return (abs(settings.depth - 2) + abs(settings.penalty - 1e-4)) / 10

    monkeypatch.setattr(LocalDeepSVC, "_held_out_error", error)
    fitted = LocalDeepSVC(random_state=0, max_iter=2).fit(X, y)
    assert fitted.depth_ == 2
    assert pytest.approx(1 / (1e-4 * 200)) == fitted.C_
    assert len(tried) == len(set(tried))
    times = Counter((depth, penalty) for depth, penalty, _ in tried)
    assert times[2, 1e-4] == 2
    assert times[1, 3e-4] == times[3, 3e-4] == 1


@every_model
def test_trials_leave_the_estimator_alone(name, monkeypatch):
    """While settings are tried, the estimator has no attribute more than before."""
    fitted, seen = model(name, C="auto"), []
    original = learned_gate.predicted_codes

    def look(scores):
        seen.append(set(vars(fitted)))
        return original(scores)

    monkeypatch.setattr(learned_gate, "predicted_codes", look)
    before = {*vars(fitted), "n_features_in_"}
    fitted.fit(*make_data())
    assert len(seen) > 3
    assert all({one for one in names if not one.startswith("_")} <= before for names in seen)


@every_model
def test_few_rows_are_visited_often(name, monkeypatch):
    """Epochs are as many as asked for; where rows are few, each visits them several times."""
    visited = []
    original = visits.repeated_order

    def count(n_rows, n_passes, rng):
        visited.append(n_rows * n_passes)
        return original(n_rows, n_passes, rng)

    for module in (tree_solver, latent_solver):
        monkeypatch.setattr(module, "repeated_order", count)
    X, y = make_data()
    assert model(name, max_iter=4).fit(X, y).n_iter_ == 4
    assert len(visited) == 4
    assert 28_000 < sum(visited) < 34_000


# Progress -----------------------------------------------------------------------------------------


@every_model
def test_silent_by_default(name, capfd):
    """Nothing is printed unless asked for; then every epoch, on stderr."""
    X, y = make_data()
    model(name).fit(X, y)
    assert capfd.readouterr() == ("", "")
    fitted = model(name, verbose=2).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert len(err.splitlines()) == fitted.n_iter_


@every_model
def test_callbacks_stop_a_fit(name):
    """A callback that says so ends a fit after its epoch."""
    fitted = model(name)
    if not hasattr(fitted, "set_callbacks"):
        pytest.skip("scikit-learn has no callbacks")
    fitted.set_callbacks(Recorder(act_at=3)).fit(*make_data())
    assert fitted.n_iter_ == 3
    assert len(fitted.history_) == 3


@every_model
def test_an_interrupted_fit_leaves_no_model(name):
    """Ctrl-C leaves the estimator unfitted, not with half a model."""
    X, y = make_data()
    fitted = model(name)
    if not hasattr(fitted, "set_callbacks"):
        pytest.skip("scikit-learn has no callbacks")
    fitted.fit(X, y).set_callbacks(Recorder(act_at=2, act=interrupt))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, y)
    with pytest.raises(NotFittedError):
        fitted.predict(X)


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "argument", "value", "error"),
    [
        ("tree", "depth", -1, ValueError),
        ("tree", "depth", 2.0, TypeError),
        ("tree", "depth", "deep", TypeError),
        ("tree", "depth", 40, ValueError),
        ("tree", "depth", 10**12, ValueError),
        ("latent", "n_anchors", 10**12, ValueError),
        ("tree", "share_tree", "yes", TypeError),
        ("tree", "C", 0.0, ValueError),
        ("tree", "C", None, TypeError),
        ("tree", "max_iter", 0, ValueError),
        ("tree", "n_jobs", 0, ValueError),
        ("tree", "verbose", -1, ValueError),
        ("tree", "class_weight", "equal", ValueError),
        ("latent", "n_anchors", 0, ValueError),
        ("latent", "n_anchors", "many", TypeError),
        ("latent", "p", 1.0, ValueError),
        ("latent", "p", -np.inf, ValueError),
        ("latent", "p", np.nan, ValueError),
        ("latent", "p", "2", TypeError),
        ("latent", "C", np.inf, ValueError),
        ("latent", "max_iter", 10.5, TypeError),
    ],
    ids=str,
)
def test_bad_arguments_are_named(name, argument, value, error):
    """An argument that makes no sense raises at ``fit``, by its name."""
    with pytest.raises(error, match=argument):
        model(name, **{argument: value}).fit(*make_data())


@every_model
def test_bad_data_are_refused(name):
    """NaN, one class, negative weights and another number of features raise."""
    X, y = make_data()
    with pytest.raises(ValueError, match="NaN"):
        model(name).fit(np.where(X > 2, np.nan, X), y)
    with pytest.raises(ValueError, match="one class"):
        model(name).fit(X, np.zeros(90))
    with pytest.raises(ValueError, match="negative"):
        model(name).fit(X, y, sample_weight=-np.ones(90))
    with pytest.raises(ValueError, match="features"):
        model(name).fit(X, y).predict(X[:, :3])
    with pytest.raises(ValueError, match="features"):
        model(name).fit(X, y).explain(X[:2, :3])


@every_model
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "NaN"), (-np.inf, "infinity"), (1e200, "overflow in float64")]
)
def test_bad_values_are_refused_in_prediction(name, convert, value, message):
    """NaN, infinity and values whose products overflow raise, wherever they stand."""
    X, y = make_data()
    fitted = model(name).fit(convert(X), y)
    for row in (0, 89):
        bad = X.copy()
        bad[row, 3] = value
        with pytest.raises(ValueError, match=message):
            fitted.predict(convert(bad))


def test_a_grid_search_works():
    """The estimators take part in scikit-learn's searches."""
    X, y = make_data()
    search = GridSearchCV(model("tree"), {"depth": [0, 2]}, cv=2).fit(X, y)
    assert search.best_params_["depth"] in (0, 2)
