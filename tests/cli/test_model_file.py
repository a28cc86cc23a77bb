"""Tests of model files: what is stored, what is rejected, and which errors name the remedy."""

import os

import numpy as np
import pytest
import skops.io
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import FunctionTransformer

from cli.models import lines_of
from hyperlocal.cli import main, model_file
from hyperlocal.compare import METHODS, REGRESSORS
from hyperlocal.compare.experiment import fit_encoder


def test_models_that_keep_sparse_rows(tmp_path, capsys):
    """Sparse training rows are plain data, and may be stored."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    path, model = str(tmp_path / "a.svm"), str(tmp_path / "m.skops")
    dump_svmlight_file(X, X[:, 0] > 0, path)
    for key in ("neighborhood", "svc"):
        common = ["--method", key, "--jobs", "1", "--quiet"]
        assert main(["fit", path, "-o", model, *common]) == 0
        assert main(["predict", model, path]) == 0
        assert len(lines_of(capsys)) == 40


def test_gradient_boosting_cannot_be_stored(tmp_path, capsys):
    """Its trees are of a type that skops does not trust; it is refused before the file is read."""
    path = tmp_path / "m.skops"
    common = ["--target", "class", "--method", "boosting", "--quiet"]
    assert main(["fit", "no-such-file.csv", "-o", str(path), *common]) == 2
    assert "boosting cannot be stored" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize(
    ("target", "key"),
    [
        (target, key)
        for target, methods in (("class", METHODS), ("y", REGRESSORS))
        for key, method in methods.items()
        if method.package.is_installed and method.can_be_stored
    ],
)
def test_every_method_is_stored(target, key, banana_csv, tmp_path):
    """Every method predicts the same after it was stored, and its file holds trusted types only."""
    path = str(tmp_path / "m.skops")
    common = [banana_csv, "--target", target, "--jobs", "1", "--quiet", "-o", path]
    assert main(["fit", *common, "--method", key]) == 0
    stored = model_file.load(path)
    rows = stored.read(banana_csv, target=target)
    again = (METHODS if target == "class" else REGRESSORS)[key].make(0, 1)
    pipeline = model_file.make_pipeline(fit_encoder(rows.X), again).fit(rows.X, rows.y)
    np.testing.assert_array_equal(stored.pipeline.predict(rows.X), pipeline.predict(rows.X))


def test_a_strange_file_is_refused(tmp_path, capsys):
    """A file that names a function to run is refused before anything in it is built."""
    path = str(tmp_path / "evil.skops")
    skops.io.dump({"format": model_file.FORMAT, "pipeline": FunctionTransformer(os.system)}, path)
    assert main(["info", path]) == 1
    error = capsys.readouterr().err
    assert "refused, because it holds" in error
    assert "system" in error


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (1, ["predict", "none.skops", "{csv}"], "none.skops: no such file; hyperlocal fit writes"),
        (1, ["predict", "{csv}", "{csv}"], "not a model that hyperlocal fit wrote"),
        (1, ["predict", "{model}", "{other}"], "lacks 2 of the 3 columns needed: 'weight', 'age'"),
        (1, ["score", "{model}", "{csv}", "--target", "age"], "is the target the right column?"),
        (1, ["explain", "{model}", "{csv}", "--rows", "90"], "no row 90; "),
        (1, ["fit", "{csv}", "-o", "no/folder/m.skops"], "no folder 'no/folder'; make it first"),
        (2, ["fit", "{csv}", "--target", "age", "-o", "m", "--method", "svc"], "of regression svc"),
        (2, ["fit", "no", "-o", "m", "--task", "regression", "--method", "svc"], "mean 'svr'?"),
        (2, ["fit", "{csv}", "-o", "m", "--calibrate", "0.2"], "--calibrate: is for numbers"),
        (2, ["predict", "{model}", "{csv}", "--interval", "0.9"], "the model predicts classes"),
        (1, ["fit", "{csv}", "-o", "m", "--set", "C=-1", "--quiet"], "C must be"),
        (2, ["fit", "{csv}", "-o", "m", "--method", "tree"], "unknown methods tree"),
        (2, ["fit", "{csv}", "-o", "m", "--set", "D=1"], "has no argument D; it has C, "),
        (2, ["fit", "{csv}", "-o", "m", "--set", "c=1"], "argument c (did you mean 'C'?)"),
        (1, ["predict", "{model}", "none.csv", "--proba"], "no probabilities; fit it with --set"),
    ],
)
def test_errors_name_the_remedy(code, arguments, message, cats_csv, cats_model, tmp_path, capsys):
    """Every failure is one line on stderr, without a traceback; stdout stays empty."""
    other = tmp_path / "other.csv"
    other.write_text("fur,height\nlong,3\nshort,4\n")
    names = {"csv": cats_csv, "model": cats_model, "other": other}
    assert main([argument.format(**names) for argument in arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1


def test_without_skops(cats_csv, cats_model, monkeypatch, capsys):
    """Without skops the error says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    assert main(["info", cats_model]) == 1
    assert "pip install 'hyperlocal[cli]'" in capsys.readouterr().err


def test_devices_and_folders_are_not_replaced(banana_csv, tmp_path, capsys):
    """A model renamed to a device or a pipe would take its place: an error before the fit."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        assert main(["fit", banana_csv, "-o", str(path), "--quiet"]) == 1
        assert f"--output: {path} is not a file" in capsys.readouterr().err
    assert pipe.is_fifo()


def test_a_folder_that_cannot_be_written_is_an_error_before_the_fit(
    banana_csv, monkeypatch, capsys
):
    """Not after minutes of training."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert main(["fit", banana_csv, "-o", "m.skops", "--quiet"]) == 1
    assert "cannot be written to; give another folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [{"format": "other"}, {"format": model_file.FORMAT}, [1, 2]], ids=str
)
def test_other_skops_files_are_refused(content, tmp_path, capsys):
    """In one line."""
    path = str(tmp_path / "other.skops")
    skops.io.dump(content, path)
    assert main(["info", path]) == 1
    error = capsys.readouterr().err
    assert "damaged, or written by other versions" in error
    assert len(error.splitlines()) == 1
