"""Tests of hyperlocal.estimators.first_look: queries in doubt get SVMs of their own."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from estimators.data import Recorder, make_data, make_ring
from hyperlocal import AdaptiveNeighborhoodSVC, LocallyLinearSVC, NeighborhoodSVC
from hyperlocal.estimators.first_look import classes_in_question
from reference import neighborhood as reference


def make_parts(n_classes):
    X, y = make_data(n_classes, n_rows=400)
    return X[::2], y[::2], X[1::2], y[1::2]


def quick(**options):
    return LocallyLinearSVC(4, n_neighbors=2, random_state=0, **options)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_doubtful_alone_get_svms_between_the_classes_in_question(n_classes):
    """Clear queries score as the first look does, others as LIBSVM on the rows in question."""
    X, y, X_test, _ = make_parts(n_classes)
    first = quick().fit(X, y)
    fitted = NeighborhoodSVC(first_look=quick(), sigma=1.0, tol=1e-7, clear_lead=0.8).fit(X, y)
    quick_scores = first.decision_function(X_test).reshape(len(X_test), -1)
    scores = fitted.decision_function(X_test).reshape(quick_scores.shape)
    in_question = classes_in_question(quick_scores, 0.8)
    doubtful = np.flatnonzero(in_question.sum(axis=1) > 1)
    assert 0 < len(doubtful) < len(X_test) / 2
    np.testing.assert_array_equal(
        np.delete(scores, doubtful, axis=0), np.delete(quick_scores, doubtful, axis=0)
    )
    near, _ = reference.nearest_rows(X, X_test, fitted.n_neighbors_)
    for query in doubtful:
        rows = near[query]
        asked = in_question[query, y[rows]]
        rows = rows[asked] if len(np.unique(y[rows[asked]])) > 1 else rows
        expected = reference.scores(
            X, y, np.full(len(X), 10.0), n_classes, X_test[[query]], rows[None], "rbf", 1.0
        )
        np.testing.assert_allclose(scores[query], expected[0], atol=1e-4)


def test_the_lead_is_chosen_on_rows_held_out():
    """Where neighbours know more, there is doubt; where labels are noise around a line, none."""
    X, y = make_ring(900)
    assert NeighborhoodSVC(first_look=LinearSVC(), random_state=0).fit(X, y).clear_lead_ > 0
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(3000, 5)), rng.uniform(0.5, 2, 3000)
    noisy = (X[:, 0] > 0) ^ (rng.uniform(size=3000) < 0.3)
    chosen = NeighborhoodSVC(first_look=LinearSVC(), random_state=0)
    assert chosen.fit(X, noisy).clear_lead_ == 0
    assert chosen.fit(X, noisy, sample_weight=weights).clear_lead_ == 0


def test_the_trial_is_silent():
    """Callbacks hear of one fit, and what there is to warn of is said as often as without it."""
    pytest.importorskip("sklearn.callback")
    X, y, _, _ = make_parts(3)
    logs, counts = [], []
    for lead in (0.5, "auto"):
        recorder, first = Recorder(), quick(max_iter=1, tol=1e-9)
        fitted = NeighborhoodSVC(first_look=first, clear_lead=lead, random_state=0)
        with pytest.warns(ConvergenceWarning) as told:
            fitted.set_callbacks(recorder).fit(X, y)
        logs.append(recorder.log)
        counts.append(len(told))
    assert logs[0] == logs[1]
    assert counts[0] == counts[1] == 1


@pytest.mark.parametrize(
    ("options", "n_rows", "lead"),
    [({"first_look": quick()}, 30, 0.5), ({"cache_neighborhoods": True}, 200, 1.0)],
)
def test_the_usual_lead(options, n_rows, lead):
    """Few rows choose nothing, and neither do kept models."""
    X, y, _, _ = make_parts(4)
    assert NeighborhoodSVC(**options).fit(X[:n_rows], y[:n_rows]).clear_lead_ == lead
    assert NeighborhoodSVC(clear_lead=0.7, **options).fit(X, y).clear_lead_ == 0.7


def test_a_second_look_mends_what_a_linear_model_cannot():
    """With every query in doubt it is as good as SVMs for all."""
    X, y = make_ring(900)
    first = LinearSVC().fit(X[:600], y[:600]).score(X[600:], y[600:])
    fitted = NeighborhoodSVC(first_look=LinearSVC(), clear_lead=1e6).fit(X[:600], y[:600])
    own = NeighborhoodSVC().fit(X[:600], y[:600])
    assert first < 0.8 < fitted.score(X[600:], y[600:])
    np.testing.assert_array_equal(fitted.predict(X[600:]), own.predict(X[600:]))


def test_without_a_lead_the_first_look_is_all():
    """Nothing is in doubt: labels and scores are those of the first look."""
    X, y, X_test, _ = make_parts(3)
    labels = np.array(["one", "three", "two"])[y]
    fitted = NeighborhoodSVC(first_look=quick(), clear_lead=0).fit(X, labels)
    first = quick().fit(X, labels)
    np.testing.assert_array_equal(fitted.predict(X_test), first.predict(X_test))
    np.testing.assert_allclose(fitted.decision_function(X_test), first.decision_function(X_test))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", ["sparse", "float32", "threads", "adaptive", "dann", "function"])
def test_kinds_of_rows_and_of_classifiers(n_classes, kind):
    """Whatever answers first and second, most labels are right, and threads play no part."""
    X, y, X_test, y_test = make_parts(n_classes)
    options = {"first_look": quick(), "random_state": 0}
    fitted = NeighborhoodSVC(**options)
    if kind == "sparse":
        X, X_test = sp.csr_array(X), sp.csr_array(X_test)
    if kind == "float32":
        X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    if kind in ("adaptive", "dann"):
        fitted = AdaptiveNeighborhoodSVC(
            metric="dann" if kind == "dann" else PCA(random_state=0), **options
        )
    if kind == "function":
        fitted.set_params(kernel=lambda A, B: (A @ B.T + 1) ** 2)
    scores = fitted.fit(X, y).decision_function(X_test)
    assert scores.dtype == X.dtype
    assert fitted.score(X_test, y_test) > 0.85
    fitted.set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(fitted.decision_function(X_test), scores)


def test_weights_reach_the_first_look():
    """Its scores are those of a fit with the same weights; a pipeline takes none."""
    X, y, X_test, _ = make_parts(3)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    fitted = NeighborhoodSVC(first_look=LogisticRegression(), class_weight={0: 3.0})
    fitted.fit(X, y, weights)
    first = LogisticRegression().fit(X, y, weights * np.where(y == 0, 3.0, 1.0))
    np.testing.assert_allclose(
        fitted.first_look_.decision_function(X_test), first.decision_function(X_test), rtol=1e-6
    )
    piped = NeighborhoodSVC(first_look=make_pipeline(PCA(2), quick()))
    assert piped.fit(X, y).score(X, y) > 0.8
    with pytest.raises(ValueError, match="first_look=Pipeline takes no sample_weight"):
        piped.fit(X, y, weights)


def test_the_seed_reaches_the_first_look():
    """Unless it has one of its own."""
    X, y, _, _ = make_parts(2)
    first = HistGradientBoostingClassifier(max_iter=2)
    fitted = NeighborhoodSVC(first_look=first, random_state=3).fit(X, y)
    assert fitted.first_look_.random_state == 3
    assert first.random_state is None
    fitted = NeighborhoodSVC(first_look=quick(), random_state=3).fit(X, y)
    assert fitted.first_look_.random_state == 0


@pytest.mark.parametrize("first_look", ["linear", LocallyLinearSVC, KNeighborsClassifier()])
def test_what_has_no_scores_cannot_look(first_look):
    """A class, a name or a classifier without scores is refused."""
    X, y, _, _ = make_parts(3)
    with pytest.raises(TypeError, match="first_look must be None or a classifier"):
        NeighborhoodSVC(first_look=first_look).fit(X, y)


def test_scores_of_pairs_are_refused():
    """One score per class is needed to tell which classes are in question."""
    X, y, _, _ = make_parts(4)
    with pytest.raises(ValueError, match="one score per class"):
        NeighborhoodSVC(first_look=SVC(decision_function_shape="ovo")).fit(X, y)


def test_one_first_answer_is_enough():
    """Kept models and a first look exclude each other; neither grows by partial_fit."""
    X, y, _, _ = make_parts(2)
    with pytest.raises(ValueError, match="leave one of them out"):
        NeighborhoodSVC(first_look=quick(), cache_neighborhoods=True).fit(X, y)
    assert not hasattr(NeighborhoodSVC(first_look=quick()), "partial_fit")
    refitted = NeighborhoodSVC(first_look=quick()).fit(X, y).set_params(first_look=None).fit(X, y)
    assert not hasattr(refitted, "first_look_")
