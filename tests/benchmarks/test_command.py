"""Tests of ``python -m benchmarks``."""

import importlib
import json
import sys

import numpy as np
import pytest

from benchmarks.__main__ import main, scripts
from benchmarks.reproduction import table_names
from hyperlocal.datasets import make_banana


@pytest.fixture
def svmguide1(tmp_path, monkeypatch):
    """A stand-in for a set of the tables."""
    X, y = make_banana(300, random_state=0)
    np.savez(
        tmp_path / "svmguide1.npz", X_train=X[:200], y_train=y[:200], X_test=X[200:], y_test=y[200:]
    )
    monkeypatch.setenv("HYPERLOCAL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_help_lists_every_script(capsys):
    """Scripts are subcommands, each with the first line of what it says about itself."""
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    text = "".join(capsys.readouterr().out.split())
    assert {"mnist", "liblinear_race", "defaults", "selection", "summary"} <= scripts().keys()
    for name, about in scripts().items():
        assert name in text
        assert about.endswith(".")


def test_runs_a_script(monkeypatch, capsys):
    """A script gets its own arguments, as ``python -m benchmarks.NAME`` would give them."""
    monkeypatch.setattr("sys.argv", ["benchmarks"])
    monkeypatch.delitem(sys.modules, "benchmarks.summary", raising=False)
    assert main(["summary", "liblinear_race"]) == 0
    assert capsys.readouterr().out.startswith("## liblinear_race")


@pytest.mark.parametrize("name", sorted(scripts()))
def test_every_script_can_be_imported(name):
    """What a script needs of the library is there, without the packages of peers."""
    assert callable(importlib.import_module(f"benchmarks.{name}").main)


def test_lists_tables(capsys):
    """Without a table, the tables are listed with their titles."""
    assert main(["reproduce"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == table_names()


def test_runs_resumes_and_shows(svmguide1, capsys):
    """A table is measured once, kept in a folder, and shown from there."""
    arguments = [
        "reproduce",
        "l3-svm-3",
        "--quick",
        "--sets",
        "svmguide1",
        "--methods",
        "linear-svc",
    ]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "1 of 1 fits to do" in err
    assert out.splitlines()[0].split()[:2] == ["set", "method"]
    assert "4.62" in out  # as published
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert "0 of 1 fits to do" in err
    assert json.loads(out)["rows"][0]["published_error"] == 4.62
    assert main([*arguments, "--show", "--quiet"]) == 0
    assert "linear SVM" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-table"], "unknown table 'no-table'; known are: l3-svm-3"),
        (["main", "--sets", "no"], "unknown sets no; this table has: banana"),
        (["main", "--methods", "no"], "unknown methods no; this table has: svc"),
    ],
)
def test_bad_usage(arguments, message, capsys):
    """An unknown name is an error of one line that lists the known ones."""
    assert main(["reproduce", *arguments]) == 2
    assert message in capsys.readouterr().err
