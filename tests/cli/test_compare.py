"""Tests of ``hyperlocal compare``: what goes to stdout, what to stderr, and the exit codes."""

import json

import numpy as np
import pytest

from hyperlocal.cli import COMMANDS, build_parser, main
from hyperlocal.cli.compare import run_with
from hyperlocal.compare import DEFAULT_METHODS, METHODS, REGRESSORS, Method
from hyperlocal.datasets import make_banana

FEW = ["--methods", "locally-linear-identity,linear-svc"]


def test_compare_prints_a_table(banana_csv, capsys):
    """The table goes to stdout; the summary and a line per fit go to stderr."""
    assert main(["compare", banana_csv, "--target", "class", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2 + len(DEFAULT_METHODS)
    assert out.startswith("method ")
    assert "banana: 150 training and 50 test rows, 2 columns, 2 features, 2 classes of class" in err
    assert "fitting RBF SVM" in err


def test_compare_digits_by_default(capsys):
    """Without data, scikit-learn's digits are compared."""
    assert main(["compare", *FEW]) == 0
    out, err = capsys.readouterr()
    assert "digits: 1,347 training and 450 test rows, 64 features, 10 classes" in err
    assert "linear SVM" in out


def test_compare_json(banana_csv, capsys):
    """JSON has the data, the seed and a row for each method asked for, in that order."""
    arguments = [
        "--target",
        "0",
        "--methods",
        "svc, linear-svc",
        "--seed",
        "4",
        "--test-size",
        "0.5",
    ]
    assert main(["compare", banana_csv, *arguments, "--json", "--quiet"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert err == ""
    assert (result["data"], result["seed"]) == ("banana", 4)
    assert (result["n_train"], result["n_test"], result["n_features"]) == (100, 100, 2)
    assert [row["key"] for row in result["rows"]] == ["svc", "linear-svc"]
    assert [row["method"] for row in result["rows"]] == ["RBF SVM", "linear SVM"]
    assert result["rows"][0]["accuracy"] > 0.9


def test_compare_repeats(banana_csv, capsys):
    """The same seed gives the same accuracies."""
    accuracies = []
    for _ in range(2):
        main(
            [
                "compare",
                banana_csv,
                "--target",
                "0",
                "--methods",
                "locally-linear-identity",
                "--json",
            ]
        )
        accuracies.append(json.loads(capsys.readouterr().out)["rows"][0]["accuracy"])
    assert accuracies[0] == accuracies[1]


def test_compare_named_set(tmp_path, monkeypatch, capsys):
    """A name that is no file is looked up among the benchmark sets."""
    X, y = make_banana(60, random_state=0)
    np.savez(tmp_path / "mine.npz", X_train=X[:40], y_train=y[:40], X_test=X[40:], y_test=y[40:])
    monkeypatch.setenv("HYPERLOCAL_DATA", str(tmp_path))
    assert main(["compare", "mine", *FEW]) == 0
    assert "mine: 40 training and 20 test rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (1, ["nothing.csv"], "no file 'nothing.csv', and unknown dataset 'nothing.csv'; known are"),
        (1, ["{csv}", "--target", "kind"], "no column 'kind'; columns are class, x, y"),
        (2, ["{csv}", "--metric", "auc"], "--metric: auc is not for numbers; choose one of r2, "),
        (2, ["{csv}", "--methods", "svc"], "of regression svc (did you mean 'svr'?); known are"),
        (2, ["no", "--task", "regression", "--metric", "auc"], "--metric: auc is not for numbers"),
        (2, ["no", "--task", "regression", "--methods", "svc"], "(did you mean 'svr'?)"),
        (1, ["{csv}", "--positive", "1"], "--positive: banana has numbers to predict"),
        (1, ["nothing.csv", "--target", "x"], "no file 'nothing.csv'"),
        (1, ["--report", "no/such/folder/page.html"], "no folder 'no/such/folder'"),
        (2, ["--target", "x"], "--target: digits is not a file with columns"),
        (2, ["{csv}", "--methods", "tree"], "unknown methods tree; known are: locally-linear-"),
        (2, ["{csv}", "--methods", "SVC"], "unknown methods SVC (did you mean 'svc'?)"),
        (1, ["{csv}", "--target", "clas"], "no column 'clas' (did you mean 'class'?)"),
        (
            1,
            ["{csv}", "--target", "class", "--drop", "X"],
            "drop: no column 'X' (did you mean 'x'?)",
        ),
        (1, ["{csv}", "--target", "class", "--positive", "yes"], "no class 'yes'; they are 0, 1"),
        (2, ["{npz}", "--test-size", "0.5"], "--test-size: split has its own test part"),
    ],
)
def test_errors_without_a_traceback(
    code, arguments, message, banana_csv, tmp_path, monkeypatch, capsys
):
    """What went wrong is printed in one line on stderr; exit code 1 for data, 2 for usage."""
    monkeypatch.delenv("HYPERLOCAL_DATA", raising=False)
    X, y = make_banana(60, random_state=0)
    npz = tmp_path / "split.npz"
    np.savez(npz, X_train=X[:40], y_train=y[:40], X_test=X[40:], y_test=y[40:])
    arguments = [argument.format(csv=banana_csv, npz=npz) for argument in arguments]
    assert main(["compare", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("hyperlocal compare: error: ")
    assert message in err
    assert len(err.splitlines()) == 1


def test_compare_numbers(banana_csv, tmp_path, capsys):
    """A number to predict is announced, measured by regressors, and has its own page."""
    page = tmp_path / "page.html"
    few = ["--methods", "locally-linear-identity,ridge,mean", "--report", str(page)]
    assert main(["compare", banana_csv, "--target", "y", *few]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split()[:4] == ["method", "R²", "RMSE", "MAE"]
    assert "200 different labels, e.g. " in err
    assert "this looks like a number to predict" in err
    text = page.read_text(encoding="utf-8")
    for part in ("Predicted against true values", "Residuals", "Most too low", "(by R²)"):
        assert part in text
    assert "Always predicting the mean has R² " in text
    assert main(["compare", banana_csv, "--target", "class", "--task", "regression", *few]) == 0
    assert main(["compare", banana_csv, "--target", "y", "--metric", "mae", *few, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.split("\n", 5)[-1])["task"] == "regression"


def test_interrupted_comparison(banana_csv, capsys):
    """The lines of the methods that were finished are printed; the exit code is that of Ctrl-C."""

    def interrupt(seed, n_jobs):
        raise KeyboardInterrupt

    command = ["compare", banana_csv, "--target", "class", "--quiet"]
    arguments = build_parser("hyperlocal", "", COMMANDS).parse_args(command)
    methods = [METHODS["linear-svc"], Method("endless", "endless", interrupt)]
    with pytest.raises(KeyboardInterrupt):
        run_with(arguments, methods, force=False)
    out = capsys.readouterr().out
    assert "linear SVM" in out
    assert "endless" not in out


def test_metric_and_notes(tmp_path, capsys):
    """The chosen metric has a column; what was filled in and left out is printed to stderr."""
    rng = np.random.default_rng(0)
    rows = [
        f"{x:.2f},{'' if i == 7 else 'ab'[int(x > 0)]}" for i, x in enumerate(rng.normal(size=80))
    ]
    rows[3] = ",a"
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *rows]))
    options = ["--methods", "logistic-regression", "--metric", "log-loss"]
    assert main(["compare", str(tmp_path / "a.csv"), *options]) == 0
    out, err = capsys.readouterr()
    assert "log-loss" in out.splitlines()[0]
    assert "1 row without a label was left out" in err
    assert "x: 1 missing value filled in by" in err


def test_nothing_measured(capsys):
    """If no method could be run, the table says why and the exit code is 1."""

    def make(seed, n_jobs):
        raise ValueError("x")

    arguments = build_parser("hyperlocal", "", COMMANDS).parse_args(["compare", "--quiet"])
    assert run_with(arguments, [Method("broken", "broken", make)], force=False) == 1
    assert "failed: x" in capsys.readouterr().out


def test_help_names_every_method(capsys):
    """The help lists the key of every method."""
    with pytest.raises(SystemExit, match="0"):
        main(["compare", "--help"])
    words = capsys.readouterr().out.split()
    assert {*METHODS, *REGRESSORS} <= set(words)
