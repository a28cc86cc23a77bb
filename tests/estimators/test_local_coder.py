"""Tests of hyperlocal.estimators.local_coder: LocalCoder."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from estimators.data import make_data, make_ring
from hyperlocal import LocallyLinearSVC
from hyperlocal.preprocessing import LocalCoder

CODINGS = ["soft", "inverse_distance", "lle", "llc", "lcc", "hard"]


def coder(**options):
    """A small coder with a seed."""
    return LocalCoder(**{"n_anchors": 8, "n_neighbors": 3, "random_state": 0, **options})


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codes(coding, convert, dtype):
    """At most k weights per row that sum to one, in the input's dtype, as canonical CSR."""
    X, _ = make_data(dtype=dtype)
    fitted = coder(coding=coding)
    codes = fitted.fit_transform(convert(X))
    assert codes.format == "csr"
    assert codes.has_canonical_format
    assert codes.indices.dtype == codes.indptr.dtype == np.int32
    assert codes.shape == (90, 8)
    assert codes.dtype == fitted.anchors_.dtype == dtype
    assert codes.nnz == 90 * (1 if coding == "hard" else 3)
    np.testing.assert_allclose(codes.sum(axis=1), 1, rtol=1e-5)


def test_dense_codes_are_the_sparse_ones():
    """``sparse_output=False`` writes the zeros out."""
    X, _ = make_data()
    dense = coder(sparse_output=False).fit_transform(X)
    assert isinstance(dense, np.ndarray)
    np.testing.assert_array_equal(dense, coder().fit_transform(X).toarray())


def test_codes_of_new_rows():
    """New rows are coded on the anchors of the training rows."""
    X, _ = make_data()
    fitted = coder(coding="hard").fit(X)
    np.testing.assert_array_equal(fitted.transform(fitted.anchors_).toarray(), np.eye(8))


def test_codes_are_those_of_the_classifiers():
    """The coder places the anchors and finds the sharpness that the classifiers do."""
    X, y = make_data()
    fitted = coder().fit(X)
    classifier = LocallyLinearSVC(8, n_neighbors=3, C=3.0, random_state=0, feature_map=None).fit(
        X, y
    )
    np.testing.assert_allclose(
        np.sort(fitted.anchors_, axis=0), np.sort(classifier.anchors_, axis=0)
    )
    assert fitted.beta_ == pytest.approx(classifier.beta_)


def test_weights_move_anchors():
    """A weight of two is the row twice, and rows of weight zero do not count."""
    X, _ = make_data()
    weights = np.arange(90) % 3
    weighted = coder().fit(X, sample_weight=weights)
    repeated = coder().fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.anchors_, repeated.anchors_)
    assert weighted.beta_ == pytest.approx(repeated.beta_)


def test_frames_in_and_out():
    """Frames may come in, and go out where codes are dense."""
    X, _ = make_data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = coder(sparse_output=False).set_output(transform="pandas").fit(frame)
    codes = fitted.transform(frame)
    np.testing.assert_array_equal(fitted.feature_names_in_, list("abcde"))
    assert list(codes.columns) == list(fitted.get_feature_names_out())
    assert codes.columns[7] == "localcoder7"
    with pytest.raises(ValueError, match="sparse"):
        coder().set_output(transform="pandas").fit_transform(frame)


def test_a_pipeline_of_coder_and_svm():
    """Codes feed any linear model, here through a pipeline."""
    X, y = make_ring()
    bent = make_pipeline(LocalCoder(60, random_state=0), LinearSVC())
    assert bent.fit(X, y).score(*make_ring(seed=1)) > 0.95


def test_coders_are_copied():
    """A coder survives pickling, and its clone is unfitted."""
    X, _ = make_data()
    fitted = coder().fit(X)
    copy = pickle.loads(pickle.dumps(fitted))
    assert (copy.transform(X) != fitted.transform(X)).nnz == 0
    with pytest.raises(NotFittedError):
        clone(fitted).transform(X)


def test_threads_do_not_change_codes():
    """One thread and two give the same codes, bit for bit."""
    X, _ = make_data(n_rows=20_000)
    one, two = (LocalCoder(20, n_jobs=n, random_state=0).fit_transform(X) for n in (1, 2))
    assert (one != two).nnz == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_anchors": 2.5}, TypeError, "n_anchors"),
        ({"coding": "hazy"}, ValueError, "coding must be one of"),
        ({"beta": -1}, ValueError, "beta"),
        ({"anchors": np.zeros((8, 3))}, ValueError, "anchors have 3 columns"),
        ({"sparse_output": "no"}, TypeError, "sparse_output must be True or False"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options, error, message):
    """An argument that makes no sense raises at ``fit``, by its name."""
    with pytest.raises(error, match=message):
        coder(**options).fit(make_data()[0])


def test_bad_rows():
    """Rows that are no finite table of the right width are refused."""
    X, _ = make_data()
    fitted = coder().fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but LocalCoder is expecting 5"):
        fitted.transform(X[:, :3])
    with pytest.raises(ValueError, match="contains NaN"):
        fitted.fit(np.where(X > 2, np.nan, X))
    with pytest.raises(ValueError, match="sample_weight is zero"):
        fitted.fit(X, sample_weight=np.zeros(90))
    with pytest.warns(UserWarning, match="StandardScaler"):
        coder().fit(X * [1e7, 1, 1, 1, 1])
