"""Tests of ``hyperlocal score``."""

import json

from cli.models import lines_of
from hyperlocal.cli import main


def test_score(cats_csv, cats_model, capsys):
    """The score is the share of right predictions, in all and of each class."""
    assert main(["score", cats_model, cats_csv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n_rows"] == 90
    assert result["accuracy"] == 1 - result["n_wrong"] / 90
    assert set(result["recall"]) == {"no", "yes"}
    assert main(["score", cats_model, cats_csv]) == 0
    assert lines_of(capsys)[0].startswith(f"accuracy           {100 * result['accuracy']:.2f} %")


def test_numbers(flats_model, flats_csv, capsys):
    """R², errors in the units of the target, and how often intervals hold the true value."""
    assert main(["score", flats_model, flats_csv]) == 0
    out = capsys.readouterr().out
    assert [line.split("  ")[0] for line in out.splitlines()] == [
        "R²", "RMSE", "MAE", "rows", "in 90% intervals",
    ]  # fmt: skip
    assert main(["score", flats_model, flats_csv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["r2"] > 0.95
    assert 5_000 < result["mae"] < 20_000
    assert 0.8 < result["coverage"] <= 1
