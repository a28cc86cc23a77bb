"""Tests of hyperlocal.estimators.clusterwise: what the cluster-wise classifiers share."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from estimators.data import Recorder, interrupt, make_data, make_ring
from hyperlocal.export.sizes import count_numbers
from hyperlocal.papers import ClusteredSVC, LandmarkSVC, ProfileSVC

MODELS = {
    "landmarks": lambda **options: LandmarkSVC(random_state=0, **options),
    "soft": lambda **options: LandmarkSVC(random_state=0, coding="soft", **options),
    "smooth": lambda **options: LandmarkSVC(random_state=0, smoothing=1.0, **options),
    "stages": lambda **options: LandmarkSVC(
        random_state=0, n_stages=2, keep_if_better=False, **options
    ),
    "rbf": lambda **options: LandmarkSVC(random_state=0, projection="rbf", **options),
    "kernel": lambda **options: LandmarkSVC(random_state=0, kernel="rbf", **options),
    "clustered": lambda **options: ClusteredSVC(random_state=0, **options),
    "profile": lambda **options: ProfileSVC(random_state=0, **options),
    "profile-kernel": lambda **options: ProfileSVC(random_state=0, kernel="rbf", **options),
}
KERNELS = {"kernel", "profile-kernel"}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
every_linear_model = pytest.mark.parametrize(
    "make", [make for name, make in MODELS.items() if name not in KERNELS],
    ids=[name for name in MODELS if name not in KERNELS],
)  # fmt: skip


# Data ---------------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_every_kind_of_rows(make, n_classes, dtype, convert):
    """Two classes and three, both precisions, dense and sparse rows are learned."""
    X, y = make_data(n_classes, dtype=dtype)
    fitted = make().fit(convert(X), y)
    scores = fitted.decision_function(convert(X))
    assert scores.dtype == dtype
    assert scores.shape == ((90,) if n_classes == 2 else (90, 3))
    assert fitted.score(convert(X), y) > 0.8


@every_model
def test_what_a_linear_model_cannot(make):
    """A ring around a disc is learned."""
    X, y = make_ring()
    fitted = make(n_anchors=12, C=1.0).fit(X[:200], y[:200])
    assert fitted.score(X[200:], y[200:]) > 0.85


@every_model
def test_labels_of_any_kind(make):
    """Predictions are labels as given; a positive score predicts the second."""
    X, y = make_data()
    fitted = make().fit(X, np.array(["no", "yes"])[y])
    np.testing.assert_array_equal(
        fitted.predict(X), np.array(["no", "yes"])[(fitted.decision_function(X) > 0) * 1]
    )


@every_model
@pytest.mark.parametrize("n_rows", [2, 3, 4])
def test_one_row_per_class(make, n_rows):
    """The smallest training sets there are, in one cluster or one each."""
    X, y = np.eye(n_rows, 3) * 2, np.arange(n_rows)
    for n_anchors in ("auto", 1, n_rows):
        assert make(n_anchors=n_anchors).fit(X, y).predict(X).shape == (n_rows,)
    profile = ProfileSVC(n_rows, balance=0.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(profile.predict(X), y)


@every_model
def test_more_clusters_than_rows(make):
    """As many clusters as distinct rows are used, with a warning."""
    X, y = make_data(n_rows=20)
    with pytest.warns(UserWarning, match="n_anchors=30 is larger than .*20 anchors are used"):
        fitted = make(n_anchors=30).fit(X, y)
    assert len(fitted.anchors_) <= 20


@every_model
def test_clusters_of_one_class(make):
    """A cluster that has one class only predicts it, at least where its rows are."""
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    which = np.arange(80) % 4
    X, y = centres[which] + rng.normal(size=(80, 2)), np.array([0, 1, 1, 0])[which]
    X -= X.mean(axis=0)
    fitted = make(n_anchors=4).fit(X, y)
    assert len(fitted.anchors_) == 4
    assert fitted.score(X, y) == 1


@every_model
def test_rows_that_are_all_equal(make):
    """Equal rows with different labels raise nothing and give finite predictions."""
    assert np.isfinite(make().fit(np.ones((20, 3)), np.arange(20) % 2).predict(np.eye(3))).all()


# Weights ------------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_integer_weights_are_repeated_rows(make, convert):
    """A row of weight two is the same as the row twice, and a row of weight zero is no row."""
    X, y = make_data(3)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = make().fit(convert(X), y, sample_weight=weights)
    repeated = make().fit(convert(np.repeat(X, weights, axis=0)), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-9
    )


@every_model
def test_class_weights_are_sample_weights(make):
    """A class weight is a weight on each of the class's rows."""
    X, y = make_data(3)
    by_class = make(class_weight={0: 3.0, 2: 0.2}).fit(X, y)
    by_row = make().fit(X, y, sample_weight=np.array([3.0, 1.0, 0.2])[y])
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X))


