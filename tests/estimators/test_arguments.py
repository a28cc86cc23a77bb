"""Tests of what the classifiers refuse: bad arguments, bad rows, labels, weights and batches."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

from estimators.data import every_classifier, make_data, model

# Bad arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("n_anchors", 0, ValueError),
        ("n_anchors", 2.5, TypeError),
        ("n_anchors", True, TypeError),
        ("n_anchors", None, TypeError),
        ("n_anchors", "many", ValueError),
        ("n_neighbors", 0, ValueError),
        ("n_neighbors", 2.0, TypeError),
        ("coding", "hazy", ValueError),
        ("coding", None, ValueError),
        ("coding", ["soft"], ValueError),
        ("beta", 0, ValueError),
        ("beta", -1.0, ValueError),
        ("beta", np.nan, ValueError),
        ("beta", "sharp", ValueError),
        ("beta", None, TypeError),
        ("anchors", "somewhere", ValueError),
        ("anchors", None, ValueError),
        ("anchors", 3, ValueError),
        ("anchors", np.zeros(5), ValueError),
        ("anchors", np.zeros((8, 4)), ValueError),
        ("anchors", np.zeros((9, 5)), ValueError),
        ("anchors", np.zeros((2, 5)), ValueError),
        ("anchors", np.full((8, 5), np.nan), ValueError),
        ("feature_map", "cubic", ValueError),
        ("feature_map", 3, TypeError),
        ("feature_map", PCA, TypeError),
        ("code_on", "output", ValueError),
        ("code_on", 3, TypeError),
        ("code_on", None, TypeError),
        ("code_on", PCA, TypeError),
        ("code_on", [[0, 1]], TypeError),
        ("code_on", [], ValueError),
        ("code_on", [5], ValueError),
        ("code_on", [-6], ValueError),
        ("code_on", [0.5], ValueError),
        ("code_on", ["x0"], ValueError),
        ("code_on", [True, False], ValueError),
        ("code_on", [False] * 5, ValueError),
        ("normalize", "yes", TypeError),
        ("C", 0, ValueError),
        ("C", -1.0, ValueError),
        ("C", np.inf, ValueError),
        ("C", "1", TypeError),
        ("loss", "logistic", ValueError),
        ("loss", None, ValueError),
        ("multi_class", "ovo", ValueError),
        ("solver", "newton", ValueError),
        ("max_iter", 0, ValueError),
        ("max_iter", 10.0, TypeError),
        ("tol", -1e-3, ValueError),
        ("tol", None, TypeError),
        ("intercept_scaling", -1, ValueError),
        ("intercept_scaling", "1", TypeError),
        ("class_weight", "equal", ValueError),
        ("class_weight", [1, 2], ValueError),
        ("class_weight", {0: -1.0}, ValueError),
        ("class_weight", {"zero": 2.0}, ValueError),
        ("n_jobs", 0, ValueError),
        ("n_jobs", 1.5, TypeError),
        ("n_jobs", "all", TypeError),
        ("warm_start", 1, TypeError),
        ("verbose", -1, ValueError),
        ("verbose", "loud", TypeError),
    ],
    ids=str,
)
def test_bad_arguments_are_named(name, value, error):
    """An argument that makes no sense raises at ``fit``, by its name."""
    with pytest.raises(error, match=name):
        model(**{name: value}).fit(*make_data())


def test_a_bad_random_state():
    """The error for what is no seed names the argument."""
    with pytest.raises(ValueError, match="random_state must be"):
        model(random_state="today").fit(*make_data())


@every_classifier
def test_numpy_numbers_are_numbers(Classifier):
    """Arguments may be numpy scalars, as a grid search gives them."""
    X, y = make_data()
    options = {"n_neighbors": np.int32(3), "C": np.float32(2), "max_iter": np.int64(500)}
    assert Classifier(np.int64(9), normalize=np.True_, **options).fit(X, y).score(X, y) > 0.8


def test_a_missing_clarabel_is_told(monkeypatch):
    """``solver="qp"`` without its extra says what to install."""
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[qp\]"):
        model(solver="qp").fit(*make_data())


# Bad data -----------------------------------------------------------------------------------------


def with_value(value):
    X, _ = make_data()
    X[7, 2] = value
    return X


@every_classifier
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (with_value(np.nan), "Input X contains NaN"),
        (with_value(np.inf), "Input X contains infinity"),
        (sp.csr_array(with_value(np.nan)), "Input X contains NaN"),
        (np.zeros((0, 5)), "0 sample"),
        (np.zeros((90, 0)), "0 feature"),
        (np.zeros(90), "Expected 2D array"),
        (np.zeros((90, 2, 2)), "dim 3"),
        (np.ones((90, 2)) * 1j, "Complex data not supported"),
        (np.full((90, 2), "a", dtype=object), "could not convert string"),
        (np.full((90, 2), "a"), "could not convert string|dtype"),
    ],
    ids=[
        "NaN",
        "inf",
        "CSR NaN",
        "no rows",
        "no features",
        "1-D",
        "3-D",
        "complex",
        "object",
        "str",
    ],
)
def test_bad_rows(Classifier, X, message):
    """Rows that are no finite table of numbers are refused."""
    with pytest.raises(ValueError, match=message):
        Classifier().fit(X, np.arange(len(X) if X.ndim != 2 else X.shape[0]) % 2)


@every_classifier
@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (np.zeros(90), ValueError, "y has one class only, 0.0"),
        (np.arange(80) % 2, ValueError, "inconsistent numbers of samples"),
        (np.linspace(0, 1, 90), ValueError, "Unknown label type"),
        (np.where(np.arange(90) % 2, np.nan, 1.0), ValueError, "Input y contains NaN"),
        (np.zeros((90, 2)), ValueError, "y should be a 1d array"),
        (None, ValueError, "y cannot be None|requires y to be passed"),
        (np.array(["a", 1] * 45, dtype=object), TypeError, "y mixes labels"),
        (np.array([1, "a"] * 45, dtype=object), TypeError, "y mixes labels"),
        (["a", None] * 45, ValueError, "y contains 45 missing labels; leave these rows out"),
        (pd.Series(["a", None] * 45, dtype="string"), ValueError, "45 missing labels"),
    ],
    ids=[
        "one class",
        "short",
        "continuous",
        "NaN",
        "2-D",
        "none",
        "mixed",
        "mixed, numbers first",
        "missing",
        "missing of pandas",
    ],
)
def test_bad_labels(Classifier, y, error, message):
    """Labels that are none are refused."""
    with pytest.raises(error, match=message):
        Classifier().fit(make_data()[0], y)


@every_classifier
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (-np.ones(90), ValueError, "sample_weight contains negative"),
        (np.zeros(90), ValueError, "sample_weight is zero for every row"),
        (np.full(90, np.nan), ValueError, "sample_weight contains NaN"),
        (np.full(90, np.inf), ValueError, "sample_weight contains NaN or infinity"),
        (np.ones(80), ValueError, r"sample_weight has shape \(80,\)"),
        (np.ones((90, 1)), ValueError, r"sample_weight has shape \(90, 1\)"),
        (["heavy"] * 90, TypeError, "sample_weight must hold real numbers"),
        (np.ones(90) * 1j, TypeError, "sample_weight must hold real numbers"),
        ((make_data()[1] == 0) * 1, ValueError, "one class only"),
    ],
    ids=["negative", "zero", "NaN", "inf", "short", "column", "str", "complex", "one class"],
)
def test_bad_weights(Classifier, weights, error, message):
    """Weights that are none are refused by name."""
    with pytest.raises(error, match=message):
        Classifier().fit(*make_data(), sample_weight=weights)


@every_classifier
def test_bad_rows_at_prediction(Classifier):
    """Prediction checks its rows as training does."""
    fitted = Classifier(random_state=0).fit(*make_data())
    for method in (fitted.predict, fitted.decision_function, fitted.local_coef):
        with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 5"):
            method(np.zeros((3, 4)))
        with pytest.raises(ValueError, match="Expected 2D array"):
            method(np.zeros(5))
        with pytest.raises(ValueError, match="0 sample"):
            method(np.zeros((0, 5)))
        with pytest.raises(ValueError, match="contains NaN"):
            method(with_value(np.nan))


@every_classifier
@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e10), (np.float64, 1e100)])
def test_rows_too_large_to_multiply(Classifier, dtype, size):
    """Values whose products overflow are refused, in training and prediction alike."""
    X, y = make_data(dtype=dtype)
    fitted = Classifier(random_state=0).fit(X, y)
    for method in (fitted.predict, lambda rows: fitted.fit(rows, y)):
        with pytest.raises(ValueError, match=f"overflow in {np.dtype(dtype)}.*Scale the features"):
            method(X * dtype(size))


@every_classifier
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_wild_scales_are_warned_of(Classifier, convert):
    """Features that differ in scale by a million give a warning that says what to do."""
    X, y = make_data()
    model = Classifier()
    if "scale" in model.get_params():  # scaled inside by default
        model.set_params(scale=None)
    with pytest.warns(UserWarning, match=r"differ by a factor of 1e\+06.*StandardScaler"):
        model.fit(convert(X * [1e6, 1, 1, 1, 1]), y)


# Bad batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({}, "classes must be given at the first call"),
        ({"classes": [0]}, "classes must name at least two"),
        ({"classes": [0, 2]}, r"labels that are not in classes: \[1\]"),
        ({"classes": [0, 1], "sample_weight": np.zeros(90)}, "sample_weight is zero"),
    ],
    ids=["missing", "one", "unknown", "weightless"],
)
def test_bad_first_batches(batch, message):
    """The first batch must name its classes, and later a good one may follow."""
    X, y = make_data()
    streamed = model(solver="sgd")
    with pytest.raises(ValueError, match=message):
        streamed.partial_fit(X, y, **batch)
    assert streamed.partial_fit(X, y, classes=[0, 1]).n_iter_ == 1


def test_bad_later_batches():
    """Later batches must have the features and classes of the first."""
    X, y = make_data()
    streamed = model(solver="sgd").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="expecting 5 features"):
        streamed.partial_fit(X[:, :4], y)
    with pytest.raises(ValueError, match=r"labels that are not in classes: \[2\]"):
        streamed.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match=r"classes=\[0, 1, 2\] differ from those of the first"):
        streamed.partial_fit(X, y, classes=[0, 1, 2])


def test_only_sgd_streams():
    """``partial_fit`` exists with ``solver="sgd"`` alone, and says so."""
    assert hasattr(model(solver="sgd"), "partial_fit")
    assert not hasattr(model(), "partial_fit")
    with pytest.raises(AttributeError) as raised:
        model().partial_fit(*make_data())
    assert "needs solver='sgd'" in str(raised.value.__cause__)
