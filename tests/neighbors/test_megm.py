"""Tests of hyperlocal.neighbors.megm: MEGM from rows to a map."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from hyperlocal.data.labelled import LabelledRows
from hyperlocal.neighbors import megm_descent
from hyperlocal.neighbors.megm import in_typical_distances
from hyperlocal.neighbors.megm_descent import loss_and_gradient
from hyperlocal.preprocessing import MEGM
from hyperlocal.runtime.threads import Workers
from reference.problems import stored

ONE_THREAD = Workers(1)


def make_relevant(n_rows=240, n_noise=6, seed=0):
    """Two features decide between four quadrants; the others are noise, and larger."""
    X = np.random.default_rng(seed).standard_normal((n_rows, 2 + n_noise))
    y = 2 * (X[:, 0] > 0) + (X[:, 1] > 0)
    return X * np.r_[1, 1, np.full(n_noise, 1.5)], y


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"transformation": "diagonal"},
        {"n_components": 4},
        {"n_neighbors": 15},
        {"validation_fraction": 0, "max_iter": 30, "tol": 1e-2},
    ],
    ids=str,
)
def test_the_map_helps_neighbors(options):
    """Noise is turned down: one nearest neighbor errs much less in the learned space."""
    X, y = make_relevant()
    X_test, y_test = make_relevant(seed=1)
    plain = KNeighborsClassifier(1).fit(X, y).score(X_test, y_test)
    learned = MEGM(random_state=0, **options).fit(X, y)
    mapped = KNeighborsClassifier(1).fit(learned.transform(X), y)
    assert mapped.score(learned.transform(X_test), y_test) > plain + 0.1
    assert learned.score(X, y) > 0.7


def test_descent_lowers_the_loss():
    """The loss reached is below that of the start, and is what ``loss_`` says."""
    X, y = make_relevant()
    learned = MEGM(random_state=0).fit(X, y)
    one_hot, y = np.eye(4)[y], y.astype(np.int32)
    now, _ = loss_and_gradient(learned.components_, X, y, one_hot, ONE_THREAD)
    start = typical(X)[1] * np.eye(8)
    before, _ = loss_and_gradient(start, X, y, one_hot, ONE_THREAD)
    assert now == pytest.approx(learned.loss_)
    assert now < 0.8 * before


def typical(X):
    """Rows in typical distances, and their factor."""
    data = LabelledRows(X, np.zeros(len(X), np.int32), np.zeros(1), np.ones(len(X)))
    return in_typical_distances(data, np.eye(X.shape[1]), np.random.default_rng(0), ONE_THREAD)


def test_rows_are_scaled_by_neighbor_distances():
    """The mean squared distance to ten neighbors is one where the descent starts."""
    X, _ = make_relevant()
    rows = typical(X)[0].X
    distances = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    assert np.sort(distances, axis=1)[:, 1:11].mean() == pytest.approx(1)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)


HOSTILE = {
    "an offset": lambda X: X + 1e6,
    "a constant column": lambda X: np.column_stack([X, np.full(len(X), 1e8)]),
    "large units": lambda X: X * 1e60,
    "small units": lambda X: X * 1e-140,
}


@pytest.mark.parametrize("change", HOSTILE)
@pytest.mark.parametrize("options", [{}, {"n_neighbors": 10}, {"transformation": "diagonal"}])
def test_the_map_does_not_depend_on_origin_and_unit(options, change):
    """Rows that were moved, scaled or extended by a constant are told apart as before."""
    X, y = make_relevant(120)
    Z = HOSTILE[change](X)
    plain, changed = (MEGM(random_state=0, **options).fit(rows, y) for rows in (X, Z))
    assert plain.n_iter_ == changed.n_iter_
    assert changed.loss_ == pytest.approx(plain.loss_, rel=1e-4)
    assert changed.score(Z, y) == pytest.approx(plain.score(X, y), abs=0.02)


@pytest.mark.filterwarnings("ignore:The ranges of X's features differ")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("options", [{}, {"n_neighbors": 10}, {"transformation": "diagonal"}])
def test_descent_ends_on_rows_without_usable_digits(options, storage, dtype):
    """Timestamps beside small features: the descent ends, with a finite map."""
    X, y = make_relevant(120)
    X = np.column_stack([X, 1.7e9 + 86_400.0 * np.arange(len(X))])
    learned = MEGM(random_state=0, **options).fit(stored(X, dtype, storage), y)
    assert np.isfinite(learned.components_).all()


def test_a_descent_that_stalls_ends(monkeypatch):
    """Where no step lowers the loss, the descent ends, and a warning names the cause."""

    def uphill(A, *_):
        loss = float(np.square(A).sum())
        return loss, -2 * A

    monkeypatch.setattr(megm_descent, "loss_and_gradient", uphill)
    with pytest.warns(ConvergenceWarning, match="rounding errors exceed what a step gains"):
        learned = MEGM(random_state=0).fit(*make_relevant(60))
    assert learned.n_iter_ == 1


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_low_rank_starts_from_principal_axes(storage):
    """A map to fewer dimensions starts as the leading axes, up to one factor."""
    X, _ = make_relevant()
    start = MEGM(2)._start(stored(X, "float64", storage), np.random.default_rng(0))
    lengths = np.linalg.norm(start, axis=1)
    np.testing.assert_allclose(lengths, lengths[0])
    if storage == "dense":
        cosines = (start / lengths[:, None]) @ PCA(2).fit(X).components_.T
        np.testing.assert_allclose(np.abs(np.diag(cosines)), 1, atol=1e-6)


def test_training_stops_early():
    """On pure noise held-out rows gain nothing, and few iterations are made."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 5)), rng.integers(2, size=150)
    early = MEGM(random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter=40"):
        late = MEGM(validation_fraction=0, max_iter=40, tol=0).fit(X, y)
    assert early.n_iter_ < late.n_iter_ == 40
    assert early.loss_ > late.loss_


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 10}, {"transformation": "diagonal"}])
def test_results_do_not_depend_on_n_jobs(options):
    """The same bits for one thread and two."""
    X, y = make_relevant()
    one, two = (
        MEGM(n_jobs=n, random_state=0, max_iter=20, **options).fit(X, y).components_ for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("options", [{}, {"transformation": "diagonal"}, {"n_neighbors": 10}])
def test_sparse_rows_are_mapped_like_dense_ones(options):
    """CSR rows give the same map; a diagonal one keeps them sparse."""
    X, y = make_relevant(120)
    X[np.abs(X) < 0.5] = 0
    dense = MEGM(random_state=0, max_iter=5, **options).fit(X, y)
    sparse = MEGM(random_state=0, max_iter=5, **options).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-6)
    mapped = sparse.transform(sp.csr_array(X))
    assert sp.issparse(mapped) == (options.get("transformation") == "diagonal")
    mapped = mapped.toarray() if sp.issparse(mapped) else mapped
    np.testing.assert_allclose(mapped, dense.transform(X), atol=1e-5)


