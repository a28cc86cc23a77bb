"""Tests of ``hyperlocal info``."""

import json
import os
import sys

import numpy as np

from cli.models import lines_of
from hyperlocal.cli import main
from hyperlocal.runtime.versions import installation


def test_info(capsys):
    """Versions, platform, cores and the compiled core are printed, one a line."""
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    names = [line.split("  ")[0] for line in out.splitlines()]
    assert names == list(installation())
    assert np.__version__ in out
    assert "missing" not in out


def test_info_without_the_core(monkeypatch, capsys):
    """A compiled core that cannot be imported is reported, not raised."""
    monkeypatch.setitem(sys.modules, "hyperlocal._core", None)
    assert main(["info"]) == 0
    assert "compiled core  missing (" in capsys.readouterr().out


def test_info_of_a_model(cats_model, capsys):
    """info prints of a model file its method, classes, columns, features, anchors and size."""
    assert main(["info", cats_model, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["method"] == "locally-linear-identity"
    assert facts["classes"] == ["no", "yes"]
    assert (facts["columns"], facts["features"], facts["target"]) == (3, 5, "tame")
    assert facts["anchors"] >= 1
    assert facts["bytes"] == os.path.getsize(cats_model)
    assert main(["info", cats_model]) == 0
    assert "classes         no, yes" in lines_of(capsys)


def test_a_model_of_numbers(flats_model, capsys):
    """It has no classes."""
    assert main(["info", flats_model, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["predicts"] == "numbers"
    assert "classes" not in facts
