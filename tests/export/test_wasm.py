"""Tests of hyperlocal.export.wasm: the module gives the model's labels, scores, contributions."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from export.models import fitted
from hyperlocal.export import to_wasm

SCRIPT = """
import { load } from "./model.mjs";
import { readFileSync } from "node:fs";
const model = await load();
const rows = JSON.parse(readFileSync("rows.json"));
console.log(JSON.stringify({
  classes: model.classes,
  labels: rows.map(model.predict),
  scores: rows.map(model.decisionFunction),
  parts: model.explain ? rows.map((row) => model.explain(row, 0)) : null,
}));
"""


@pytest.mark.skipif(
    shutil.which("emcc") is None or shutil.which("node") is None,
    reason="needs Emscripten and Node.js, which pip does not install",
)
@pytest.mark.parametrize(("name", "n_classes"), [("scaled", 2), ("auto", 3), ("nystroem", 3)])
def test_the_module_predicts_as_the_model(name, n_classes, tmp_path):
    """Node.js gets the labels, scores and contributions of Python."""
    model, X = fitted(name, n_classes)
    (tmp_path / "model.mjs").write_text(to_wasm(model))
    (tmp_path / "rows.json").write_text(json.dumps(X.tolist()))
    (tmp_path / "run.mjs").write_text(SCRIPT)
    done = subprocess.run(
        ["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["classes"] == model.classes_.tolist()
    assert found["labels"] == model.predict(X).tolist()
    scores = model.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(found["scores"], scores, rtol=2e-3, atol=2e-4)
    if name == "nystroem":
        assert found["parts"] is None
        return
    sums = [sum(part["contributions"]) + part["constant"] for part in found["parts"]]
    np.testing.assert_allclose(sums, scores[:, 0], rtol=2e-3, atol=2e-4)


@pytest.mark.skipif(
    shutil.which("emcc") is None or shutil.which("node") is None,
    reason="needs Emscripten and Node.js, which pip does not install",
)
def test_contributions_are_those_of_python(tmp_path):
    """The first score's, relative to the references that the model keeps."""
    model, X = fitted("auto", 3)
    (tmp_path / "model.mjs").write_text(to_wasm(model, contributions=True))
    (tmp_path / "rows.json").write_text(json.dumps(X[:10].tolist()))
    (tmp_path / "run.mjs").write_text(SCRIPT)
    done = subprocess.run(
        ["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = np.array([part["contributions"] for part in json.loads(done.stdout)["parts"]])
    expected = model.explain(X[:10]).contributions[:, 0]
    error = np.abs(found - expected).max(axis=1)
    assert np.median(error) < 1e-3 * np.abs(expected).max()


def test_without_the_compiler(monkeypatch):
    """The error says what to install."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match="install Emscripten"):
        to_wasm(fitted("auto")[0])
