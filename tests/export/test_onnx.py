"""Tests of hyperlocal.export.onnx: graphs give the model's labels and scores."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from estimators.data import make_data
from export.models import MODELS, fitted, local
from hyperlocal import LocallyLinearSVC, LocallyLinearSVCCV
from hyperlocal.export import to_onnx
from hyperlocal.preprocessing import RelevanceScaler


def run(graph, X):
    """Labels and scores by onnxruntime."""
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {session.get_inputs()[0].name: X})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_graphs_predict_as_the_model(name, n_classes):
    """Labels and scores are the model's, in the same shape."""
    model, X = fitted(name, n_classes)
    labels, scores = run(to_onnx(model), X)
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(labels, model.predict(X))


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


def binned():
    """A step that has no plain form."""
    return KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")


@pytest.mark.parametrize(
    "last",
    [
        local(feature_map=None),
        LocallyLinearSVCCV(
            (1, 6),
            feature_maps=(None,),
            scalers=(RelevanceScaler(method="trees", random_state=0),),
            random_state=0,
        ),
    ],
    ids=["alone", "chosen"],
)
def test_steps_of_others(last):
    """Steps without a plain form, and those before them, go through skl2onnx."""
    X, y = make_data(3)
    model = make_pipeline(StandardScaler(), binned(), clone(last)).fit(X, y)
    labels, scores = run(to_onnx(model), X)
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(labels, model.predict(X))


@pytest.mark.parametrize("labels", [np.array([False, True]), np.array([1.0, 2.0]), np.arange(2)])
def test_labels_of_any_kind(labels):
    """Booleans, floats and integers come out as they went in."""
    X, y = make_data(2)
    model = local(feature_map=None).fit(X, labels[y])
    np.testing.assert_array_equal(run(to_onnx(model), X)[0], model.predict(X))


def test_precisions():
    """Graphs compute in float32 or float64, nothing else."""
    model, _ = fitted("sdca")
    with pytest.raises(ValueError, match="dtype must be float32"):
        to_onnx(model, dtype=int)


@pytest.mark.parametrize("name", MODELS)
def test_graphs_are_plain_onnx(name):
    """Graphs pass ONNX's checker, have no operator of our own, and compute the same by its rules.

    The reference evaluator is a slow implementation of the standard, independent of onnxruntime.
    """
    model, X = fitted(name)
    graph = to_onnx(model)
    onnx.checker.check_model(graph, full_check=True)
    assert {node.domain for node in graph.graph.node} == {""}
    _, scores = ReferenceEvaluator(graph).run(None, {"X": X[:5]})
    np.testing.assert_allclose(scores, model.decision_function(X[:5]), rtol=1e-9, atol=1e-9)