@every_model
def test_the_order_of_rows_does_not_matter(make):
    """Rows in another order give the same model, to the last bit."""
    X, y = make_data(3)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_array_equal(
        make().fit(X, y).decision_function(X), make().fit(X[order], y[order]).decision_function(X)
    )


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_automatic_C_does_not_depend_on_scale(scale):
    """Rows and constant times any number give the same model."""
    X, y = make_data()
    options = {"anchors": X[:4], "tol": 1e-6, "max_iter": 100_000, "random_state": 0}
    plain = ClusteredSVC(**options).fit(X, y)
    options |= {"anchors": X[:4] * scale, "intercept_scaling": scale}
    scaled = ClusteredSVC(**options).fit(X * scale, y)
    assert scaled.C_ * scale**2 == pytest.approx(plain.C_)
    np.testing.assert_allclose(
        scaled.decision_function(X * scale), plain.decision_function(X), atol=1e-2
    )


# Support vectors ----------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_support_vectors(make, n_classes):
    """Variables are within their bounds, signed by the label; rows without weight have none."""
    X, y = make_data(n_classes)
    X[1] = X[0]
    y[1] = y[0]
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weights[:2] = 1
    fitted = make().fit(X, y, sample_weight=weights)
    coef, support = fitted.dual_coef_, fitted.support_
    assert coef.shape == ((1 if n_classes == 2 else 3), len(support))
    assert coef.any(axis=0).all()
    assert (weights[support] > 0).all()
    assert (np.diff(support) > 0).all()
    assert (np.abs(coef) <= fitted.C_ * weights[support] * (1 + 1e-6)).all()
    positive = y[support] == (np.arange(1, 2) if n_classes == 2 else np.arange(3))[:, None]
    assert (np.where(positive, coef, -coef) >= 0).all()
    if 0 in support:  # equal rows share their variable
        np.testing.assert_allclose(coef[:, support == 0], coef[:, support == 1])


# Reproducibility ----------------------------------------------------------------------------------


@every_model
def test_threads_do_not_change_a_bit(make):
    """One thread or two: the same scores."""
    X, y = make_data(3, n_rows=300)
    np.testing.assert_array_equal(
        make(n_jobs=1).fit(X, y).decision_function(X), make(n_jobs=2).fit(X, y).decision_function(X)
    )


@every_model
def test_pickled_models_predict_the_same(make):
    """A copy through pickle gives the same scores."""
    X, y = make_data(3)
    fitted = make().fit(X, y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.decision_function(X), fitted.decision_function(X))
    assert count_numbers(copy) == count_numbers(fitted) > 0


@every_model
def test_arguments_act_at_the_next_fit(make):
    """``set_params`` changes no fitted model."""
    X, y = make_data()
    fitted = make().fit(X, y)
    scores = fitted.decision_function(X)
    fitted.set_params(C=100.0, intercept_scaling=3.0, loss="log")
    if hasattr(fitted, "kernel"):
        fitted.set_params(kernel="linear" if fitted.kernel == "rbf" else "rbf")
    np.testing.assert_array_equal(fitted.decision_function(X), scores)


# Explanations -------------------------------------------------------------------------------------


@every_linear_model
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_local_weights_are_exact(make, convert):
    """Weights times features plus intercept is the score."""
    X, y = make_data(3)
    fitted = make(intercept_scaling=1.5).fit(convert(X), y)
    feature_map = fitted.model_.feature_map
    rows = X if feature_map.explains_input else feature_map.mapped(X)
    scores = np.einsum("ncd,nd->nc", fitted.local_coef(convert(X)), rows)
    scores = scores + fitted.local_intercept(convert(X))
    np.testing.assert_allclose(scores, fitted.decision_function(convert(X)), atol=1e-9)


def test_frames_name_their_features():
    """Explanations name the input's features, also through Gaussian projections."""
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = MODELS["stages"]().fit(frame, y)
    explanation = fitted.explain(frame.iloc[[0]])
    assert list(explanation.feature_names) == list("abcde")
    assert explanation.scores[0] == pytest.approx(fitted.decision_function(frame.iloc[[0]])[0])
    assert list(MODELS["rbf"]().fit(frame, y).explain(frame.iloc[0]).feature_names) == list("abcde")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [MODELS[name] for name in sorted(KERNELS)])
