"""Tests of hyperlocal.estimators.second_look: rows of a low margin get SVMs of their own."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from estimators.data import Recorder, make_data, make_ring
from hyperlocal import LocallyLinearSVC, NeighborhoodSVC, SecondLookSVC, SupervisedAnchorSVC
from hyperlocal.estimators import looks, second_look
from hyperlocal.model.multiclass import candidate_classes
from hyperlocal.papers import AdaptiveNeighborhoodSVC
from reference import neighborhood as reference


def make_parts(n_classes):
    X, y = make_data(n_classes, n_rows=400)
    return X[::2], y[::2], X[1::2], y[1::2]


def quick(**options):
    return LocallyLinearSVC(4, n_neighbors=2, random_state=0, **options)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_of_a_low_margin_get_svms_between_their_candidates(n_classes):
    """Other rows score as by the first look, these as by LIBSVM on rows of the candidates."""
    X, y, X_test, _ = make_parts(n_classes)
    first = quick().fit(X, y)
    second = NeighborhoodSVC(gamma=0.5, tol=1e-7)
    fitted = SecondLookSVC(quick(), second, low_margin=0.8).fit(X, y)
    first_scores = first.decision_function(X_test).reshape(len(X_test), -1)
    scores = fitted.decision_function(X_test).reshape(first_scores.shape)
    candidates = candidate_classes(first_scores, 0.8)
    low = np.flatnonzero(candidates.sum(axis=1) > 1)
    assert 0 < len(low) < len(X_test) / 2
    np.testing.assert_array_equal(
        np.delete(scores, low, axis=0), np.delete(first_scores, low, axis=0)
    )
    near, _ = reference.nearest_rows(X, X_test, fitted.second_look_.n_neighbors_)
    for query in low:
        rows = near[query]
        of_candidates = candidates[query, y[rows]]
        rows = rows[of_candidates] if len(np.unique(y[rows[of_candidates]])) > 1 else rows
        expected = reference.scores(
            X, y, np.full(len(X), 10.0), n_classes, X_test[[query]], rows[None], "rbf", 0.5
        )
        np.testing.assert_allclose(scores[query], expected[0], atol=1e-4)


def test_the_default_looks():
    """LocallyLinearSVC first, then NeighborhoodSVC."""
    X, y, _, _ = make_parts(2)
    fitted = SecondLookSVC(low_margin=0.5, n_jobs=2, random_state=0).fit(X, y)
    assert isinstance(fitted.first_look_, LocallyLinearSVC)
    assert isinstance(fitted.second_look_, NeighborhoodSVC)
    assert fitted.first_look_.n_jobs == fitted.second_look_.n_jobs == 2
    given = SecondLookSVC(second_look=NeighborhoodSVC(n_jobs=1), low_margin=0.5, n_jobs=2)
    given.fit(X, y)
    assert given.second_look_.n_jobs == 1


def test_low_margin_is_chosen_on_held_out_rows():
    """Where neighbors predict better it is positive; where labels are noise around a line, 0."""
    X, y = make_ring(900)
    assert SecondLookSVC(LinearSVC(), random_state=0).fit(X, y).low_margin_ > 0
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(3000, 5)), rng.uniform(0.5, 2, 3000)
    noisy = (X[:, 0] > 0) ^ (rng.uniform(size=3000) < 0.3)
    chosen = SecondLookSVC(LinearSVC(), random_state=0)
    assert chosen.fit(X, noisy, sample_weight=weights).low_margin_ == 0
    assert chosen.fit(X, noisy).low_margin_ == 0
    assert chosen.second_look_ is None
    assert chosen.trial_.tried == looks.MOST_TRIED < chosen.trial_.low <= chosen.trial_.held_out
    first_scores = chosen.first_look_.decision_function(X)
    np.testing.assert_array_equal(chosen.decision_function(X), first_scores)


def test_no_second_look_is_fitted_if_the_first_errs_too_rarely(monkeypatch):
    """The trial then fits the first look alone, with what that chose for all rows."""
    X, y = make_ring(900)
    fitted, kept = [], second_look.fit_look

    def recorded(look, data, *given, **changes):
        fitted.append((type(look), data.X.shape[0], changes.get("C")))
        return kept(look, data, *given, **changes)

    monkeypatch.setattr(second_look, "fit_look", recorded)
    model = SecondLookSVC(random_state=0).fit(X, y)
    assert model.trial_.first_errors <= 1
    assert model.trial_.tried == 0
    assert fitted == [
        (LocallyLinearSVC, 900, None), (LocallyLinearSVC, 676, model.first_look_.C_)
    ]  # fmt: skip


def test_the_trial_is_silent():
    """Callbacks are called, and warnings issued, as often as without it."""
    pytest.importorskip("sklearn.callback")
    X, y, _, _ = make_parts(3)
    logs, counts = [], []
    for low_margin in (0.5, "auto"):
        recorder, first = Recorder(), quick(max_iter=1, tol=1e-9)
        fitted = SecondLookSVC(first, low_margin=low_margin, random_state=0)
        with pytest.warns(ConvergenceWarning) as warned:
            fitted.set_callbacks(recorder).fit(X, y)
        logs.append(recorder.log)
        counts.append(len(warned))
    assert logs[0] == logs[1]
    assert counts[0] == counts[1] == 1


def test_few_rows_choose_nothing():
    """Below 40 rows "auto" is 0.5; a number is used as it is."""
    X, y, _, _ = make_parts(4)
    assert SecondLookSVC(quick()).fit(X[:30], y[:30]).low_margin_ == 0.5
    assert SecondLookSVC(quick(), low_margin=0.7).fit(X, y).low_margin_ == 0.7


def test_a_second_look_mends_what_a_linear_model_cannot():
    """With every margin low it is as good as SVMs for all rows."""
    X, y = make_ring(900)
    first = LinearSVC().fit(X[:600], y[:600]).score(X[600:], y[600:])
    fitted = SecondLookSVC(LinearSVC(), low_margin=1e6).fit(X[:600], y[:600])
    own = NeighborhoodSVC().fit(X[:600], y[:600])
    assert first < 0.8 < fitted.score(X[600:], y[600:])
    np.testing.assert_array_equal(fitted.predict(X[600:]), own.predict(X[600:]))


def test_without_low_margins_there_is_the_first_look_alone():
    """With 0, labels and scores are those of the first look."""
    X, y, X_test, _ = make_parts(3)
    labels = np.array(["one", "three", "two"])[y]
    fitted = SecondLookSVC(quick(), low_margin=0).fit(X, labels)
    first = quick().fit(X, labels)
    np.testing.assert_array_equal(fitted.predict(X_test), first.predict(X_test))
    np.testing.assert_allclose(fitted.decision_function(X_test), first.decision_function(X_test))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", ["sparse", "float32", "threads", "adaptive", "dann", "function"])
def test_kinds_of_rows_and_of_classifiers(n_classes, kind):
    """For all kinds of looks most labels are right, and threads play no part."""
    X, y, X_test, y_test = make_parts(n_classes)
    fitted = SecondLookSVC(quick(), random_state=0)
    if kind == "sparse":
        X, X_test = sp.csr_array(X), sp.csr_array(X_test)
    if kind == "float32":
        X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    if kind in ("adaptive", "dann"):
        metric = "dann" if kind == "dann" else PCA(random_state=0)
        fitted.set_params(second_look=AdaptiveNeighborhoodSVC(metric=metric))
    if kind == "function":
        fitted.set_params(second_look=NeighborhoodSVC(kernel=lambda A, B: (A @ B.T + 1) ** 2))
    scores = fitted.fit(X, y).decision_function(X_test)
    assert scores.dtype == X.dtype
    assert fitted.score(X_test, y_test) > 0.85
    fitted.set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(fitted.decision_function(X_test), scores)


def test_weights_reach_the_first_look():
    """Its scores are those of a fit with the same weights."""
    X, y, X_test, _ = make_parts(3)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    fitted = SecondLookSVC(LogisticRegression(), class_weight={0: 3.0})
    fitted.fit(X, y, weights)
    first = LogisticRegression().fit(X, y, weights * np.where(y == 0, 3.0, 1.0))
    np.testing.assert_allclose(
        fitted.first_look_.decision_function(X_test), first.decision_function(X_test), rtol=1e-6
    )


@pytest.mark.parametrize("given", ["sample_weight", "class_weight"])
@pytest.mark.parametrize("is_nested", [False, True])
def test_weights_reach_the_last_step_of_a_pipeline(given, is_nested):
    """The first look is the pipeline fitted with weights of its last step."""
    X, y, X_test, _ = make_parts(3)
    weights = np.where(y == 0, 5.0, 1.0)
    last = make_pipeline(StandardScaler(), LogisticRegression()) if is_nested else None
    fitted = SecondLookSVC(make_pipeline(PCA(2, random_state=0), last or LogisticRegression()))
    if given == "sample_weight":
        fitted.fit(X, y, sample_weight=weights)
    else:
        fitted.set_params(class_weight={0: 5.0}).fit(X, y)
    name = "pipeline__logisticregression" if is_nested else "logisticregression"
    expected = clone(fitted.first_look).fit(X, y, **{f"{name}__sample_weight": weights})
    plain = clone(fitted.first_look).fit(X, y)
    scores = fitted.first_look_.decision_function(X_test)
    np.testing.assert_allclose(scores, expected.decision_function(X_test), rtol=1e-6)
    assert np.abs(scores - plain.decision_function(X_test)).max() > 0.1


def test_routed_weights_reach_the_steps_that_request_them():
    """With metadata routing, the requests of a pipeline's steps hold; an unset one is an error."""
    X, y, _, _ = make_parts(3)
    weights = np.where(y == 0, 5.0, 1.0)
    with config_context(enable_metadata_routing=True):
        last = LogisticRegression().set_fit_request(sample_weight=True)
        inner = SecondLookSVC(make_pipeline(PCA(2, random_state=0), last))
        inner.set_fit_request(sample_weight=True)
        fitted = make_pipeline(PCA(random_state=0), inner).fit(X, y, sample_weight=weights)[-1]
        rows = PCA(random_state=0).fit_transform(X)
        expected = clone(inner.first_look).fit(rows, y, sample_weight=weights)
        np.testing.assert_allclose(
            fitted.first_look_.decision_function(rows), expected.decision_function(rows), rtol=1e-6
        )
        unset = SecondLookSVC(make_pipeline(PCA(2), LogisticRegression()))
        with pytest.raises(UnsetMetadataPassedError, match="set_fit_request"):
            unset.fit(X, y, sample_weight=weights)


