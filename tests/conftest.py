"""Settings of all tests."""

import pytest
from hypothesis import settings

from hyperlocal.runtime.threads import Workers

# The same examples on every run: a failure is a bug, never bad luck.
settings.register_profile("stable", derandomize=True, deadline=None, max_examples=50, database=None)
settings.load_profile("stable")


@pytest.fixture
def workers():
    """One thread."""
    with Workers(1) as pool:
        yield pool