def test_single_precision_stays():
    """float32 rows give a float32 map and float32 rows."""
    X, y = make_relevant(100)
    learned = MEGM(random_state=0, max_iter=5).fit(X.astype(np.float32), y)
    assert learned.components_.dtype == np.float32
    assert learned.transform(X.astype(np.float32)).dtype == np.float32


def test_mapped_rows_do_not_depend_on_their_company():
    """A row alone is mapped to the same bits as among others."""
    X, y = make_relevant(300)
    learned = MEGM(random_state=0, max_iter=5).fit(X, y)
    together = learned.transform(X)
    alone = np.vstack([learned.transform(row[None]) for row in X[:20]])
    np.testing.assert_array_equal(alone, together[:20])


def test_pandas_names_and_pickles():
    """Feature names go in and out; a copy maps alike."""
    X, y = make_relevant(100)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
    learned = MEGM(3, random_state=0, max_iter=5).set_output(transform="pandas").fit(frame, y)
    mapped = learned.transform(frame)
    assert list(mapped.columns) == ["megm0", "megm1", "megm2"]
    copy = pickle.loads(pickle.dumps(learned))
    np.testing.assert_array_equal(copy.transform(frame), mapped)


def test_a_class_of_one_row():
    """Classes too small to hold rows out of stay in the training rows."""
    X, y = make_relevant(60)
    y[0] = 9
    learned = MEGM(random_state=0, max_iter=5).fit(X, y)
    assert np.isfinite(learned.components_).all()


def test_equal_rows():
    """Rows without any distance between them leave the start as it is."""
    learned = MEGM(random_state=0).fit(np.ones((12, 2)), np.arange(12) % 2)
    assert np.isfinite(learned.components_).all()


def test_verbose_writes_iterations(capsys):
    """Each iteration is written to stderr."""
    X, y = make_relevant(100)
    MEGM(random_state=0, max_iter=3, verbose=2).fit(X, y)
    assert "held_out_loss" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components"),
        ({"n_components": 9}, ValueError, "larger than the number of features"),
        ({"n_components": 2, "transformation": "diagonal"}, ValueError, "diagonal"),
        ({"transformation": "round"}, ValueError, "transformation"),
        ({"n_neighbors": "all"}, ValueError, "n_neighbors"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"tol": -1.0}, ValueError, "tol"),
        ({"validation_fraction": 1.0}, ValueError, "validation_fraction"),
        ({"n_iter_no_change": 0}, ValueError, "n_iter_no_change"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options, error, message):
    """The error names the argument."""
    with pytest.raises(error, match=message):
        MEGM(**options).fit(*make_relevant(40))


def test_too_wide_a_map_is_refused():
    """A map of thousands of features squared is refused; the error names n_components."""
    with pytest.raises(ValueError, match=r"4097 features.*give n_components"):
        MEGM().fit(*make_relevant(40, n_noise=4095))
