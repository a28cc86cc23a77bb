"""Tests of fit_stream: the model of fit, whatever the blocks, in little memory; and what is
refused."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from hyperlocal import LocallyLinearSVC, LocallyLinearSVR
from hyperlocal.data.stream import StoredRows
from hyperlocal.estimators.streaming import fit_to_stream
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.papers import LocalCodingSVC
from hyperlocal.solvers.training import Training


def as_given(settings, call, **options):
    """Nothing is chosen."""
    return settings, call.training


def make_data(n_classes=2, n_rows=1_500, dtype=np.float64):
    X, y = make_classification(
        n_rows, 6, n_informative=5, n_redundant=0, n_classes=n_classes, class_sep=0.8,
        random_state=0,
    )  # fmt: skip
    return X.astype(dtype), y


def cut(*arrays, size=271):
    """Blocks of a few hundred rows."""
    for begin in range(0, arrays[0].shape[0], size):
        yield tuple(part[begin : begin + size] for part in arrays)


def model(**options):
    return LocallyLinearSVC(**{"n_neighbors": 4, "C": 3.0, "random_state": 0, **options})


# The same problem as fit's ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_classes", "dtype", "storage", "options"),
    [
        (2, np.float64, "dense", {}),
        (2, np.float32, "csr", {"feature_map": None}),
        (3, np.float32, "dense", {"loss": "hinge"}),
        (3, np.float64, "csr", {"loss": "log", "feature_map": "additive_chi2"}),
        (3, np.float64, "dense", {"multi_class": "crammer_singer"}),
        (2, np.float64, "dense", {"multi_class": "crammer_singer", "normalize": False, "C": 0.1}),
        (2, np.float64, "dense", {"feature_map": "nystroem", "class_weight": "balanced"}),
        (2, np.float64, "dense", {"code_on": [0, 1], "class_weight": {0: 3.0}}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_model_of_fit(n_classes, dtype, storage, options):
    """Rows in any number of blocks, sorted by class even, give fit's gate and fit's objective."""
    X, y = make_data(n_classes, dtype=dtype)
    rows = sp.csr_array(X) if storage == "csr" else X
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    whole = model(**options).fit(rows, y, weights)
    order = np.argsort(y, kind="stable")
    blocks = cut(rows[order], y[order], weights[order])
    part = model(**options).fit_stream(blocks, block_rows=400)
    np.testing.assert_allclose(part.anchors_, whole.anchors_, rtol=1e-12)
    assert part.beta_ == pytest.approx(whole.beta_, rel=1e-12)
    assert part.objective_ == pytest.approx(whole.objective_, rel=2e-3)
    assert 0 <= part.duality_gap_ <= part.tol * part.objective_
    assert part.coef_.dtype == dtype
    assert part.classes_.tolist() == whole.classes_.tolist()
    assert np.mean(part.predict(rows) == whole.predict(rows)) > 0.97


def test_one_dimensional_codes():
    """Local models of one number are streamed too."""
    X, y = make_data()
    whole = LocalCodingSVC(50, random_state=0).fit(X, y)
    part = LocalCodingSVC(50, random_state=0).fit_stream(cut(X, y), block_rows=400)
    assert part.objective_ == pytest.approx(whole.objective_, rel=2e-3)


def test_any_blocks_and_threads():
    """The same bits whatever the size of the stream's blocks and the number of threads."""
    X, y = make_data(3)
    models = [
        model(n_jobs=n_jobs).fit_stream(cut(X, y, size=size), block_rows=400)
        for size, n_jobs in [(1_500, 1), (271, 1), (50, 2)]
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].coef_, other.coef_)
        assert models[0].objective_ == other.objective_


def test_a_sample_places_the_gate(workers):
    """With more rows than the sample, "auto" still means the number of anchors for all rows."""
    X, y = make_data(n_rows=4_000)
    training = Training(3.0, "squared_hinge")
    part = fit_to_stream(
        model(),
        ChainSettings(n_neighbors=4),
        as_given,
        training,
        cut(X, y),
        StoredRows,
        sample_rows=500,
    )
    assert part.chain.n_anchors == round(np.sqrt(4_000) / 4)
    scores = part.chain.trained(part.result.weights).scores(X, workers)
    accuracy = np.mean((scores[:, 0] > 0) == y)
    assert accuracy == pytest.approx(model().fit(X, y).score(X, y), abs=0.02)


