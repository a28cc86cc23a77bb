"""Sparse matrices whose arrays contradict each other are refused before anybody reads them."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal import LocallyLinearSVC
from hyperlocal.data.rows import canonical, well_formed
from hyperlocal.datasets.arrays import read_npz
from hyperlocal.datasets.dataset import csr_rows
from hyperlocal.maps.transformer import transformed

from .estimators import ESTIMATORS, make

N_ROWS, N_FEATURES = 40, 6


def make_sparse(form="csr"):
    rng = np.random.default_rng(0)
    shape = (N_ROWS, N_FEATURES)
    X = sp.csr_array(rng.random(shape) * rng.binomial(1, 0.5, shape))
    return X.asformat(form, copy=True)


def put(attribute, place, value):
    """A fault: one number of an array of the matrix is replaced."""

    def spoil(X):
        getattr(X, attribute)[place] = value

    return spoil


def cut(attribute):
    """A fault: an array of the matrix lacks its last numbers."""

    def spoil(X):
        setattr(X, attribute, getattr(X, attribute)[:-3].copy())

    return spoil


FAULTS = {
    "a column too large": put("indices", 3, 10**6),
    "an index that is just too large": put("indices", -1, N_ROWS),
    "a negative column": put("indices", 3, -1),
    "rows that end beyond the entries": put("indptr", -1, 10**6),
    "a row that begins beyond the entries": put("indptr", 5, 10**6),
    "rows that begin before the entries": put("indptr", 0, -3),
    "a row that ends before it begins": put("indptr", 5, 0),
    "too few columns": cut("indices"),
    "too few values": cut("data"),
    "too few rows": cut("indptr"),
}


def malformed(fault, form="csr"):
    X = make_sparse(form)
    FAULTS[fault](X)
    return X


@pytest.fixture(scope="module")
def fitted():
    """Estimators by name, fitted at the first use."""
    models = {}

    def get(name):
        if name not in models:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                models[name] = make(name).fit(make_sparse(), np.arange(N_ROWS) % 2)
        return models[name]

    return get


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_refuse_malformed_rows(name, fault, fitted):
    """``fit`` and ``predict`` (or ``transform``) say what is wrong with the matrix."""
    with pytest.raises(ValueError, match=r"X is a malformed CSR matrix: .* Build it anew"):
        make(name).fit(malformed(fault), np.arange(N_ROWS) % 2)
    model = fitted(name)
    use = model.predict if hasattr(model, "predict") else model.transform
    with pytest.raises(ValueError, match=r"X is a malformed CSR matrix: .* Build it anew"):
        use(malformed(fault))


@pytest.mark.parametrize("form", ["csc", "bsr"])
@pytest.mark.parametrize("fault", FAULTS)
def test_other_compressed_formats(form, fault):
    """They are checked before they are converted."""
    with pytest.raises(ValueError, match=f"X is a malformed {form.upper()} matrix"):
        LocallyLinearSVC().fit(malformed(fault, form), np.arange(N_ROWS) % 2)


@pytest.mark.parametrize(("attribute", "value"), [("row", N_ROWS), ("col", -1)])
def test_coordinates_out_of_range(attribute, value):
    """Coordinates are checked before they are converted."""
    X = make_sparse("coo")
    getattr(X, attribute)[2] = value
    with pytest.raises(ValueError, match=f"X is a malformed COO matrix: {attribute} must lie"):
        LocallyLinearSVC().fit(X, np.arange(N_ROWS) % 2)


def test_lists_with_columns_out_of_range():
    """Formats without arrays of indices are checked once they are CSR."""
    X = make_sparse("lil")
    X.rows[0], X.data[0] = [10**6], [1.0]
    with pytest.raises(ValueError, match="X is a malformed CSR matrix: indices must lie"):
        LocallyLinearSVC().fit(X, np.arange(N_ROWS) % 2)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_sound_matrices_pass(form):
    """No format that is well formed is refused, and none is changed."""
    X = make_sparse(form)
    np.testing.assert_array_equal(well_formed(X).toarray(), make_sparse().toarray())


def test_flags_that_lie():
    """Columns in any order, or twice, are found whatever the flags of the matrix say."""
    X = make_sparse()
    expected = X.toarray()
    X.indices[:2], X.data[:2] = X.indices[:2][::-1].copy(), X.data[:2][::-1].copy()
    X.has_sorted_indices = X.has_canonical_format = True
    seen = canonical(X)
    assert seen is not X
    np.testing.assert_array_equal(seen.toarray(), expected)
    assert (np.diff(seen.indices[: seen.indptr[1]]) > 0).all()


def test_entries_beyond_the_last_row():
    """Arrays may be longer than the rows they hold."""
    X = make_sparse()
    expected = X[:-1].toarray()
    longer = sp.csr_array((X.data, X.indices, X.indptr[:-1]), shape=(N_ROWS - 1, N_FEATURES))
    longer.data, longer.indices = X.data, X.indices
    np.testing.assert_array_equal(canonical(well_formed(longer)).toarray(), expected)


@pytest.mark.parametrize("fault", FAULTS)
def test_blocks_of_a_stream(fault):
    """The error names the block."""
    y = np.arange(N_ROWS) % 2
    with pytest.raises(ValueError, match=r"block 1 of the stream .* malformed CSR"):
        LocallyLinearSVC().fit_stream([(make_sparse(), y), (malformed(fault), y)])


@pytest.mark.parametrize("fault", FAULTS)
def test_output_of_transformers(fault):
    """A transformer of the user's that makes such a matrix is named."""

    class Broken:
        def transform(self, X):
            return malformed(fault)

    with pytest.raises(ValueError, match="the output of feature_map is a malformed CSR"):
        transformed(Broken(), make_sparse(), "feature_map")


@pytest.mark.parametrize("fault", FAULTS)
def test_npz_files(fault, tmp_path):
    """The reader of npz files names the file."""
    X = malformed(fault)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    np.savez(tmp_path / "bad.npz", **parts, y=np.arange(N_ROWS) % 2)
    with pytest.raises(ValueError, match=r"bad\.npz: "):
        read_npz(tmp_path / "bad.npz")


def test_indices_are_not_narrowed_before_they_are_checked():
    """A column of 2³² + 1 does not become column 1."""
    indptr, columns = np.array([0, 1]), np.array([2**32 + 1])
    with pytest.raises(ValueError, match="column indices must lie between 0 and 2"):
        csr_rows(np.ones(1), columns, indptr, (1, 3))
