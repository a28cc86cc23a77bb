"""Tests of ``hyperlocal explain``."""

import json

import numpy as np
import pytest

from cli.models import QUICK, lines_of
from hyperlocal.cli import main


def test_explain(cats_csv, cats_model, capsys):
    """Contributions have the names of the encoded features and add up to the score."""
    assert main(["explain", cats_model, cats_csv, "--rows", "1,3-4", "--json"]) == 0
    explanations = json.loads(capsys.readouterr().out)
    assert [one["row"] for one in explanations] == [1, 3, 4]
    for one in explanations:
        (column,) = one["classes"]
        assert set(column["contributions"]) == {"weight", "age", "fur"}
        total = sum(column["contributions"].values()) + column["intercept"]
        assert total == pytest.approx(column["score"])
        parts = {part["column"]: part for part in one["columns"]}
        assert set(parts) == {"weight", "age", "fur"}
        assert sum(part["contribution"] for part in parts.values()) == pytest.approx(
            column["score"] - column["intercept"]
        )
        assert one["place"] == f"line {one['row'] + 2}"
    assert main(["explain", cats_model, cats_csv]) == 0
    lines = lines_of(capsys)
    assert lines[0].startswith("row 0, line 2: predicted ")
    assert any(line.strip().startswith("fur = ") for line in lines)


def test_numbers(flats_model, flats_csv, capsys):
    """Columns and the reference add up to the prediction, in the units of the target."""
    assert main(["explain", flats_model, flats_csv, "--rows", "3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("row 3, line 5: predicted ")
    assert {"size", "town", "reference", "prediction"} <= set(out.split())
    assert main(["explain", flats_model, flats_csv, "--rows", "3", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    (score,) = row["classes"]
    assert score["class"] is None
    total = score["intercept"] + sum(score["contributions"].values())
    assert total == pytest.approx(row["prediction"])


def test_rows_without_a_place(tmp_path, capsys):
    """Rows of arrays stand in no line: their number is all."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    path, model = str(tmp_path / "a.npz"), str(tmp_path / "m.skops")
    np.savez(path, X=X, y=X[:, 0] > 0)
    assert main(["fit", path, "-o", model, *QUICK]) == 0
    assert main(["explain", model, path]) == 0
    assert lines_of(capsys)[0].startswith("row 0: predicted ")
