"""Tests of hyperlocal.data.checks: what users give becomes clean arrays or a clear error."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from hyperlocal.data.checks import (
    check_known_classes,
    check_labelled_rows,
    check_rows,
    check_sample_weight,
    check_valued_rows,
    warn_about_scales,
)
from hyperlocal.data.labelled import (
    merge_equal_rows,
)
from hyperlocal.data.rows import canonical
from reference.problems import every_storage, make_rows
from reference.rows import written_out


class Model(BaseEstimator):
    """Something to remember features on."""


Y = np.arange(40) % 3


def labelled(X=None, y=Y, **options):
    return check_labelled_rows(Model(), make_rows() if X is None else X, y, **options)


def test_text_is_no_value():
    """A regression of text names y."""
    with pytest.raises(ValueError, match=r"y holds text, but Model predicts numbers.*classifier"):
        check_valued_rows(Model(), make_rows()[:3], np.array(["a", "b", "c"]))


# Rows ---------------------------------------------------------------------------------------------


@every_storage
def test_good_rows_are_not_copied(dtype, storage):
    """Rows in the right form are taken as they are."""
    X = make_rows(dtype, storage)
    checked = check_rows(Model(), X, reset=True)
    memory, taken = (X.data, checked.data) if storage == "csr" else (X, checked)
    assert np.shares_memory(memory, taken)
    assert checked.dtype == X.dtype


@pytest.mark.parametrize(
    "given",
    [
        np.asfortranarray(make_rows()),
        make_rows()[::2][:, ::-1],
        make_rows().round().astype(int),
        make_rows().tolist(),
        pd.DataFrame(make_rows("float32")),
        make_rows().astype(np.float16),
        make_rows() > 0,
    ],
    ids=["fortran", "strided", "integers", "lists", "frame", "half", "booleans"],
)
def test_other_arrays_are_converted(given):
    """Any numeric table becomes a contiguous float array of the same values."""
    checked = check_rows(Model(), given, reset=True)
    assert checked.dtype in (np.float32, np.float64)
    assert checked.flags.c_contiguous
    np.testing.assert_array_equal(checked, np.asarray(given, dtype=checked.dtype))


@pytest.mark.parametrize("kind", [sp.coo_array, sp.csc_matrix, sp.csr_matrix, sp.lil_array])
def test_sparse_rows_become_csr(kind):
    """Every sparse format is read as CSR."""
    checked = check_rows(Model(), kind(make_rows()), reset=True)
    assert checked.format == "csr"
    np.testing.assert_array_equal(checked.toarray(), make_rows())


def test_duplicate_and_unsorted_entries_are_merged():
    """CSR entries in any order, some given twice, are sorted and summed in a copy."""
    X = sp.csr_array(
        (np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    clean = canonical(X)
    assert clean.has_canonical_format
    np.testing.assert_array_equal(clean.toarray(), [[2, 0, 5], [0, 8, 0]])
    np.testing.assert_array_equal(X.data, [1, 2, 4, 8])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@every_storage
def test_non_finite_rows_are_refused(bad, dtype, storage):
    """NaN and infinity raise."""
    X = make_rows(dtype, storage)
    (X.data if storage == "csr" else X.ravel())[3] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        check_rows(Model(), X, reset=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        (np.zeros(3), "Expected 2D array"),
        (np.zeros((2, 2, 2)), "dim"),
        (np.array([["a", "b"]]), "dtype|convert"),
        (np.zeros((2, 2)) + 1j, "Complex"),
    ],
    ids=["no rows", "no features", "1-D", "3-D", "strings", "complex"],
)
def test_what_is_no_table_is_refused(given, message):
    """Empty tables, other dimensions and other types raise."""
    with pytest.raises(ValueError, match=message):
        check_rows(Model(), given, reset=True)


def test_features_are_remembered():
    """Later rows must have the features of the first."""
    model = Model()
    check_rows(model, make_rows(), reset=True)
    assert model.n_features_in_ == 5
    with pytest.raises(ValueError, match="expecting 5 features"):
        check_rows(model, make_rows(n_features=4), reset=False)


# Labels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels", [np.array([5, -1, 9]), np.array(["b", "a", "c"]), np.array([1.0, 0.0, 2.0])], ids=str
)
def test_labels_become_codes(labels):
    """Targets index the sorted distinct labels."""
    data = labelled(y=labels[Y])
    np.testing.assert_array_equal(data.classes, np.sort(labels))
    np.testing.assert_array_equal(data.classes[data.target], labels[Y])
    assert data.target.dtype == np.int32


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(40), "one class"),
        (np.linspace(0, 1, 40), "Unknown label type"),
        (Y[:39], "inconsistent numbers of samples"),
        (np.where(Y > 0, np.nan, 1.0), "NaN"),
    ],
    ids=["one class", "continuous", "too few", "NaN"],
)
def test_bad_labels_are_refused(y, message):
    """One class, continuous targets, missing labels and wrong lengths raise."""
    with pytest.raises(ValueError, match=message):
        labelled(y=y)


def test_labels_known_beforehand():
    """Given classes keep their codes where a batch lacks some, and unknown labels raise."""
    classes = np.array([0, 1, 2, 7])
    data = labelled(classes=classes)
    np.testing.assert_array_equal(data.classes, classes)
    np.testing.assert_array_equal(data.target, Y)
    with pytest.raises(ValueError, match=r"not in classes: \[2\]"):
        labelled(classes=classes[[0, 1, 3]])


# Weights ------------------------------------------------------------------------------------------


def test_no_weights_are_ones():
    """Without weights every row weighs one; one number serves all rows."""
    np.testing.assert_array_equal(check_sample_weight(None, 3), [1, 1, 1])
    np.testing.assert_array_equal(check_sample_weight(2, 3), [2, 2, 2])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(39), r"sample_weight has shape \(39,\)"),
        (np.ones((40, 1)), r"sample_weight has shape \(40, 1\)"),
        (np.full(40, np.nan), "sample_weight contains NaN"),
        (np.full(40, np.inf), "sample_weight contains NaN or infinity"),
        (-np.ones(40), "negative weights"),
        (np.zeros(40), "zero for every row"),
    ],
    ids=["length", "shape", "NaN", "infinity", "negative", "zero"],
)
def test_bad_weights_are_refused(weights, message):
    """Weights of the wrong shape, negative, non-finite or all zero raise by name."""
    with pytest.raises(ValueError, match=message):
        check_sample_weight(weights, 40)


@every_storage
def test_rows_of_weight_zero_are_left_out(dtype, storage):
    """A row of weight zero is no row: neither its features nor its label count."""
    X = make_rows(dtype, storage)
    weights = np.where(Y == 2, 0.0, 1.5)
    data = labelled(X, sample_weight=weights)
    np.testing.assert_array_equal(data.classes, [0, 1])
    np.testing.assert_array_equal(written_out(data.X), written_out(X)[Y != 2])
    assert (data.sample_weight == 1.5).all()


@every_storage
def test_it_is_known_where_rows_went(dtype, storage):
    """Numbers of merged rows are shared among the given rows, by their weights."""
    X = make_rows(dtype, storage)
    X = sp.vstack([X, X], format="csr") if storage == "csr" else np.vstack([X, X])
    y, weights = np.tile(Y, 2), np.random.default_rng(0).integers(0, 3, 80).astype(float)
    data = merge_equal_rows(labelled(X, y, sample_weight=weights))
    totals = data.sample_weight[:, None]
    np.testing.assert_allclose(data.spread(totals)[:, 0], weights)
    first = data.given_rows()
    assert (weights[first] > 0).all()
    np.testing.assert_array_equal(written_out(X)[first], written_out(data.X))
    np.testing.assert_array_equal(y[first], data.classes[data.target])
    for given in range(80):
        if weights[given] > 0:
            assert first[data.origin.row[given]] <= given


def test_rows_that_stay_need_no_origin():
    """Where no row is left out or merged, rows are the given ones."""
    data = labelled()
    assert data.origin is None
    np.testing.assert_array_equal(data.given_rows(), np.arange(40))
    values = np.ones((40, 2))
    assert data.spread(values) is values


@every_storage
def test_values_of_a_regression(dtype, storage):
    """Values are numbers of the rows' dtype; rows of weight zero are left out."""
    y, weights = np.linspace(-1, 1, 40), np.arange(40) % 2
    data = check_valued_rows(Model(), make_rows(dtype, storage), y, weights)
    values = data.classes[data.target]
    assert values.dtype == dtype
    np.testing.assert_allclose(values, y[1::2], rtol=1e-6)
    with pytest.raises(ValueError, match="NaN"):
        check_valued_rows(Model(), make_rows(), np.full(40, np.nan))


