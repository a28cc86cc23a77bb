"""Tests of hyperlocal.export.arrays: models as arrays that hold no objects, in one file."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from estimators.data import make_data
from export.models import MODELS, fitted, local
from hyperlocal.export import NUMPY_PREDICTOR, save_numpy, to_numpy


@pytest.mark.parametrize("name", MODELS)
def test_arrays_hold_no_objects(name):
    """Nothing needs pickle; floats have the model's precision."""
    model, _ = fitted(name)
    for values in to_numpy(model).values():
        assert not values.dtype.hasobject
        assert values.dtype.kind != "f" or values.dtype == np.float64


def test_equal_arrays_are_stored_once():
    """The landmarks that three stages share are written once."""
    model, _ = fitted("stages")
    arrays = [values for values in to_numpy(model).values() if values.ndim]
    contents = {(values.dtype.str, values.shape, values.tobytes()) for values in arrays}
    assert len(contents) == len(arrays)


def test_the_predictor_needs_numpy_alone(tmp_path):
    """The copied module predicts from the file, without this library and without pickle."""
    model, X = fitted("scaled")
    save_numpy(model, tmp_path / "model", with_module=True)
    np.save(tmp_path / "rows.npy", X)
    assert (tmp_path / "numpy_predict.py").read_text() == NUMPY_PREDICTOR.read_text()
    script = (
        "import sys, numpy as np, numpy_predict as p; m = p.load('model.npz')\n"
        "assert not {'hyperlocal', 'sklearn', 'scipy'} & set(sys.modules)\n"
        "print(*p.predict(m, np.load('rows.npy')))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert printed.stdout.split() == model.predict(X).tolist()


def test_steps_without_a_plain_form():
    """A step that has no plain form is named in the error."""
    X, y = make_data(3)
    bins = KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")
    model = make_pipeline(bins, local(feature_map=None)).fit(X, y)
    with pytest.raises(ValueError, match="KBinsDiscretizer has no plain form"):
        to_numpy(model)
