"""Tests of hyperlocal.export.converters: pipelines with our estimators through skl2onnx."""

import numpy as np
import onnxruntime
import pytest
import skl2onnx
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.data import make_data
from hyperlocal.export import register_converters
from hyperlocal.export.converters import CONVERTED
from hyperlocal.preprocessing import LocalCoder

register_converters()


def run(model, X):
    """Outputs by name, in single precision."""
    graph = skl2onnx.to_onnx(model, X[:1])
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {session.get_inputs()[0].name: X}), strict=True))


@pytest.mark.parametrize("kind", CONVERTED)
def test_pipelines_of_scikit_learn(kind):
    """Behind a scaler, every estimator gives what it gives in Python."""
    X, y = make_data(3, dtype=np.float32)
    seed = {"random_state": 0} if "random_state" in kind().get_params() else {}
    model = make_pipeline(StandardScaler(), kind(**seed)).fit(X, y)
    out = run(model, X)
    if "values" in out:
        np.testing.assert_allclose(out["values"], model.predict(X), atol=1e-4)
    elif "features" in out:
        expected = model.transform(X)
        expected = expected if isinstance(expected, np.ndarray) else expected.toarray()
        np.testing.assert_allclose(out["features"], expected, atol=1e-4)
    else:
        np.testing.assert_allclose(out["scores"], model.decision_function(X), atol=1e-3)
        assert np.mean(out["label"] == model.predict(X)) > 0.97


def test_double_precision_and_names():
    """Rows in double precision give scores to many digits; labels may be names."""
    X, y = make_data(2)
    model = clone(CONVERTED[0](8, random_state=0)).fit(X, np.array(["no", "yes"])[y])
    out = run(model, X)
    np.testing.assert_allclose(out["scores"], model.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(out["label"], model.predict(X))


def test_a_coder_within_columns():
    """Codes of some columns feed a classifier of scikit-learn's."""
    X, y = make_data(2, dtype=np.float32)
    coder = LocalCoder(8, sparse_output=False, random_state=0)
    columns = ColumnTransformer([("codes", coder, [0, 1]), ("rest", StandardScaler(), [2, 3, 4])])
    model = make_pipeline(columns, LogisticRegression()).fit(X, y)
    assert np.mean(run(model, X)["output_label"] == model.predict(X)) > 0.97
