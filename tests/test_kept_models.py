"""Model files of this and earlier versions are read, and compute what they computed.

``tools/keep_models.py`` writes them. While a version is not released, a change of its models may
write its files again (``--force``); those of a released version stay as they are.
"""

import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest
import sklearn
import skops.io

import keep_models
from hyperlocal.export import TRUSTED_TYPES
from hyperlocal.export.trusted import PUBLIC_ESTIMATORS
from hyperlocal.runtime.stamp import MODEL_FORMAT, STAMP

FILES = sorted(keep_models.FOLDER.glob("*/*.skops"))


def check_answers(model, path: Path):
    """A model computes what is kept beside its file, which is named after it."""
    with np.load(path.parent / "answers.npz", allow_pickle=False) as kept:
        found = keep_models.answers(model, kept["rows"])
        assert found
        for method, values in found.items():
            expected = kept[f"{path.stem}.{method}"]
            np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9)


def is_older(package) -> bool:
    """Whether a package is older than the one that wrote the files: it need not read them."""
    return tuple(map(int, package.__version__.split(".")[:2])) < WRITTEN_BY[package]


#: What wrote parts of models that are of other packages.
WRITTEN_BY = {np: (2, 0), sklearn: (1, 9)}
reads_pickles = pytest.mark.skipif(
    any(map(is_older, WRITTEN_BY)), reason="pickles are not read by older numpy and scikit-learn"
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_kept_files_are_read(path):
    """A file of this or an earlier version gives the same scores, labels or rows."""
    check_answers(skops.io.load(path, trusted=TRUSTED_TYPES), path)


@reads_pickles
def test_kept_pickles_are_read():
    """A pickle of this or an earlier version gives the same scores."""
    paths = sorted(keep_models.FOLDER.glob("*/*.pickle"))
    assert paths
    for path in paths:
        with open(path, "rb") as file:
            check_answers(pickle.load(file), path)


@reads_pickles
def test_kept_joblib_files_are_read():
    """All models of a version that joblib wrote into one file give the same scores."""
    paths = sorted(keep_models.FOLDER.glob("*/all.joblib"))
    assert paths
    for path in paths:
        models = joblib.load(path)
        assert models.keys() == {file.stem for file in path.parent.glob("*.skops")}
        for name, model in models.items():
            check_answers(model, path.with_name(f"{name}.joblib"))


def test_every_estimator_is_kept():
    """The files of the current version are of all public estimators."""
    assert PUBLIC_ESTIMATORS.keys() <= keep_models.ESTIMATORS.keys()
    assert set(keep_models.ESTIMATORS) == {path.stem for path in FILES}


@pytest.mark.parametrize("name", keep_models.ESTIMATORS)
def test_every_estimator_is_stamped(name):
    """Saved estimators carry format and version; a newer format is an error with the remedy."""
    estimator = keep_models.ESTIMATORS[name]
    state = estimator.__getstate__()
    assert state[STAMP]["format"] == MODEL_FORMAT
    newer = {"format": MODEL_FORMAT + 1, "version": "9.1"}
    with pytest.raises(ValueError, match=r"install hyperlocal>=9\.1, or fit the model again"):
        type(estimator)().__setstate__({**state, STAMP: newer})
