"""Tests of hyperlocal.estimators.landmark_training: what training with given parameters makes."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.data import make_data
from hyperlocal.data.labelled import LabelledRows
from hyperlocal.estimators.cluster_training import ClusterTraining
from hyperlocal.estimators.landmark_training import LandmarkTraining
from hyperlocal.estimators.stages import N_FOLDS
from hyperlocal.gates.clusters import ClusterSettings
from hyperlocal.model.kernel_model import KernelModel
from hyperlocal.model.local_model import LocalModel
from hyperlocal.model.stacked import n_models_before
from hyperlocal.papers import LandmarkSVC
from hyperlocal.runtime.threads import Workers


def training(**options):
    """The parameters of an estimator with three clusters."""
    clusters, solver = ClusterSettings(3), ClusterTraining("auto", "hinge", 1e-3, 1000)
    return LandmarkTraining.of(LandmarkSVC(3, **options), clusters, solver)


def fit(settings):
    """A fit to some rows, and the epochs that were reported."""
    X, y = make_data(3)
    data = LabelledRows(X, y.astype(np.int32), np.arange(3), np.ones(90))
    epochs = []
    with Workers(1) as workers:
        rng = np.random.default_rng(0)
        found = settings.fit(data, rng, workers, lambda number, **_: epochs.append(number))
    return found, epochs


def test_linear_models_are_local_models():
    """With one intercept for all clusters, a number for C, a dual variable per row and class."""
    found, epochs = fit(training(intercept_scaling=2.0))
    assert isinstance(found.model, LocalModel)
    assert (found.model.bias.value, found.model.bias.offset) == (0.0, 2.0)
    assert found.training.C > 0
    assert found.dual_coef.shape == (90, 3)
    assert len(epochs) >= found.result.n_iter


def test_kernels_are_kernel_models():
    """Their support are the rows that have a dual variable."""
    found, epochs = fit(training(kernel="rbf"))
    assert isinstance(found.model, KernelModel)
    assert len(found.model.support) == found.dual_coef.any(axis=1).sum()
    assert not epochs


@pytest.mark.parametrize("n_stages", [1, 2, 3])
def test_stages(n_stages):
    """All stages are trained where none is left out, in no more epochs than announced."""
    settings = training(n_stages=n_stages, keep_if_better=False)
    found, epochs = fit(settings)
    assert n_models_before(found.model.feature_map) == n_stages - 1
    assert len(epochs) <= settings.most_epochs
    n_solves = n_stages + (n_stages - 1) * N_FOLDS
    assert settings.most_epochs == n_solves * 1000


def test_stages_are_linear():
    """A kernel and stages exclude each other."""
    settings = training(kernel="rbf")
    settings.check()
    with pytest.raises(ValueError, match="kernel='rbf' needs n_stages=1"):
        replace(settings, n_stages=2).check()