def test_known_classes():
    """Labels are given at the first call, and stay."""
    assert check_known_classes([2, 1, 1], None).tolist() == [1, 2]
    assert check_known_classes(None, np.array([1, 2])).tolist() == [1, 2]
    for given, fitted, message in [
        (None, None, "must be given"), ([1], None, "two classes"), ([1, 3], [1, 2], "differ"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            check_known_classes(given, None if fitted is None else np.array(fitted))


@pytest.mark.parametrize("class_weight", [{0: 2.0, 2: 0.5}, {0: 2.0, 1: 1.0, 2: 0.5}])
def test_class_weights_multiply(class_weight):
    """A class weight multiplies the weights of its rows; classes not named weigh one."""
    weights = np.linspace(1, 2, 40)
    data = labelled(sample_weight=weights, class_weight=class_weight)
    np.testing.assert_allclose(data.sample_weight, weights * np.array([2.0, 1.0, 0.5])[Y])


def test_balanced_class_weights():
    """Balanced classes weigh the same in total, and all rows as much as before."""
    y = np.repeat([0, 1, 2], [4, 6, 30])
    data = labelled(y=y, class_weight="balanced")
    np.testing.assert_allclose(np.bincount(y, weights=data.sample_weight), 40 / 3)


@pytest.mark.parametrize("class_weight", ["balance", {0: -1.0}, {0: 0.0}, {1: np.nan}, 3])
def test_bad_class_weights_are_refused(class_weight):
    """Unknown names and weights that are not positive raise by name."""
    with pytest.raises(ValueError, match="class_weight must"):
        labelled(class_weight=class_weight)


# Scales -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_wild_scales_are_warned_of(convert):
    """Features on wildly different scales give a warning that says what to do."""
    X = make_rows(n_features=2) * [1.0, 1e7]
    with pytest.warns(UserWarning, match="scale the features"):
        warn_about_scales(convert(X))


def test_ranges_that_cannot_be_divided():
    """Their ratio is infinite, and overflows without a warning of its own."""
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 1e-310, 1e10]
    with pytest.warns(UserWarning, match="differ by a factor of inf"):
        warn_about_scales(X)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("load", "n"), [(load_wine, "11 of 13"), (load_breast_cancer, "2. of 30")])
