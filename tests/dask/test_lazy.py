"""Tests of hyperlocal.dask.lazy: predictions of collections have one type, whatever is empty."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from hyperlocal import LocallyLinearSVC, LocallyLinearSVR
from hyperlocal.dask.lazy import accuracy, apply_lazily, explained_variance

X, codes = make_classification(90, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
LABELS = {
    "int": codes,
    "str": np.array(["a", "bb", "ccc"])[codes],
    "object": np.array(["a", "bb", "ccc"], object)[codes],
    "bool": codes == 1,
    "float32": codes.astype(np.float32),
}
METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba")


def fitted(kind, rows=X):
    return LocallyLinearSVC(8, loss="log", random_state=0).fit(rows, LABELS[kind])


@pytest.mark.parametrize("sizes", [(0, 40, 50), (90, 0), (0, 0, 90)], ids=str)
@pytest.mark.parametrize("kind", LABELS)
def test_empty_chunks_change_nothing(kind, sizes):
    """Values and types of labels, scores and probabilities are those of the local model."""
    model, lazy = fitted(kind), da.from_array(X, chunks=(sizes, 4))
    for method in METHODS:
        expected, found = getattr(model, method)(X), apply_lazily(model, method, lazy)
        assert found.dtype == expected.dtype
        assert found.compute().dtype == expected.dtype
        assert found.compute().shape == expected.shape
    np.testing.assert_array_equal(apply_lazily(model, "predict", lazy).compute(), model.predict(X))


@pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")  # of Dask itself
@pytest.mark.parametrize("kind", LABELS)
def test_frames_have_the_type_that_they_announce(kind, tmp_path):
    """So that they can be written to Parquet; empty partitions included."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = fitted(kind, frame)
    lazy = dd.concat([dd.from_pandas(frame[:0], npartitions=1), dd.from_pandas(frame, 2)])
    found = apply_lazily(model, "predict", lazy)
    assert found.dtype == found.compute().dtype
    np.testing.assert_array_equal(found.compute().to_numpy(), model.predict(frame))
    found.to_frame().to_parquet(tmp_path)
    assert pd.read_parquet(tmp_path)["predict"].tolist() == model.predict(frame).tolist()
    assert apply_lazily(model, "predict_proba", lazy).columns.tolist() == list(model.classes_)


def test_rows_need_two_dimensions():
    """As everywhere else."""
    with pytest.raises(ValueError, match=r"1 dimension"):
        apply_lazily(fitted("int"), "predict", da.zeros(4, chunks=2))


def test_the_score_of_nothing_is_an_error():
    """Also where all weights are zero; scikit-learn's accuracy raises too."""
    model, lazy = fitted("int"), da.from_array(X, chunks=(45, 4))
    labels = da.from_array(codes, chunks=45)
    assert accuracy(model, lazy, labels, None) == model.score(X, codes)
    with pytest.raises(ValueError, match="no rows to score"):
        accuracy(model, lazy[:0], labels[:0], None)
    with pytest.raises(ValueError, match="no rows to score"):
        accuracy(model, lazy, labels, da.zeros(90, chunks=45))


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_the_score_of_constant_values(offset):
    """They have no variance to explain: one where all are right and zero otherwise, as the score of
    the local model."""
    values = np.column_stack([np.full(90, 3.0), X[:, 0]])
    model = LocallyLinearSVR(8, C=1.0, random_state=0).fit(X, values)
    values[:, 0] += offset
    lazy = da.from_array(X, chunks=(45, 4)), da.from_array(values, chunks=(45, 2))
    found = explained_variance(model, *lazy, None)
    assert found == pytest.approx(model.score(X, values))
