"""Regressors in every form of export: predictions are the model's."""

import numpy as np
import onnxruntime
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from export.compiled import Compiled
from hyperlocal import LocallyLinearSVR, LocallyLinearSVRCV
from hyperlocal.export import numpy_predict, to_c, to_numpy, to_onnx
from hyperlocal.export.plain import NotPlain
from hyperlocal.linear import PegasosRegressor


def make(**options):
    return LocallyLinearSVR(8, C=3.0, random_state=0, **options)


REGRESSORS = {
    "one target": make(),
    "no intercept": make(global_intercept=False, feature_map=None),
    "scaled": make_pipeline(StandardScaler(), make(loss="huber")),
    "relevance": make(relevance="gradient"),
    "chosen": LocallyLinearSVRCV((1, 4), scalers=(StandardScaler(),), Cs=(1.0,), random_state=0),
    "linear": PegasosRegressor(max_iter=5, tol=None, random_state=0),
    "two targets": make(loss="squared_epsilon_insensitive"),
    "quantiles": make(loss="quantile", quantiles=[0.1, 0.5, 0.9], max_iter=5000),
    "quantiles of two targets": make(loss="quantile", quantiles=[0.2, 0.8], max_iter=5000),
}


def fitted(name):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (200, 3))
    y = 50 + np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(200)
    return REGRESSORS[name].fit(X, np.column_stack([y, -y]) if "two" in name else y), X


@pytest.mark.parametrize("name", REGRESSORS)
def test_arrays_predict_as_the_model(name):
    """Plain numpy gives the predictions; quantiles of several targets are side by side."""
    model, X = fitted(name)
    expected = model.predict(X)
    found = numpy_predict.predict(to_numpy(model), X)
    np.testing.assert_allclose(found.reshape(expected.shape), expected)


@pytest.mark.parametrize("name", REGRESSORS)
def test_graphs_predict_as_the_model(name):
    """An ONNX graph has one output, the predictions."""
    model, X = fitted(name)
    graph = to_onnx(model)
    assert [output.name for output in graph.graph.output] == ["values"]
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (found,) = session.run(None, {"X": X})
    expected = model.predict(X)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["one target", "no intercept", "scaled", "two targets"])
def test_headers_predict_as_the_model(name, tmp_path):
    """The scores of a C header are the predictions; it has no classes."""
    model, X = fitted(name)
    compiled = Compiled(model, tmp_path)
    np.testing.assert_allclose(compiled.scores(X), model.predict(X), rtol=1e-4)
    assert "model_classes" not in compiled.header


def test_sorted_quantiles_have_no_header():
    """The reason and another format are named."""
    with pytest.raises(NotPlain, match="use to_onnx"):
        to_c(fitted("quantiles")[0])
