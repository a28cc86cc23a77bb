"""Tests of fit, predict, score, explain and info: from a file to a model file and back."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import FunctionTransformer

from hyperlocal.cli import main, model_file
from hyperlocal.compare import METHODS
from hyperlocal.datasets import make_banana, read_raw

skops_io = pytest.importorskip("skops.io")
# They keep trees, of types that skops does not trust.
NOT_STORED = ("boosting", "lightgbm", "nearest-neighbors", "megm")
QUICK = ["--method", "locally-linear-identity", "--jobs", "1", "--quiet"]


@pytest.fixture
def cats_model(cats_csv, tmp_path):
    path = str(tmp_path / "cats.skops")
    assert main(["fit", cats_csv, "--target", "tame", "--output", path, *QUICK]) == 0
    return path


def lines_of(capsys):
    return capsys.readouterr().out.splitlines()


def test_fit_and_predict_a_table(cats_csv, cats_model, capsys):
    """Predictions go to stdout, one label a line, and are mostly right."""
    assert main(["predict", cats_model, cats_csv]) == 0
    truth = read_raw(cats_csv).y
    assert np.mean(np.array(lines_of(capsys)) == truth) > 0.9


def test_columns_are_found_by_name(cats_csv, cats_model, tmp_path, capsys):
    """Another order, more columns and no labels make no difference; encoding is the model's."""
    main(["predict", cats_model, cats_csv])
    expected = lines_of(capsys)[:3]
    rows = [line.split(",") for line in Path(cats_csv).read_text().splitlines()[1:4]]
    (tmp_path / "new.csv").write_text(
        "id,age,fur,weight\n" + "".join(f"a{i},{r[2]},{r[1]},{r[0]}\n" for i, r in enumerate(rows))
    )
    assert main(["predict", cats_model, str(tmp_path / "new.csv")]) == 0
    assert lines_of(capsys) == expected


def test_unseen_category(cats_model, tmp_path, capsys):
    """A category that training did not see is none of those that it saw, and no error."""
    (tmp_path / "new.csv").write_text("weight,fur,age\n4.0,curly,7.0\n9.0,curly,7.0\n")
    assert main(["predict", cats_model, str(tmp_path / "new.csv")]) == 0
    assert len(lines_of(capsys)) == 2


def test_table_without_names(banana_csv, tmp_path, capsys):
    """Without a header, columns are taken by place, with or without the labels."""
    text = "\n".join(Path(banana_csv).read_text().splitlines()[1:])
    with_labels, without = tmp_path / "a.csv", tmp_path / "b.csv"
    with_labels.write_text(text)
    without.write_text("\n".join(line.partition(",")[2] for line in text.splitlines()))
    model = str(tmp_path / "m.skops")
    assert main(["fit", str(with_labels), "--target", "0", "-o", model, *QUICK]) == 0
    predictions = []
    for path in (with_labels, without):
        assert main(["predict", model, str(path)]) == 0
        predictions.append(lines_of(capsys))
    assert predictions[0] == predictions[1]
    assert len(predictions[0]) == 200


def test_predict_forms(cats_csv, cats_model, tmp_path, capsys):
    """JSON, scores and files hold the same predictions."""
    main(["predict", cats_model, cats_csv])
    labels = lines_of(capsys)
    main(["predict", cats_model, cats_csv, "--json"])
    assert json.loads(capsys.readouterr().out)["predictions"] == labels
    output = tmp_path / "scores.csv"
    main(["predict", cats_model, cats_csv, "--scores", "--output", str(output)])
    out, err = capsys.readouterr()
    assert out == ""
    assert "90 rows" in err
    header, *rows = output.read_text().splitlines()
    assert header == "prediction,score of yes"
    for row, label in zip(rows, labels, strict=True):
        assert (float(row.split(",")[1]) > 0) == (label == "yes")