def test_by_stochastic_gradient():
    """solver="sgd" visits the same blocks, nearly reaches fit's objective, and can go on."""
    X, y = make_data(n_rows=3_000)
    weights = np.where(np.arange(3_000) < 1_000, 3.0, 0.5)
    options = {"solver": "sgd", "max_iter": 100, "tol": 1e-3, "feature_map": None}
    whole = model(**options).fit(X, y, weights)
    part = model(**options).fit_stream(cut(X, y, weights), block_rows=600)
    assert part.objective_ == pytest.approx(whole.objective_, rel=0.03)
    assert np.isnan(part.duality_gap_)
    part.partial_fit(X[:500], y[:500])
    assert part.score(X, y) > 0.8


# The stream ---------------------------------------------------------------------------------------


def test_frames_text_labels_and_weightless_rows():
    """Names are kept; labels may be text; empty blocks and rows of weight zero do not count."""
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    names = np.array(["yes", "no"])[y]
    weights = (np.arange(len(y)) < 1_000).astype(float)
    blocks = [(frame[:0], names[:0], weights[:0]), *cut(frame, names, weights)]
    part = model().fit_stream(blocks)
    kept = model().fit(frame[:1_000], names[:1_000])
    assert part.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(part.classes_, ["no", "yes"])
    np.testing.assert_array_equal(part.anchors_, kept.anchors_)
    assert part.objective_ == pytest.approx(kept.objective_, rel=2e-3)


def test_classes_beforehand():
    """Classes may be named, even one that does not turn up; other labels are refused."""
    X, y = make_data()
    part = model(feature_map=None).fit_stream(cut(X, y), classes=[0, 1, 2])
    assert part.classes_.tolist() == [0, 1, 2]
    assert part.decision_function(X[:1]).shape == (1, 3)
    with pytest.raises(ValueError, match=r"block 1 of the stream .* not in classes: \[7\]"):
        model().fit_stream([(X, y), (X[:2], np.array([1, 7]))], classes=[0, 1])


def test_first_block_sets_the_precision():
    """Blocks of another precision are converted."""
    X, y = make_data()
    part = model().fit_stream([(X[:700].astype(np.float32), y[:700]), (X[700:], y[700:])])
    assert part.coef_.dtype == np.float32


def with_value(X, value):
    X = X.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (lambda X, y: (with_value(X, np.nan), y), "block 1 of the stream .*NaN"),
        (lambda X, y: (with_value(X, 1e200), y), "block 1 of the stream .*norm"),
        (lambda X, y: (X[:, :-1], y), "block 1 of the stream .*5 features"),
        (lambda X, y: (sp.csr_array(X), y), "X is sparse, but the first block's is dense"),
        (lambda X, y: (X, y[:-1]), "block 1 of the stream .*inconsistent"),
        (lambda X, y: (X, y + 0.5), "block 1 of the stream .*continuous"),
        (lambda X, y: (X, y, -np.ones(len(y))), "block 1 of the stream .*negative"),
        (lambda X, y: (X, np.array(["a", "b"])[y]), "labels such as 'a' come after"),
        (lambda X, y: X, r"a tuple \(X, y\)"),
    ],
)
def test_bad_block(tmp_path, second, message):
    """An error names the block and leaves nothing behind."""
    X, y = make_data()
    with pytest.raises((ValueError, TypeError), match=message):
        model().fit_stream([(X, y), second(X, y)], folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ([], "no rows: 0 blocks"),
        ([(np.ones((3, 2)), [0, 1, 0], [0, 0, 0])], "no rows: 1 blocks"),
        ([(np.ones((3, 2)), [1, 1, 1])], "one class only, 1"),
        (3, "stream must be an iterable"),
    ],
)
def test_bad_stream(stream, message):
    """A stream without rows, or with one class, is refused."""
    with pytest.raises((ValueError, TypeError), match=message):
        model().fit_stream(stream)


def test_bad_arguments():
    """What cannot work says so before a row is read."""
    X, y = make_data()
    with pytest.raises(ValueError, match="solver='qp' needs all rows"):
        model(solver="qp").fit_stream([(X, y)])
    with pytest.raises(ValueError, match="block_rows"):
        model().fit_stream([(X, y)], block_rows=0)


def test_stopped_early(tmp_path):
    """At max_iter there is a warning with the exact gap; working files are gone; it pickles."""
    X, y = make_data()
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        part = model(max_iter=1, tol=1e-6).fit_stream(cut(X, y), block_rows=300, folder=tmp_path)
    assert part.n_iter_ == 1
    assert part.duality_gap_ > 0
    assert not list(tmp_path.iterdir())
    again = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(again.predict(X), part.predict(X))


