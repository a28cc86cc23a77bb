"""Tests of hyperlocal.export.c_paths: compiled contributions are those of Python."""

import numpy as np
import pytest

from export.compiled import Compiled
from export.test_paths import OPTIONS, fitted_pipeline
from hyperlocal import explain


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_compiled_contributions_are_those_of_python(options, n_classes, tmp_path):
    """Behind a scaler, within single precision, and they add up to the score.

    A node next to a jump may be on its other side in single precision: most rows agree, not all.
    """
    model, X = fitted_pipeline(options, "scaler", n_classes)
    expected = explain(model, X[:20]).contributions
    compiled = Compiled(model, tmp_path, contributions=True)
    scores = compiled.scores(X[:20]).reshape(20, -1)
    for column in range(expected.shape[1]):
        found, rest = compiled.contributions(X[:20], column)
        error = np.abs(found - expected[:, column]).max(axis=1)
        assert np.median(error) < 2e-4 * np.abs(expected).max()
        assert (error < 2e-3 * np.abs(expected).max()).mean() >= 0.9
        np.testing.assert_allclose(found.sum(axis=1) + rest, scores[:, column], atol=1e-4)
