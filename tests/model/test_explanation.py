"""Tests of hyperlocal.model.explanation: explanations as text, tables and sequences."""

import numpy as np
import pandas as pd
import pytest

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC
from hyperlocal.model import BoundaryPoint, Explanation
from hyperlocal.model.boundary import way_shares
from hyperlocal.model.explanation import FEATURES_SHOWN


def make_explanation(n_features=3, **changes):
    """An explanation of two scores, made by hand."""
    contributions = np.array([np.arange(n_features) * 0.5, -np.arange(n_features) * 1.0])
    references = np.array([0.25, -0.25])
    facts = {
        "prediction": "cat",
        "classes": np.array(["cat", "dog"]),
        "contributions": contributions,
        "references": references,
        "remainders": np.zeros(2),
        "scores": contributions.sum(axis=1) + references,
        "feature_names": np.array([f"x{i}" for i in range(n_features)], dtype=object),
        "anchors": np.array([4, 1]),
        "anchor_weights": np.array([0.75, 0.25]),
    }
    return Explanation(**{**facts, **changes})


# The text ---------------------------------------------------------------------------------------


def test_it_reads_well():
    """The predicted class's score, largest contributions first, signs shown, columns aligned."""
    assert str(make_explanation()).splitlines() == [
        "predicted cat; score of cat:",
        "  x2        +1.0000",
        "  x1        +0.5000",
        "  x0        +0.0000",
        "  reference +0.2500",
        "  score     +1.7500",
        "  anchors: 4 (0.75), 1 (0.25)",
    ]


def test_one_score_for_two_classes():
    """Two classes have one score, of the second; it explains either prediction."""
    explanation = make_explanation(
        prediction="cat",
        classes=np.array(["dog"]),
        contributions=np.array([[-2.0, 0.5]]),
        references=np.array([0.5]),
        remainders=np.zeros(1),
        scores=np.array([-1.0]),
        feature_names=np.array(["weight", "height"], dtype=object),
    )
    lines = str(explanation).splitlines()
    assert lines[0] == "predicted cat; score of dog:"
    assert lines[1] == "  weight    -2.0000"


def test_many_features_are_summed_up():
    """Beyond the largest few, contributions are summed in one line."""
    n_features = FEATURES_SHOWN + 3
    lines = str(make_explanation(n_features)).splitlines()
    assert len(lines) == 1 + FEATURES_SHOWN + 1 + 3
    assert lines[FEATURES_SHOWN + 1] == "  3 others  +1.5000"
    shown = sum(float(line.split()[-1]) for line in lines[1:-2])
    assert shown == pytest.approx(float(lines[-2].split()[-1]))


def test_long_names_stay_aligned():
    """Long names widen their column."""
    names = np.array(["a", "a rather long name", "b"], dtype=object)
    lines = str(make_explanation(feature_names=names)).splitlines()
    assert {len(line) for line in lines[1:-1]} == {len("  a rather long name +0.5000")}


def test_contributions_by_class():
    """Contributions are looked up by label; labels without a score are named."""
    explanation = make_explanation()
    np.testing.assert_array_equal(explanation.of_class("dog"), [0, -1, -2])
    with pytest.raises(ValueError, match=r"no score for 'cow'; .* \['cat', 'dog'\]"):
        explanation.of_class("cow")


def test_margin_and_boundary_come_last():
    """The text ends with the margin over the rival, and the changes that lead to another class."""
    changes = np.array([0.5, -2.0, 0.0])
    point = BoundaryPoint(True, changes, "dog", 2.06, 1.9, changes, way_shares(changes))
    lines = str(make_explanation(rival="dog", boundary=point)).splitlines()
    assert lines[-2:] == [
        "  margin: 5.0000 over dog",
        "  predicted dog at distance 2.06: x1 -2, x0 +0.5",
    ]
    nowhere = BoundaryPoint(False, changes, "cat", 1.9, 1.9, changes, way_shares(changes))
    last = str(make_explanation(boundary=nowhere)).splitlines()[-1]
    assert last == "  boundary: none along the local normal"


# Tables -------------------------------------------------------------------------------------------


def test_tables():
    """Columns of the table add up to the scores; several rows keep their index."""
    X, y = make_data(3)
    frame = pd.DataFrame(X, columns=list("abcde"), index=[f"r{i}" for i in range(len(X))])
    model = LocallyLinearSVC(random_state=0).fit(frame, np.array(["x", "y", "z"])[y])
    explanation = model.explain(frame.iloc[4])
    table = explanation.to_frame()
    assert table.index.tolist() == [*"abcde", "(gate)", "(reference)"]
    np.testing.assert_allclose(table["value"].iloc[:5], X[4])
    sums = [table[f"contribution to {label}"].sum() for label in "xyz"]
    np.testing.assert_allclose(sums, explanation.scores)
    several = model.explain(frame.iloc[2:7]).to_frame()
    assert several.index.tolist() == ["r2", "r3", "r4", "r5", "r6"]
    np.testing.assert_allclose(
        several[[*"abcde", "reference", "gate"]].sum(axis=1), several["score"]
    )
    np.testing.assert_array_equal(several["prediction"], model.predict(frame.iloc[2:7]))
