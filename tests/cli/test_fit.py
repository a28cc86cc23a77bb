"""Tests of ``hyperlocal fit``: formats, methods, settings and streams."""

import json
import os
import weakref
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from cli.models import QUICK, lines_of
from hyperlocal import LocallyLinearSVC
from hyperlocal.cli import main, model_file
from hyperlocal.datasets import make_banana, read_raw


@pytest.mark.parametrize("kind", ["npz", "parquet", "svm"])
def test_other_formats(kind, banana_csv, tmp_path, capsys):
    """A model is fitted to and scored on every format."""
    X, y = make_banana(200, random_state=0)
    path = str(tmp_path / f"banana.{kind}")
    if kind == "npz":
        np.savez(path, X_train=X[:150], y_train=y[:150], X_test=X[150:], y_test=y[150:])
    elif kind == "svm":
        dump_svmlight_file(sparse.csr_matrix(X), y, path, zero_based=False)
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"x": X[:, 0], "class": y, "y": X[:, 1]}), path)
    model = str(tmp_path / "m.skops")
    target = ["--target", "class"] if kind == "parquet" else []
    assert main(["fit", path, *target, "-o", model, *QUICK, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == (150 if kind == "npz" else 200)
    assert main(["score", model, path, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n_rows"] == (50 if kind == "npz" else 200)
    assert result["accuracy"] > 0.9


def test_settings(banana_csv, tmp_path):
    """--set gives arguments to the method: numbers, words and None."""
    path = str(tmp_path / "m.skops")
    common = ["fit", banana_csv, "--target", "class", "-o", path, *QUICK]
    assert main([*common, "--set", "C=0.5", "--set", "loss=hinge", "--set", "n_anchors=9"]) == 0
    model = model_file.load(path).model
    assert (model.C, model.loss, len(model.anchors_)) == (0.5, "hinge", 9)


def test_the_table_is_not_kept_while_a_model_is_fitted(cats_csv, tmp_path, monkeypatch):
    """Only its encoded rows are: the table of the file is often larger."""
    tables, alive = [], []

    def reading(*given, **options):
        rows = read_raw(*given, **options)
        tables.append(weakref.ref(rows.X))
        return rows

    def fitting(self, *given):
        alive.append(tables[0]() is not None)
        return fit(self, *given)

    fit = LocallyLinearSVC.fit
    monkeypatch.setattr("hyperlocal.cli.fit.read_raw", reading)
    monkeypatch.setattr(LocallyLinearSVC, "fit", fitting)
    assert main(["fit", cats_csv, "--output", str(tmp_path / "m.skops"), *QUICK]) == 0
    assert alive == [False]


def test_stream_fits_and_predicts_in_blocks(cats_csv, tmp_path, capsys):
    """Encoding and scaling are those of all rows; predictions come block by block, all of them."""
    path = str(tmp_path / "streamed.skops")
    options = ["--target", "tame", "--output", path, "--stream", "--folder", str(tmp_path)]
    assert main(["fit", cats_csv, *options, *QUICK]) == 0
    whole = str(tmp_path / "whole.skops")
    assert main(["fit", cats_csv, "--target", "tame", "--output", whole, *QUICK]) == 0
    models = [model_file.load(name) for name in (path, whole)]
    np.testing.assert_allclose(*(one.encoder.center_ for one in models))
    assert models[0].about == replace(models[1].about, positive=None)
    assert models[0].feature_names == models[1].feature_names
    capsys.readouterr()
    assert main(["predict", path, cats_csv, "--stream", "--scores"]) == 0
    header, *lines = lines_of(capsys)
    assert header == "prediction,score of yes"
    labels = [line.split(",")[0] for line in lines]
    assert np.mean(np.array(labels) == read_raw(cats_csv).y) > 0.9
    assert sorted(os.listdir(tmp_path)) == ["cats.csv", "streamed.skops", "whole.skops"]


def test_stream_of_sparse_rows(tmp_path, capsys):
    """LIBSVM files are streamed too; rows to predict may end at an earlier feature."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((200, 12)) * rng.binomial(1, 0.4, (200, 12)))
    y = (X[:, [0]].toarray().ravel() > 0.2).astype(int)
    data, few = str(tmp_path / "a.svm"), str(tmp_path / "b.svm")
    dump_svmlight_file(X, y, data, zero_based=False)
    dump_svmlight_file(X[:20, :6], y[:20], few, zero_based=False)
    path = str(tmp_path / "model.skops")
    assert main(["fit", data, "--stream", "--output", path, *QUICK]) == 0
    assert main(["predict", path, few, "--stream"]) == 0
    assert np.mean(np.array(lines_of(capsys), int) == y[:20]) > 0.8


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--stream", "--method", "svc"], 2, "needs all rows at once; choose locally-linear-id"),
        (["--folder", "."], 2, "goes with --stream"),
        (["--stream", "--folder", "nowhere"], 1, "no folder 'nowhere'"),
    ],
)
def test_stream_that_cannot_be(cats_csv, tmp_path, capsys, options, code, message):
    """What cannot be streamed is an error of one line."""
    output = str(tmp_path / "model.skops")
    assert main(["fit", cats_csv, "--target", "tame", "--output", output, *options]) == code
    assert message in capsys.readouterr().err