def test_kernels_are_explained(make, n_classes):
    """Kernels have no weights for all rows, but at each row, and exact contributions."""
    X, y = make_data(n_classes)
    fitted = make().fit(X, y)
    assert not hasattr(fitted, "coef_")
    assert np.isfinite(fitted.intercept_).all()
    expected = fitted.decision_function(X).reshape(len(X), -1)
    scores = np.einsum("ncd,nd->nc", fitted.local_coef(X), X) + fitted.local_intercept(X)
    np.testing.assert_allclose(scores, expected, atol=1e-9 * np.abs(expected).max())
    for explanation in fitted.explain(X[:3]):
        total = explanation.contributions[explanation.column].sum()
        score = explanation.scores[explanation.column]
        assert total + explanation.intercepts[explanation.column] == pytest.approx(score)
        shared = fitted.intercept_ if np.ndim(fitted.intercept_) == 1 else np.zeros(3)
        own = explanation.anchor_contributions.sum() + shared[explanation.column]
        assert own == pytest.approx(score)


# Progress and errors ------------------------------------------------------------------------------


@every_linear_model
def test_a_short_run_warns(make):
    """Too few epochs give a warning with the gap and what to raise."""
    with pytest.warns(ConvergenceWarning, match="after 1 epochs at a relative duality gap of"):
        make(max_iter=1, tol=1e-6, C=10.0).fit(*make_data())


@every_linear_model
def test_progress_goes_to_stderr(make, capfd):
    """``verbose=2`` writes each epoch to stderr and nothing to stdout."""
    make(verbose=2).fit(*make_data())
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(r"SVC\] epoch 1 of at most \d+  objective ", err)


@every_linear_model
def test_callbacks_stop_a_fit(make):
    """A callback may end the fit early, without a warning."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data()
    recorder = Recorder(act_at=2)
    stopped = make(tol=1e-10).set_callbacks(recorder).fit(X, y)
    assert stopped.n_iter_ == 2
    assert stopped.predict(X).shape == (90,)


def test_an_interrupted_fit_leaves_nothing():
    """Ctrl-C propagates; the estimator is unfitted."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data()
    fitted = MODELS["landmarks"]().fit(X, y)
    fitted.set_callbacks(Recorder(act_at=2, act=interrupt))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, y)
    with pytest.raises(NotFittedError):
        fitted.predict(X)


@every_linear_model
def test_probabilities(make):
    """``loss="log"`` gives probabilities."""
    X, y = make_data(3)
    fitted = make(loss="log").fit(X, y)
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.classes_[probabilities.argmax(axis=1)], fitted.predict(X))
    assert not hasattr(make(), "predict_proba")


@every_model
def test_no_online_updates(make):
    """There is no ``partial_fit``, as for every attribute that a class does not have."""
    with pytest.raises(AttributeError, match="object has no attribute 'partial_fit'"):
        make().partial_fit  # noqa: B018


@every_linear_model
def test_sharpness_of_the_gate(make):
    """``beta_`` is there where the gate has one."""
    fitted = make().fit(*make_data())
    assert hasattr(fitted, "beta_") == (getattr(fitted, "coding", "hard") == "soft")


@pytest.mark.parametrize("Classifier", [LandmarkSVC, ClusteredSVC])
def test_clusters_of_any_clusterer(Classifier):
    """Clusters may come from a scikit-learn clusterer or be given."""
    X, y = make_data()
    for anchors in (KMeans(5, n_init=1, random_state=0), X[:5]):
        fitted = Classifier(anchors=anchors, random_state=0).fit(X, y)
        assert fitted.anchors_.shape == (5, 5)
        assert fitted.score(X, y) > 0.8
    search = GridSearchCV(fitted, {"anchors": ["kmeans", X[:4]], "C": ["auto", 1.0]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.7


@every_model
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("n_anchors", 0, ValueError),
        ("C", 0, ValueError),
        ("C", "small", ValueError),
        ("C", None, TypeError),
        ("loss", "logistic", ValueError),
        ("max_iter", 0, ValueError),
        ("tol", -1.0, ValueError),
        ("intercept_scaling", -1.0, ValueError),
        ("class_weight", "equal", ValueError),
        ("n_jobs", 0, ValueError),
        ("verbose", "loud", TypeError),
    ],
    ids=str,
)
def test_bad_arguments_are_named(make, name, value, error):
    """An argument that makes no sense raises at ``fit``, by its name."""
    with pytest.raises(error, match=name):
        make(**{name: value}).fit(*make_data())
