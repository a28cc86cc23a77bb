"""Tests of hyperlocal.export.onnx_paths: the graph's contributions are those of Python."""

import numpy as np
import onnxruntime
import pytest

from export.test_paths import OPTIONS, fitted_pipeline
from hyperlocal import explain
from hyperlocal.export import to_onnx


def run(model, X, **options):
    """Contributions and reference by onnxruntime."""
    graph = to_onnx(model, contributions=True, **options).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    return session.run(["contributions", "reference"], {"X": X})


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_graph_explains_as_python_does(options, n_classes):
    """Behind a scaler, in double precision."""
    model, X = fitted_pipeline(options, "scaler", n_classes)
    expected = explain(model, X[:20])
    found, reference = run(model, X[:20])
    size = np.abs(expected.contributions).max()
    np.testing.assert_allclose(found, expected.contributions, atol=1e-6 * size)
    np.testing.assert_allclose(reference, expected.references[0], atol=1e-8)


def test_single_precision_and_an_older_opset():
    """The same to single precision, but for lines whose nodes lie next to a jump."""
    model, X = fitted_pipeline({"feature_map": "quadratic"}, "none", 2)
    expected = explain(model, X[:20]).contributions
    found, _ = run(model, X[:20].astype(np.float32), dtype=np.float32, target_opset=13)
    assert found.dtype == np.float32
    error = np.abs(found - expected).max(axis=(1, 2))
    assert np.median(error) < 1e-4 * np.abs(expected).max()
