"""Tests of hyperlocal.export: exported models say what the models say."""

import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from estimators.data import make_data
from hyperlocal import (
    MEGM,
    SDCASVC,
    ClusteredSVC,
    KernelPegasosSVC,
    LandmarkSVC,
    LatentLocallyLinearSVC,
    LocalCodingSVC,
    LocalDeepSVC,
    LocallyLinearSVC,
    LocallyLinearSVCCV,
    NeighborhoodSVC,
    PegasosSVC,
    ProfileSVC,
    RelevanceScaler,
    SupervisedAnchorSVC,
)
from hyperlocal.export import NUMPY_PREDICTOR, numpy_predict, save_numpy, to_numpy, to_onnx


def local(**options):
    return LocallyLinearSVC(6, n_neighbors=3, random_state=0, **options)


MODELS = {
    "quadratic": local(feature_map="quadratic"),
    "auto": local(),
    "linear": local(feature_map=None),
    "unscaled": local(normalize=False, intercept_scaling=2.0),
    "hard": local(coding="hard"),
    "inverse_distance": local(coding="inverse_distance"),
    "lle": local(coding="lle"),
    "llc": local(coding="llc"),
    "nystroem": local(feature_map="nystroem"),
    "chi2": local(feature_map="additive_chi2"),
    "transformers": local(feature_map=PCA(2, whiten=True), code_on=PCA(3)),
    "columns": local(code_on=[0, -2]),
    "features": local(code_on="features"),
    "codes": LocalCodingSVC(9, random_state=0),
    "chosen": LocallyLinearSVCCV(
        (1, 6), Cs=(3.0,), scalers=(RelevanceScaler(random_state=0),), random_state=0
    ),
    "supervised": SupervisedAnchorSVC(6, n_neighbors=3, anchor_epochs=1, random_state=0),
    "landmarks": LandmarkSVC(3, random_state=0),
    "stages": LandmarkSVC(
        3,
        n_stages=3,
        keep_if_better=False,
        coding="soft",
        n_neighbors=2,
        projection="rbf",
        random_state=0,
    ),
    "clustered": ClusteredSVC(3, random_state=0),
    "profile": ProfileSVC(3, random_state=0),
    "tree": LocalDeepSVC(2, C=10.0, max_iter=5, random_state=0),
    "stump": LocalDeepSVC(0, C=10.0, max_iter=5, random_state=0),
    "shared tree": LocalDeepSVC(2, C=10.0, share_tree=True, max_iter=5, random_state=0),
    "latent": LatentLocallyLinearSVC(5, C=10.0, max_iter=5, random_state=0),
    "latent, all speak": LatentLocallyLinearSVC(5, p=np.inf, C=10.0, max_iter=5, random_state=0),
    "pegasos": PegasosSVC(max_iter=5, tol=None, random_state=0),
    "sdca": SDCASVC(random_state=0),
    "scaled": make_pipeline(StandardScaler(), PCA(3), local()),
    "unit rows": make_pipeline(MinMaxScaler(), Normalizer("max"), Normalizer("l1"), local()),
    "more steps": make_pipeline(
        RobustScaler(), "passthrough", MaxAbsScaler(), MEGM(max_iter=2), TruncatedSVD(4), local()
    ),
}
every_model = pytest.mark.parametrize("name", MODELS)
LABELS = np.array(["left", "middle", "right"], dtype=object)


