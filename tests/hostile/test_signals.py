"""Ctrl-C, as the shell sends it, at any time of a fit: it ends, and leaves nothing half done."""

import os
import signal
import subprocess
import sys
import time

import numpy as np

from cli.models import QUICK

PATIENCE = 60.0  # seconds; the fits would take far longer, interrupted ones end within one
# Fits one estimator after the other, and prints what is left of each when it is interrupted.
FITS = """
import signal, threading, warnings
import numpy as np
from sklearn.exceptions import NotFittedError
from hyperlocal import LocallyLinearSVC, LocallyLinearSVR, SupervisedAnchorSVC
from hyperlocal.linear import SDCASVC, PegasosSVC
from hyperlocal.papers import LandmarkSVC, LatentLocallyLinearSVC, LocalDeepSVC

def state_of(model):
    try:
        model.predict(X[:5])
    except NotFittedError:
        return "not fitted"

signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(20_000, 20)), rng.integers(3, size=20_000)
for model in [
    LocallyLinearSVC(50, C=10.0, n_jobs=2),
    LocallyLinearSVC(50, C=10.0, solver="sgd", n_jobs=2),
    LocallyLinearSVR(50, C=10.0),
    SupervisedAnchorSVC(50, C=10.0, n_jobs=2),
    LandmarkSVC(50, C=1e3, loss="squared_hinge"),
    LocalDeepSVC(depth=3, C=1.0),
    LatentLocallyLinearSVC(10, C=1.0),
    SDCASVC(C=100.0),
    PegasosSVC(C=1.0),
]:
    name, parameters = type(model).__name__, model.get_params()
    endless = {"max_iter": 10**6, "tol": 0.0, "random_state": 0}
    model.set_params(**{key: value for key, value in endless.items() if key in parameters})
    try:
        print("begin", flush=True)
        model.fit(X, y)
        print(name, "ended by itself", flush=True)
    except KeyboardInterrupt:
        print(name, state_of(model), threading.active_count(), flush=True)
"""


def interrupt(process, after):
    """Press Ctrl-C after a while."""
    time.sleep(after)
    process.send_signal(signal.SIGINT)


def test_interrupted_fits_leave_nothing():
    """No model that predicts, and no thread."""
    command = [sys.executable, "-c", FITS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        left = []
        for line in process.stdout:
            if line == "begin\n":
                interrupt(process, 0.1 + 0.1 * len(left))
                begin = time.monotonic()
            else:
                assert time.monotonic() - begin < PATIENCE
                left.append(line.split(maxsplit=1)[1])
    assert process.returncode == 0
    assert left == ["not fitted 1\n"] * 9


def test_an_interrupted_command_leaves_the_old_model(tmp_path):
    """With exit code 130 and one word, and without a temporary file."""
    data, model = tmp_path / "rows.npz", tmp_path / "m.skops"
    rng = np.random.default_rng(0)
    np.savez(data, X=rng.normal(size=(200_000, 20)), y=rng.integers(3, size=200_000))
    model.write_bytes(b"old")
    command = [sys.executable, "-c", "import signal; "
               "signal.signal(signal.SIGINT, signal.default_int_handler); "
               "from hyperlocal.cli import main; print('begin', flush=True); "
               "raise SystemExit(main())",
               "fit", str(data), "-o", str(model), *QUICK]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        assert process.stdout.readline() == "begin\n"
        interrupt(process, 0.5)
        _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert error == "interrupted\n"
    assert model.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.skops", "rows.npz"]
