"""Tests of hyperlocal.model.explanations: several rows at once."""

import numpy as np

from hyperlocal.model import Explanations
from model.models import fitted
from model.test_explanation import make_explanation


def test_explanations_are_a_sequence():
    """Slices keep rows and their names together; the text has one after the other."""
    parts = [make_explanation(prediction=label) for label in ("cat", "dog", "cat")]
    explanations = Explanations(parts, index=["a", "b", "c"])
    some = explanations[1:]
    assert len(some) == 2
    assert some[0] is explanations[1] is parts[1]
    assert list(explanations) == parts
    assert str(some).count("predicted") == 2
    assert some.to_frame().index.tolist() == ["b", "c"]


def test_arrays_of_all_rows():
    """Arrays are those of the explanations one by one, however they were made."""
    model, X = fitted("linear")
    found = model.explain(X[:4])
    again = Explanations(list(found))
    for name in ("contributions", "scores", "references", "remainders", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))
    assert found[1:3].contributions.shape == (2, 3, 5)


def test_a_console_shows_a_line():
    """What is shown of rows that are not printed is short, however many features there are."""
    model, X = fitted("linear")
    found = model.explain(X[:3])
    assert repr(found).startswith("<Explanations of 3 rows; print them")
    assert repr(found[0]).startswith("<Explanation: predicted ")
    assert "5 features" in repr(found[0])


def test_notebooks_show_tables():
    """One row is a table with a bar per line; many rows are the first few."""
    model, X = fitted("linear")
    found = model.explain(X[:8])
    assert found[0]._repr_html_().count("<tr>") >= 7
    assert found._repr_html_().endswith("<p>… and 3 more rows</p>")