def test_a_first_look_without_weights_is_named():
    """Weights are refused where the classifier, or the last step of a pipeline, takes none."""
    X, y, _, _ = make_parts(3)
    unweighted = LinearDiscriminantAnalysis()
    piped = SecondLookSVC(make_pipeline(PCA(2), unweighted))
    assert piped.fit(X, y).score(X, y) > 0.8
    with pytest.raises(ValueError, match=r"the last step of first_look, LinearDisc.* takes no s"):
        piped.fit(X, y, np.full(len(X), 2.0))
    with pytest.raises(ValueError, match=r"first_look, LinearDisc.* takes no sample_weight"):
        SecondLookSVC(unweighted, class_weight={0: 2.0}).fit(X, y)


def test_the_seed_reaches_the_first_look():
    """Unless it has one of its own."""
    X, y, _, _ = make_parts(2)
    first = HistGradientBoostingClassifier(max_iter=2)
    fitted = SecondLookSVC(first, random_state=3).fit(X, y)
    assert fitted.first_look_.random_state == 3
    assert first.random_state is None
    fitted = SecondLookSVC(quick(), random_state=3).fit(X, y)
    assert fitted.first_look_.random_state == 0


def test_nested_arguments_can_be_searched():
    """Arguments of both looks are those of a grid search."""
    X, y, _, _ = make_parts(2)
    grid = {"first_look__C": [1.0, 3.0], "second_look__C": [3.0], "low_margin": [0.5]}
    search = GridSearchCV(SecondLookSVC(quick(), NeighborhoodSVC()), grid, cv=2).fit(X, y)
    assert search.best_estimator_.second_look_.C == 3.0
    assert search.best_score_ > 0.8


