"""Tests of PegasosSVC, PegasosRegressor, SDCASVC and KernelPegasosSVC: what they promise."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from estimators.data import Recorder, interrupt, make_data
from hyperlocal.export.sizes import count_numbers
from hyperlocal.linear import SDCASVC, KernelPegasosSVC, PegasosRegressor, PegasosSVC

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

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


def fresh(model, **options):
    return clone(model).set_params(random_state=0, **options)


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
