"""Tests of hyperlocal.estimators.automatic_chain."""

import pytest

from hyperlocal.estimators.automatic_chain import automatic_candidates
from hyperlocal.model.local_model import ChainSettings


def test_nothing_is_automatic_with_a_given_c():
    """A number for C leaves nothing to choose."""
    assert automatic_candidates(ChainSettings(), 3.0, "dual") == []


def test_one_linear_model_is_a_candidate_if_all_is_automatic():
    """It has one anchor and the rows as they are; it comes first, as the simplest."""
    linear, local = automatic_candidates(ChainSettings(), "auto", "dual")
    assert (linear.n_anchors, linear.feature_map, linear.normalize) == (1, None, False)
    assert local == ChainSettings()


@pytest.mark.parametrize("given", [{"n_anchors": 5}, {"feature_map": None}, {"anchors": "random"}])
def test_given_settings_are_kept(given):
    """Where the chain is given, C alone is chosen."""
    assert automatic_candidates(ChainSettings(**given), "auto", "dual") == [ChainSettings(**given)]
