"""The builds of the compiled core for several instruction sets agree."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from reference.problems import TOLERANCE
from reference.snapshot import snapshot


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    """What the portable build computes, in a process of its own."""
    path = tmp_path_factory.mktemp("snapshot") / "baseline.npz"
    subprocess.run(
        [sys.executable, "-m", "reference.snapshot", str(path)],
        env={**os.environ, "HYPERLOCAL_CORE": "baseline"},
        cwd=Path(__file__).parent,
        check=True,
    )
    with np.load(path) as file:
        return dict(file)


def test_the_portable_build_can_be_chosen(baseline):
    """HYPERLOCAL_CORE=baseline picks the build that runs everywhere."""
    assert baseline["instruction_set"] == "baseline"


def test_the_builds_agree(baseline):
    """The build for this machine and the portable one compute the same."""
    for name, array in snapshot().items():
        if name == "instruction_set":
            continue
        tolerance = TOLERANCE[str(array.dtype)] * 100
        scale = np.abs(array).max(initial=1.0)
        if ": dual" in name:  # stopped at a gap of 1e-4: rounding may cost or save an epoch
            tolerance = max(tolerance, 2e-2)
        np.testing.assert_allclose(baseline[name], array, atol=tolerance * scale, err_msg=name)


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock"
)
def test_free_threaded_python_stays_free_threaded():
    """Importing the library does not bring the global lock back."""
    check = "import hyperlocal, sys; assert not sys._is_gil_enabled()"
    subprocess.run([sys.executable, "-W", "error", "-c", check], check=True)
