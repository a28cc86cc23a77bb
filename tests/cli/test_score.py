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
