"""Tests of ``hyperlocal export``."""

import os
import shutil

import numpy as np
import onnxruntime
import pytest

from cli.models import QUICK
from hyperlocal.cli import main, model_file
from hyperlocal.export import numpy_predict


@pytest.fixture
def banana_model(banana_csv, tmp_path):
    path = str(tmp_path / "banana.skops")
    assert main(["fit", banana_csv, "--target", "class", "--output", path, *QUICK]) == 0
    return path


def test_c_header(banana_model, tmp_path, capsys):
    """A header is written beside the model, and its size is printed."""
    assert main(["export", banana_model, "--to", "c", "--dtype", "int8"]) == 0
    text = (tmp_path / "banana.h").read_text()
    assert "typedef signed char model_number;" in text
    assert f"({len(text.encode()):,} bytes)" in capsys.readouterr().err


def test_numpy_and_onnx_predict_as_the_model(banana_model, banana_csv, tmp_path):
    """Exported files take the columns of the table, and give its labels."""
    stored = model_file.load(banana_model)
    rows = stored.read(banana_csv, target="class").X
    labels = stored.pipeline.predict(rows)
    X = rows.to_numpy(np.float64)
    assert main(["export", banana_model, "--to", "numpy", "--quiet"]) == 0
    other = str(tmp_path / "other")
    assert main(["export", banana_model, "--to", "numpy", "--quiet", "-o", other]) == 0
    assert (tmp_path / "other.npz").exists()
    arrays = numpy_predict.load(tmp_path / "banana.npz")
    np.testing.assert_array_equal(numpy_predict.predict(arrays, X), labels)
    path = str(tmp_path / "m.onnx")
    assert main(["export", banana_model, "--to", "onnx", "--dtype", "float64", "-o", path]) == 0
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = session.run(["label"], {"X": X})[0]
    np.testing.assert_array_equal(np.asarray(found, labels.dtype), labels)


@pytest.mark.parametrize(("form", "suffix"), [("c", "h"), ("onnx", "onnx"), ("numpy", "npz")])
def test_a_file_is_replaced_when_the_new_one_is_complete(
    form, suffix, banana_model, tmp_path, monkeypatch, capsys
):
    """An error while a file is written leaves what was there."""
    path = tmp_path / f"banana.{suffix}"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    assert main(["export", banana_model, "--to", form]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert path.read_bytes() == b"old"


def test_contributions_are_exported(banana_model, banana_csv, tmp_path):
    """The arrays explain rows in the units of the table, and add up to the scores."""
    target = tmp_path / "banana.npz"
    options = ["--to", "numpy", "--contributions", "-o", str(target)]
    assert main(["export", str(banana_model), *options]) == 0
    arrays = numpy_predict.load(target)
    rows = np.zeros((3, int(arrays["paths.references"].shape[1])))
    found, references, remainders = numpy_predict.explain(arrays, rows)
    total = (references + found.sum(axis=2) + remainders)[:, 0]
    np.testing.assert_allclose(total, numpy_predict.decision_function(arrays, rows))


def test_encoded_features_are_named(cats_model, tmp_path, capsys):
    """Where the table has texts, the message names the features that rows must have."""
    assert main(["export", cats_model, "--to", "c"]) == 0
    assert "as zeros and ones: weight, fur=long" in capsys.readouterr().err
    assert "#define MODEL_N_FEATURES 5" in (tmp_path / "cats.h").read_text()


@pytest.mark.skipif(shutil.which("emcc") is None, reason="needs Emscripten, which is not of pip")
def test_wasm_module(banana_model, tmp_path):
    """A JavaScript module is written."""
    assert main(["export", banana_model, "--to", "wasm", "--quiet"]) == 0
    assert "export async function load()" in (tmp_path / "banana.mjs").read_text()


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["--to", "onnx", "--dtype", "int8"], "--to onnx stores numbers as float32 or float64"),
        (1, ["--to", "c", "-o", "no/folder/m.h"], "no folder 'no/folder'; make it first"),
    ],
)
def test_bad_usage(code, arguments, message, banana_model, capsys):
    """Errors are one line that names the remedy."""
    assert main(["export", banana_model, *arguments]) == code
    assert message in capsys.readouterr().err


def test_models_that_cannot_be_exported(banana_csv, tmp_path, capsys):
    """The error gives the reason, and nothing is written."""
    path = str(tmp_path / "m.skops")
    common = ["--target", "class", "--method", "neighborhood", "--jobs", "1", "--quiet"]
    assert main(["fit", banana_csv, "-o", path, *common]) == 0
    assert main(["export", path, "--to", "c"]) == 1
    assert "NeighborhoodSVC cannot be exported" in capsys.readouterr().err
    assert not (tmp_path / "m.h").exists()
