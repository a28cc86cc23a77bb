"""Small models for the tests of SupervisedAnchorSVC."""

from itertools import product

import pytest

from hyperlocal import SupervisedAnchorSVC

every_solver = pytest.mark.parametrize("solver", ["dual", "sgd"])
LOSSES = [
    (loss, multi_class)
    for loss, multi_class in product(["squared_hinge", "hinge", "log"], ["ovr", "crammer_singer"])
    if (loss, multi_class) != ("log", "crammer_singer")
]


def model(**options):
    """A small model with a seed that learns for a few epochs."""
    small = {"n_anchors": 6, "n_neighbors": 3, "anchor_epochs": 4, "random_state": 0}
    return SupervisedAnchorSVC(**{**small, **options})


def unjudged(**options):
    """A model that keeps what it learned."""
    return model(keep_if_better=False, **options)


def streaming(**options):
    """A model for ``partial_fit``."""
    return model(solver="sgd", **options)
