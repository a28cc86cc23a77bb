"""Tests of hyperlocal.selection.chain_choice: the whole of what ``C="auto"`` decides."""

import numpy as np
import pytest

from hyperlocal.data.labelled import LabelledRows
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.selection.chain_choice import choose_chain
from hyperlocal.solvers.training import Training


@pytest.mark.parametrize("relevance", [None, "auto"])
def test_features_are_left_out_only_if_relevance_is_open(relevance, workers):
    """Of two products of two features and four of noise, those of effect stay."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_200, 8))
    y = (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] > 0).astype(np.int32)
    data = LabelledRows(X, y, np.arange(2), np.ones(len(y)))
    settings, training = ChainSettings(global_intercept=True), Training(1.0, "squared_hinge")
    choice = choose_chain(settings, relevance, training, data, np.random.default_rng(0), workers)
    assert choice.C > 0
    if relevance is None:
        assert choice.settings.before is None
        return
    kept = np.abs(choice.settings.before.factors)
    kept = kept if kept.ndim == 1 else kept.sum(axis=1)
    assert kept[:4].min() > kept[4:].max()
