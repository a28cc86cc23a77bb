"""Mutated files: whatever a file holds, reading it succeeds or is one clear error, and no crash."""

import os
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, make_moons

from cli.models import QUICK
from hyperlocal.cli import main
from hyperlocal.datasets import read_table, stream

N_MUTANTS = 150  # of each kind of file
ERRORS = (ValueError, TypeError, OSError)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A small file of each kind, by its ending."""
    folder = tmp_path_factory.mktemp("originals")
    X, y = make_moons(30, noise=0.1, random_state=0)
    rows = sp.csr_array(X)
    np.savez(folder / "dense.npz", X=X, y=y)
    np.savez_compressed(folder / "packed.npz", X_train=X, y_train=y, X_test=X, y_test=y)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
    np.savez(folder / "sparse.npz", **parts, shape=rows.shape, y=y)
    np.save(folder / "rows.npy", np.column_stack([X, y]))
    dump_svmlight_file(X, y, str(folder / "rows.svm"))
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X, y, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["a,b,label", *lines]))
    assert main(["fit", str(folder / "rows.csv"), "-o", str(folder / "m.skops"), *QUICK]) == 0
    return folder


def mutants(original, path):
    """A path with copies in turn: with other bytes, copied stretches, or ends that are cut off."""
    rng = np.random.default_rng(0)
    for number in range(N_MUTANTS):
        data = bytearray(original.read_bytes())
        for _ in range(rng.integers(1, 6)):
            data[rng.integers(len(data))] = rng.choice([0, 0x2D, 0x39, 0x7F, 0x80, 0xFF])
        if number % 3 == 1:
            begin, to = rng.integers(len(data), size=2)
            data[to : to + 16] = data[begin : begin + 16]
        if number % 3 == 2:
            del data[rng.integers(1, len(data)) :]
        path.write_bytes(data)
        yield path


def error_of(path):
    """The error of reading a file whole and in blocks; None if there is none."""
    try:
        read_all(path)
    except ERRORS as error:
        return str(error)
    return None


def read_all(path):
    if path.suffix != ".npy":
        read_table(path)
    for _ in stream(path, block_rows=7):
        pass


@pytest.mark.parametrize(
    "name", ["dense.npz", "packed.npz", "sparse.npz", "rows.npy", "rows.svm", "rows.csv"]
)
def test_mutated_data_are_read_or_refused(name, originals, tmp_path):
    """With an error that names the file; a wrong size does not reserve memory."""
    path = tmp_path / name
    refused = [error for one in mutants(originals / name, path) if (error := error_of(one))]
    assert refused
    assert all(path.stem in error for error in refused)


def test_mutated_models_are_loaded_or_refused(originals, tmp_path, capsys):
    """In one line that names the file."""
    n_refused = 0
    for path in mutants(originals / "m.skops", tmp_path / "m.skops"):
        if main(["info", str(path)]) == 0:
            continue
        n_refused += 1
        error = capsys.readouterr().err
        assert str(path) in error
        assert len(error.splitlines()) == 1
    assert n_refused > N_MUTANTS / 2


def limited(n_bytes):
    """Let files of a process grow to so many bytes: a full disk that needs no mount."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


@pytest.fixture(params=["limit", "mount"])
def full_disk(request, tmp_path):
    """A folder with room for a few bytes: a mounted one where that is allowed, else by a limit of
    the process. Returns it, what a process must call first, and what the system says."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(folder)]
    mounted = request.param == "mount" and shutil.which("mount") is not None
    mounted = mounted and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    if not mounted:
        yield folder, lambda: limited(100), "File too large"
        return
    yield folder, None, "No space left on device"
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_old_model_and_no_working_folder(originals, full_disk):
    """Where the model, or the rows of a stream, cannot be written."""
    disk, prepare, reason = full_disk
    model, folder = disk / "m.skops", disk / "work"
    model.write_bytes(b"old")
    folder.mkdir()
    command = [sys.executable, "-m", "hyperlocal", "fit", str(originals / "rows.csv"), *QUICK]
    for extra in ([], ["--stream", "--folder", str(folder)]):
        done = subprocess.run(
            [*command, "-o", str(model), *extra], capture_output=True, text=True, timeout=60,
            preexec_fn=prepare, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        assert done.returncode == 1
        assert reason in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert model.read_bytes() == b"old"
        assert sorted(path.name for path in disk.iterdir()) == ["m.skops", "work"]
        assert list(folder.iterdir()) == []