# Memory -------------------------------------------------------------------------------------------

MEASURE = """
import resource, sys, threading
import numpy as np
from hyperlocal import LocallyLinearSVC
from hyperlocal.datasets import stream

# Stacks count, and one may still be there when the next thread starts: small ones matter little.
threading.stack_size(1 << 20)
rows, labels, allowed = sys.argv[1:]
rng = np.random.default_rng(0)
X = rng.standard_normal((300, 100), np.float32)
model = LocallyLinearSVC(
    8, n_neighbors=2, feature_map=None, relevance=None, tol=0.2, n_jobs=1, random_state=0
)
model.fit_stream([(X, X[:, 0] > 0)])  # what is loaded late is loaded now
with open("/proc/self/status") as file:
    held = next(int(line.split()[1]) for line in file if line.startswith("VmData"))
limit = 1024 * held + int(allowed)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    np.load(rows)
except MemoryError:
    pass
else:
    sys.exit("the limit does not limit")
X, y = np.load(rows, mmap_mode="r"), np.load(labels)
assert (model.fit(X, y).predict(X) == y).mean() > 0.9
model.fit_stream(stream(rows, labels), block_rows=6_000)
assert model.score(X, y) > 0.9
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory by a Linux resource")
def test_memory_is_limited(tmp_path):
    """A file of 60 MB, mapped or streamed, is fitted by a process that may take 54 MB.

    It needs 36 to 40, and some more for threads on a busy machine.
    """
    rng = np.random.default_rng(0)
    shape = (150_000, 100)
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, shape)
    y = np.empty(shape[0], np.int8)
    for begin in range(0, shape[0], 10_000):
        block = rng.standard_normal((10_000, shape[1]), np.float32)
        X[begin : begin + 10_000], y[begin : begin + 10_000] = block, block[:, 0] > 0
    del X
    np.save(tmp_path / "y.npy", y)
    typed = [str(tmp_path / "X.npy"), str(tmp_path / "y.npy"), str(54 << 20)]
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, *typed], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


# Values ------------------------------------------------------------------------------------------


def values_of(X):
    return 1e4 + 50 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize(
    "options",
    [
        {"loss": "squared"},
        {"loss": "epsilon_insensitive"},
        {"loss": "huber", "feature_map": "quadratic"},
        {"loss": "quantile", "quantiles": (0.1, 0.9)},
    ],
    ids=lambda options: options["loss"],
)
def test_regression_of_fit(options, storage):
    """A stream of values, sorted even, gives fit's scale, gate and objective."""
    X, _ = make_data(n_rows=1_500)
    y = values_of(X)
    rows = sp.csr_array(X) if storage == "csr" else X
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    settings = {"n_anchors": 8, "C": 1.0, "feature_map": None, "random_state": 0} | options
    whole = LocallyLinearSVR(**settings).fit(rows, y, weights)
    order = np.argsort(y)
    blocks = cut(rows[order], y[order], weights[order])
    part = LocallyLinearSVR(**settings).fit_stream(blocks, block_rows=400)
    assert part.target_scale_.center == pytest.approx(whole.target_scale_.center, rel=1e-12)
    assert part.target_scale_.scale == pytest.approx(whole.target_scale_.scale, rel=1e-12)
    np.testing.assert_allclose(part.anchors_, whole.anchors_, rtol=1e-12)
    assert part.objective_ == pytest.approx(whole.objective_, rel=2e-3)
    assert 0 <= part.duality_gap_ <= part.tol * part.objective_


def test_several_targets_and_any_blocks():
    """Several targets are streamed together; sizes of blocks and threads do not change the bits."""
    X, _ = make_data(n_rows=1_500)
    both = np.column_stack([values_of(X), X[:, 2]])
    models = [
        LocallyLinearSVR(8, C=1.0, n_jobs=n_jobs, random_state=0).fit_stream(
            cut(X, both, size=size), block_rows=400
        )
        for size, n_jobs in [(1_500, 1), (271, 2)]
    ]
    assert models[0].predict(X).shape == (1_500, 2)
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    with pytest.raises(ValueError, match=r"block 1 .*shape"):
        models[0].fit_stream([(X, both), (X, both[:, :1])])


def test_constant_values_are_streamed():
    """Values that do not vary are predicted as they are."""
    X, _ = make_data(n_rows=300)
    model = LocallyLinearSVR(8, C=1.0, random_state=0).fit_stream([(X, np.full(300, 7.5))])
    np.testing.assert_allclose(model.predict(X), 7.5)