def test_score(cats_csv, cats_model, capsys):
    """The score is the share of right predictions, in all and of each class."""
    assert main(["score", cats_model, cats_csv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n_rows"] == 90
    assert result["accuracy"] == 1 - result["n_wrong"] / 90
    assert set(result["recall"]) == {"no", "yes"}
    assert main(["score", cats_model, cats_csv]) == 0
    assert lines_of(capsys)[0].startswith(f"accuracy           {100 * result['accuracy']:.2f} %")


def test_explain(cats_csv, cats_model, capsys):
    """Contributions have the names of the encoded features and add up to the score."""
    assert main(["explain", cats_model, cats_csv, "--rows", "1,3-4", "--json"]) == 0
    explanations = json.loads(capsys.readouterr().out)
    assert [one["row"] for one in explanations] == [1, 3, 4]
    for one in explanations:
        (column,) = one["classes"]
        assert set(column["contributions"]) == {
            "weight",
            "age",
            "fur_long",
            "fur_none",
            "fur_short",
        }
        total = sum(column["contributions"].values()) + column["intercept"]
        assert total == pytest.approx(column["score"])
    assert main(["explain", cats_model, cats_csv]) == 0
    assert lines_of(capsys)[0].startswith("row 0: predicted ")


def test_info_of_a_model(cats_model, capsys):
    """A model file tells its method, classes, columns, features, anchors and size."""
    assert main(["info", cats_model, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["method"] == "locally-linear-identity"
    assert facts["classes"] == ["no", "yes"]
    assert (facts["columns"], facts["features"], facts["target"]) == (3, 5, "tame")
    assert facts["anchors"] >= 1
    assert facts["bytes"] == os.path.getsize(cats_model)
    assert main(["info", cats_model]) == 0
    assert "classes         no, yes" in lines_of(capsys)


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


def test_gradient_boosting_cannot_be_stored(banana_csv, tmp_path, capsys):
    """Its trees are of a type that skops does not trust; nothing is written."""
    path = tmp_path / "m.skops"
    common = ["--target", "class", "--method", "boosting", "--quiet"]
    assert main(["fit", banana_csv, "-o", str(path), *common]) == 1
    assert "boosting cannot be stored" in capsys.readouterr().err
    assert not path.exists()


def test_narrower_sparse_rows(tmp_path, capsys):
    """A LIBSVM file that ends before the last feature still has all of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] > 0).astype(int)
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=False)
    dump_svmlight_file(X[:, :3], y, str(tmp_path / "b.svm"), zero_based=False)
    dump_svmlight_file(np.hstack([X, X]), y, str(tmp_path / "c.svm"), zero_based=False)
    model = str(tmp_path / "m.skops")
    assert main(["fit", str(tmp_path / "a.svm"), "-o", model, *QUICK]) == 0
    assert main(["predict", model, str(tmp_path / "b.svm")]) == 0
    assert len(lines_of(capsys)) == 60
    assert main(["predict", model, str(tmp_path / "c.svm")]) == 1
    assert "8 features, but the model was fitted to 4" in capsys.readouterr().err


@pytest.mark.parametrize(
    "key",
    [
        key
        for key, method in METHODS.items()
        if method.package.is_installed and key not in NOT_STORED
    ],
)
def test_every_method_is_stored(key, banana_csv, tmp_path):
    """Every method predicts the same after it was stored, and its file holds trusted types only."""
    pytest.importorskip("skops")
    path = str(tmp_path / "m.skops")
    common = [banana_csv, "--target", "class", "--jobs", "1", "--quiet", "-o", path]
    assert main(["fit", *common, "--method", key]) == 0
    stored = model_file.load(path)
    rows = stored.read(banana_csv, target="class")
    again = METHODS[key].make(0, 1)
    pipeline = model_file.make_pipeline(rows, again).fit(rows.X, rows.y)
    np.testing.assert_array_equal(stored.pipeline.predict(rows.X), pipeline.predict(rows.X))


def test_settings(banana_csv, tmp_path):
    """--set gives arguments to the method: numbers, words and None."""
    path = str(tmp_path / "m.skops")
    common = ["fit", banana_csv, "--target", "class", "-o", path, *QUICK]
    assert main([*common, "--set", "C=0.5", "--set", "loss=hinge", "--set", "n_anchors=9"]) == 0
    model = model_file.load(path).model
    assert (model.C, model.loss, len(model.anchors_)) == (0.5, "hinge", 9)


def test_a_strange_file_is_refused(tmp_path, capsys):
    """A file that names a function to run is refused before anything in it is built."""
    path = str(tmp_path / "evil.skops")
    skops_io.dump({"format": model_file.FORMAT, "pipeline": FunctionTransformer(os.system)}, path)
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
        (1, ["fit", "{csv}", "--target", "age", "-o", "m"], "the labels are not whole numbers"),
        (1, ["fit", "{csv}", "-o", "m", "--set", "C=-1", "--quiet"], "C must be"),
        (2, ["fit", "{csv}", "-o", "m", "--method", "tree"], "unknown methods tree"),
        (2, ["fit", "{csv}", "-o", "m", "--set", "D=1"], "has no argument D; it has C, "),
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


# Streams ------------------------------------------------------------------------------------------


def test_stream_fits_and_predicts_in_blocks(cats_csv, tmp_path, capsys):
    """Encoding and scaling are those of all rows; predictions come block by block, all of them."""
    path = str(tmp_path / "streamed.skops")
    options = ["--target", "tame", "--output", path, "--stream", "--folder", str(tmp_path)]
    assert main(["fit", cats_csv, *options, *QUICK]) == 0
    whole = str(tmp_path / "whole.skops")
    assert main(["fit", cats_csv, "--target", "tame", "--output", whole, *QUICK]) == 0
    models = [model_file.load(name) for name in (path, whole)]
    np.testing.assert_allclose(*(one.pipeline["scale"].mean_ for one in models))
    assert models[0].about == models[1].about
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
    X = sparse.random_array((200, 12), density=0.4, rng=rng, format="csr")
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
    """What cannot be streamed is refused in a line."""
    output = str(tmp_path / "model.skops")
    assert main(["fit", cats_csv, "--target", "tame", "--output", output, *options]) == code
    assert message in capsys.readouterr().err