def test_other_first_looks():
    """Any of our classifiers may look first; verbose writes a line per look."""
    X, y, X_test, y_test = make_parts(3)
    first = SupervisedAnchorSVC(6, n_neighbors=3, random_state=0)
    assert SecondLookSVC(first, random_state=0).fit(X, y).score(X_test, y_test) > 0.85


def test_verbose_writes_a_line_per_look(capsys):
    """The second one has the margin in use."""
    X, y, _, _ = make_parts(2)
    SecondLookSVC(quick(), low_margin=0.5, verbose=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["[SecondLookSVC]", "look", "1"], ["[SecondLookSVC]", "look", "2"],
    ]  # fmt: skip
    assert "low_margin 0.5" in lines[1]


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first_look", ["linear", LocallyLinearSVC, KNeighborsClassifier()])
def test_a_first_look_needs_scores(first_look):
    """A class, a name or a classifier without scores is refused."""
    X, y, _, _ = make_parts(3)
    with pytest.raises(TypeError, match="first_look must be None or a classifier"):
        SecondLookSVC(first_look).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("second_look", "svc", TypeError),
        ("second_look", SVC(), TypeError),
        ("second_look", NeighborhoodSVC, TypeError),
        ("second_look", NeighborhoodSVC(cache_neighborhoods=True), ValueError),
        ("low_margin", -1, ValueError),
        ("low_margin", "large", ValueError),
        ("low_margin", None, TypeError),
        ("n_jobs", 0, ValueError),
        ("verbose", -1, ValueError),
        ("class_weight", "heavy", ValueError),
    ],
    ids=str,
)
def test_bad_arguments_are_named(name, value, error):
    """The error names the argument."""
    X, y, _, _ = make_parts(2)
    with pytest.raises(error, match=name):
        SecondLookSVC(**{name: value}).fit(X, y)


def test_scores_of_pairs_are_refused():
    """One score per class is needed to compare classes."""
    X, y, _, _ = make_parts(4)
    with pytest.raises(ValueError, match="one score per class"):
        SecondLookSVC(SVC(decision_function_shape="ovo")).fit(X, y)
