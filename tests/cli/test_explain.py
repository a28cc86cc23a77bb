"""Tests of ``hyperlocal explain``."""

import json

import pytest

from cli.models import lines_of
from hyperlocal.cli import main


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
