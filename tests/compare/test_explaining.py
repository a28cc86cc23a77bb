"""Tests of hyperlocal.compare.explaining: contributions of the columns of a table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from hyperlocal import LocallyLinearSVC
from hyperlocal.compare.explaining import explain_row
from hyperlocal.preprocessing import TableEncoder

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def table():
    age = RNG.integers(18, 80, 120).astype(float)
    kind = RNG.choice(["a", "b", "c"], 120)
    y = (age > 50) ^ (kind == "a")
    index = pd.RangeIndex(2, 122, name="line")
    return pd.DataFrame({"age": age, "kind": kind}, index=index), y


@pytest.fixture(scope="module")
def explained(table):
    X, y = table
    encoder = TableEncoder().fit(X)
    encoded = encoder.transform(X)
    model = LocallyLinearSVC(4, n_neighbors=2, feature_map="identity", random_state=0)
    model.fit(encoded, y)
    names = encoder.get_feature_names_out()
    return explain_row(model, encoder, X.iloc[5:6], encoded[5:6], names), model, encoder


def test_columns_add_up(explained, table):
    """A category is one part, with the row's own value; parts and intercept are the score."""
    row = explained[0]
    assert {part.column for part in row.parts} == {"age", "kind"}
    others = sum(value for _, value in row.constants)
    assert sum(part.contribution for part in row.parts) + others == pytest.approx(row.score)
    values = {part.column: part.value for part in row.parts}
    assert values == {"age": f"{table[0].iloc[5, 0]:g}", "kind": table[0].iloc[5, 1]}
    assert row.place == "line 7"
    assert str(row).startswith("line 7: predicted ")


def test_changes_are_in_the_units_of_the_table(explained, table):
    """So many years lead to the other prediction, with the category as it is."""
    row, model, encoder = explained
    ((name, years),) = row.changes
    assert name == "age"
    other = table[0].iloc[5:6].assign(age=table[0].iloc[5, 0] + years)
    (label,) = model.predict(encoder.transform(other))
    assert label == row.other != row.explanation.prediction
    assert row.boundary_text() == f"predicted {label} after age {years:+.3g} alone"


def test_a_missing_number_does_not_change(explained, table):
    """What a missing number is filled in by is no value of the row to change."""
    _, model, encoder = explained
    row = table[0].iloc[5:6].assign(age=np.nan)
    encoded, names = encoder.transform(row), encoder.get_feature_names_out()
    assert explain_row(model, encoder, row, encoded, names).changes == []


def test_rows_of_an_array():
    """Without a table, parts are features with their values before scaling."""
    X = RNG.normal(5, 2, (60, 2))
    scaler = StandardScaler().fit(X)
    model = LocallyLinearSVC(2, n_neighbors=2, feature_map="identity", random_state=0)
    model.fit(scaler.transform(X), X[:, 0] > 5)
    row = explain_row(model, scaler, X[:1], scaler.transform(X[:1]), ["p", "q"])
    assert {part.label for part in row.parts} == {f"p = {X[0, 0]:.6g}", f"q = {X[0, 1]:.6g}"}
    assert row.place == ""
    assert len(row.largest(1)) == 2


def test_models_of_scikit_learn(table):
    """Linear models and SVMs of scikit-learn are explained too; trees are not."""
    X, y = table
    encoder = TableEncoder().fit(X)
    encoded, names = encoder.transform(X), encoder.get_feature_names_out()
    for model in (LinearSVC(), SVC()):
        model.fit(encoded, y)
        row = explain_row(model, encoder, X.iloc[:1], encoded[:1], names)
        total = sum(part.contribution for part in row.parts) + sum(v for _, v in row.constants)
        assert total == pytest.approx(model.decision_function(encoded[:1])[0])
    trees = HistGradientBoostingClassifier().fit(encoded, y)
    with pytest.raises(TypeError, match="cannot be explained exactly"):
        explain_row(trees, encoder, X.iloc[:1], encoded[:1], names)


def test_no_changes_where_numbers_decide_nothing(table):
    """Between categories there is no way to go: nothing is said where only they decide."""
    X = table[0]
    encoder = TableEncoder().fit(X[["kind"]])
    encoded, names = encoder.transform(X[["kind"]]), encoder.get_feature_names_out()
    model = LocallyLinearSVC(2, n_neighbors=2, feature_map="identity", random_state=0)
    model.fit(encoded, X["kind"] == "a")
    row = explain_row(model, encoder, X[["kind"]].iloc[30:31], encoded[30:31], names)
    assert row.changes == []
    assert row.boundary_text() == ""