def run(graph, X):
    """Labels and scores by onnxruntime."""
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {session.get_inputs()[0].name: X})


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_exports_say_what_the_model_says(name, n_classes):
    """ONNX and numpy give the model's labels and its scores, in the same shape."""
    X, y = make_data(n_classes)
    model = clone(MODELS[name]).fit(X, LABELS[y])
    scores, labels = model.decision_function(X), model.predict(X)
    found_labels, found_scores = run(to_onnx(model), X)
    np.testing.assert_allclose(found_scores, scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found_labels, labels)
    arrays = to_numpy(model)
    np.testing.assert_allclose(
        numpy_predict.decision_function(arrays, X), scores, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(numpy_predict.predict(arrays, X), labels)


@pytest.mark.parametrize("name", ["quadratic", "linear", "llc", "stages", "tree", "latent"])
def test_single_precision(name):
    """Models of float32 stay float32; others can be exported so, within 1e-4."""
    X, y = make_data(3)
    for data, dtype in ((X.astype(np.float32), None), (X, np.float32)):
        model = clone(MODELS[name]).fit(data, y)
        labels, scores = run(to_onnx(model, dtype=dtype, input_name="rows"), X.astype(np.float32))
        assert scores.dtype == np.float32
        assert labels.dtype == np.int64
        np.testing.assert_allclose(scores, model.decision_function(data), rtol=1e-4, atol=1e-4)


def test_real_digits():
    """On 64 pixels and ten classes, in a pipeline, scores agree far below 1e-4."""
    X, y = load_digits(return_X_y=True)
    model = make_pipeline(StandardScaler(), LocallyLinearSVC(random_state=0)).fit(X[:900], y[:900])
    labels, scores = run(to_onnx(model), X[900:])
    np.testing.assert_allclose(scores, model.decision_function(X[900:]), atol=1e-9)
    np.testing.assert_array_equal(labels, model.predict(X[900:]))
    _, single = run(to_onnx(model, dtype=np.float32), X[900:].astype(np.float32))
    np.testing.assert_allclose(single, model.decision_function(X[900:]), atol=1e-4)


def test_steps_of_others():
    """Steps without a plain form go through skl2onnx; arrays refuse them by name."""
    X, y = make_data(3)
    bins = KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    model = make_pipeline(bins, local(feature_map=None)).fit(X, y)
    labels, scores = run(to_onnx(model), X)
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(labels, model.predict(X))
    with pytest.raises(ValueError, match="KBinsDiscretizer has no plain form"):
        to_numpy(model)


@pytest.mark.parametrize("labels", [np.array([False, True]), np.array([1.0, 2.0]), np.arange(2)])
def test_labels_of_any_kind(labels):
    """Booleans, floats and integers come out as they went in."""
    X, y = make_data(2)
    model = local(feature_map=None).fit(X, labels[y])
    found, _ = run(to_onnx(model), X)
    np.testing.assert_array_equal(found, model.predict(X))
    np.testing.assert_array_equal(numpy_predict.predict(to_numpy(model), X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KernelPegasosSVC(random_state=0), "KernelPegasosSVC cannot be exported"),
        (NeighborhoodSVC(), "NeighborhoodSVC cannot be exported"),
        (LandmarkSVC(3, kernel="rbf"), "LandmarkSVC cannot be exported: .* without kernels"),
        (local(coding="lcc"), "coding='lcc' is an iteration"),
        (LandmarkSVC(anchors=KMeans(3)), "clusters found by a clusterer"),
    ],
    ids=["kernel", "neighbours", "landmark kernel", "lcc", "clusterer"],
)
def test_what_cannot_be_exported(model, message):
    """It is refused with a reason, by both exports."""
    model = clone(model).fit(*make_data(2))
    for export in (to_onnx, to_numpy):
        with pytest.raises(ValueError, match=message):
            export(model)
    with pytest.raises(ValueError, match="dtype must be float32"):
        to_onnx(SDCASVC().fit(*make_data(2)), dtype=int)


def test_graphs_are_plain_onnx():
    """No operator is our own or scikit-learn's."""
    X, y = make_data(3)
    graph = to_onnx(make_pipeline(StandardScaler(), local()).fit(X, y))
    onnx.checker.check_model(graph, full_check=True)
    assert {node.domain for node in graph.graph.node} == {""}


def test_the_predictor_needs_numpy_alone(tmp_path):
    """The copied module predicts from the file, without this library and without pickle."""
    X, y = make_data(3)
    model = make_pipeline(StandardScaler(), local()).fit(X, LABELS[y])
    save_numpy(model, tmp_path / "model", with_module=True)
    np.save(tmp_path / "rows.npy", X)
    assert (tmp_path / "numpy_predict.py").read_text() == NUMPY_PREDICTOR.read_text()
    script = (
        "import sys, numpy as np, numpy_predict as p; m = p.load('model.npz')\n"
        "assert not {'hyperlocal', 'sklearn', 'scipy'} & set(sys.modules)\n"
        "print(*p.predict(m, np.load('rows.npy')))"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == model.predict(X).tolist()


def test_no_rows():
    """An empty table has no labels, and raises nothing."""
    X, y = make_data(3)
    arrays = to_numpy(local().fit(X, y))
    assert numpy_predict.predict(arrays, X[:0]).shape == (0,)
