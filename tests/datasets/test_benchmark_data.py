"""Checks of the real benchmark sets in HYPERLOCAL_DATA: ``make test-data``."""

import numpy as np
import pytest

from hyperlocal.datasets import known_datasets, load_dataset
from hyperlocal.datasets.benchmark import ARRAYS

pytestmark = pytest.mark.data

# Rows and columns of the training part.
SHAPES = {
    "california": (20640, 8),
    "caravan": (5822, 85),
    "casp": (45730, 9),
    "cells_excel": (2019, 56),
    "census-income": (199523, 41),
    "compactiv": (8192, 21),
    "covtype": (581012, 54),
    "covid_testing": (15524, 16),
    "crash": (26217, 11),
    "credit": (4454, 13),
    "creditcard": (284807, 30),
    "diamonds": (53940, 9),
    "hpc": (4331, 7),
    "penguins": (344, 7),
    "puma32h": (8192, 32),
    "storms": (19537, 12),
    "telco_churn": (7043, 19),
    "tweets": (20761, 7),
}


@pytest.mark.parametrize("name", known_datasets())
def test_set_loads_from_the_folder(name):
    """Every set loads, with the rows per class of the published split, or its known shape."""
    data = load_dataset(name)
    counts = ARRAYS[name].train_counts if name in ARRAYS else ()
    assert data.has_test_part == (bool(counts) or name == "census-income")
    if counts:
        assert tuple(np.unique(data.y_train, return_counts=True)[1]) == counts
    if name in SHAPES:
        assert data.X_train.shape == SHAPES[name]