def test_measurements_in_their_units_are_warned_of(load, n, convert):
    """Tables of measurements, most of which distances ignore, give a warning that counts them."""
    with pytest.warns(UserWarning, match=f"and {n} features.*less than 1% of squared distances"):
        warn_about_scales(convert(load().data))


@pytest.mark.parametrize("n_others", [2, 8])
def test_many_small_features_are_warned_of_before_few(n_others):
    """A two-hundredth of the others' range is warned of if a quarter of the features has it."""
    X = make_rows(n_features=n_others + 1)
    X[:, 0] *= 0.005
    assert bool(scale_warnings(X)) == (n_others == 2)


def test_features_weighted_on_purpose_are_not_warned_of():
    """Ranges that differ by less than a hundred are left alone."""
    assert not scale_warnings(make_rows(n_features=5) * [2.0, 0.5, 1.0, 3.0, 0.05])


def tables_of_similar_scales():
    """Rows for which distances are as they should be."""
    rng = np.random.default_rng(0)
    wine = StandardScaler().fit_transform(load_wine().data)
    categories = rng.zipf(1.5, size=(len(wine), 1)).clip(max=200)
    one_hot = OneHotEncoder(sparse_output=False).fit_transform(categories)
    return {
        "moderate and constant": make_rows(n_features=3) * [1.0, 10.0, 0.0],
        "one feature": make_rows(n_features=1) * 1e6,
        "two rows": np.array([[0.0, 0.0], [1.0, 30.0]]),
        "all constant": np.full((5, 3), 7.0),
        "standardised": wine,
        "ranges of one": MinMaxScaler().fit_transform(load_wine().data),
        "one-hot": one_hot,
        "standardised and one-hot": np.hstack([wine, one_hot]),
        "pixels": load_digits().data,
        "components of pixels": PCA(40, random_state=0).fit_transform(load_digits().data),
        "components of a table": PCA().fit_transform(wine),
        "word counts": rng.poisson(20 / np.arange(1, 1001), size=(500, 1000)).astype(float),
    }


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", tables_of_similar_scales())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_similar_scales_are_not_warned_of(name, convert, dtype):
    """Scaled tables, 0/1 columns, pixels, counts and components of them pass silently."""
    X = tables_of_similar_scales()[name].astype(dtype)
    assert scale_warnings(convert(X)) == []


def test_scales_of_more_rows_than_a_batch():
    """Variances gathered batch by batch are those of all rows."""
    X = np.sort(make_rows(n_rows=2500, n_features=4), axis=0) * [1, 1, 1, 0.005]
    assert scale_warnings(X) == scale_warnings(X[np.random.default_rng(0).permutation(2500)]) != []


def scale_warnings(X):
    """What is warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_about_scales(X)
    return [str(warning.message) for warning in caught]
