"""Settings of all tests."""

import pytest
from hypothesis import settings
from sklearn.datasets import make_moons

from hyperlocal.runtime.threads import Workers

# The same examples on every run: a failure is a bug, never bad luck.
settings.register_profile("stable", derandomize=True, deadline=None, max_examples=50, database=None)
settings.load_profile("stable")


@pytest.fixture
def workers():
    """One thread."""
    with Workers(1) as pool:
        yield pool


@pytest.fixture(scope="session")
def moons():
    """Training and test rows of two moons."""
    X, y = make_moons(500, noise=0.15, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]
