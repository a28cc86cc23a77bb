"""Tests of ``hyperlocal predict``: columns, categories and forms of output."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from cli.models import QUICK, lines_of
from hyperlocal.cli import main
from hyperlocal.datasets import read_raw


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
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert "fur: 2 rows have a value that training had not ('curly')" in err


def test_a_folder_that_does_not_exist(cats_model, cats_csv, tmp_path, capsys):
    """It is named before anything is read, with the remedy."""
    output = str(tmp_path / "no" / "p.csv")
    assert main(["predict", cats_model, cats_csv, "-o", output]) == 1
    assert "--output: no folder" in capsys.readouterr().err


def test_gaps_and_columns_that_were_dropped(tmp_path, capsys):
    """Cells may be missing where training had none, and dropped columns need not be there."""
    rng = np.random.default_rng(0)
    rows = [f"{i},{x:.3f},{'ab'[i % 2]},{int(x > 0)}" for i, x in enumerate(rng.normal(size=60))]
    (tmp_path / "a.csv").write_text("\n".join(["id,x,kind,label", *rows]))
    model = str(tmp_path / "m.skops")
    assert main(["fit", str(tmp_path / "a.csv"), "-o", model, *QUICK]) == 0
    (tmp_path / "b.csv").write_text("kind,x\n,\n,5\nc,-4\n\n")
    assert main(["predict", model, str(tmp_path / "b.csv")]) == 0
    assert lines_of(capsys)[1:] == ["1", "0"]  # after one for the row that has no cells


def test_probabilities(cats_csv, tmp_path, capsys):
    """A column for each class, which add up to one."""
    model = str(tmp_path / "m.skops")
    assert main(["fit", cats_csv, "-o", model, *QUICK, "--set", "loss=log"]) == 0
    assert main(["predict", model, cats_csv, "--proba"]) == 0
    header, *lines = lines_of(capsys)
    assert header == "prediction,P of no,P of yes"
    for line in lines:
        label, no, yes = line.split(",")
        assert float(no) + float(yes) == pytest.approx(1)
        assert (float(yes) > 0.5) == (label == "yes")
    assert main(["score", model, cats_csv, "--json", "--positive", "no"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert 0 < result["log_loss"] < 0.6
    assert result["average_precision"] > 0.9


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


def test_labels_that_look_like_formulas(tmp_path, capsys):
    """An apostrophe keeps spreadsheets from running them, unless they are asked for verbatim."""
    rows = [f"{x / 2},{'=2*3' if x > 0 else '-'}\n" for x in range(-10, 10)]
    data, model = tmp_path / "a.csv", str(tmp_path / "m.skops")
    data.write_text("x,label\n" + "".join(rows))
    assert main(["fit", str(data), "-o", model, *QUICK]) == 0
    for extra, expected in (([], "'=2*3"), (["--verbatim"], "=2*3")):
        assert main(["predict", model, str(data), *extra]) == 0
        assert set(lines_of(capsys)) == {"-", expected}
        assert main(["predict", model, str(data), "--scores", *extra]) == 0
        header, *lines = lines_of(capsys)
        assert not header.startswith("=")
        assert {line.split(",")[0] for line in lines} == {"-", expected}


def test_numbers_and_intervals(flats_model, flats_csv, capsys):
    """A number for each row; the intervals hold the true ones about as often as asked."""
    assert main(["predict", flats_model, flats_csv]) == 0
    numbers = [float(line) for line in lines_of(capsys)]
    assert main(["predict", flats_model, flats_csv, "--interval", "0.9"]) == 0
    header, *rows = lines_of(capsys)
    assert header == "prediction,lower,upper"
    found = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    np.testing.assert_array_equal(found[:, 0], numbers)
    prices = np.loadtxt(flats_csv, delimiter=",", skiprows=1, usecols=2)
    assert np.mean((found[:, 1] <= prices) & (prices <= found[:, 2])) > 0.85
    assert main(["predict", flats_model, flats_csv, "--interval", "0.9", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["intervals"]) == {"lower", "upper"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--proba"], "--proba: the model predicts numbers; ask for --interval 0.9"),
        (["--scores"], "--scores: the model predicts numbers"),
        (["--proba", "--interval", "0.9"], "--interval: goes without --proba"),
    ],
)
def test_what_numbers_do_not_have(options, message, flats_model, capsys):
    """Refused before the rows are read."""
    assert main(["predict", flats_model, "no-such-file.csv", *options]) == 2
    assert message in capsys.readouterr().err


def test_intervals_need_held_out_rows(flats_csv, tmp_path, capsys):
    """A model that was fitted to all rows says how to fit it."""
    model = str(tmp_path / "all.skops")
    assert main(["fit", flats_csv, "--output", model, *QUICK]) == 0
    assert main(["predict", model, flats_csv, "--interval", "0.9"]) == 1
    assert "fit with --calibrate 0.2" in capsys.readouterr().err
