"""Docstrings of public estimators say what the estimators have."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc
from sklearn.linear_model import LogisticRegression

import hyperlocal
import hyperlocal.linear
import hyperlocal.papers
import hyperlocal.preprocessing
from estimators.data import make_data
from hostile.estimators import ESTIMATORS

SHELVES = (hyperlocal, hyperlocal.papers, hyperlocal.linear, hyperlocal.preprocessing)
# Left out while the arguments of LocallyLinearSVC change.
NOT_YET = {"LocallyLinearSVC", "LocallyLinearSVCCV"}
ARGUMENTS = {name: arguments for name, (_, arguments) in ESTIMATORS.items()} | {
    "SecondLookSVC": {"first_look": LogisticRegression()}
}
CLASSES = {
    name: kind
    for shelf in SHELVES
    for name in shelf.__all__
    if isinstance(kind := getattr(shelf, name), type) and name not in NOT_YET
}


def fitted_attributes(estimator: object) -> set[str]:
    """Public attributes that end in one underscore."""
    names = (name for name in dir(estimator) if re.fullmatch(r"[a-zA-Z]\w*(?<!_)_", name))
    return {name for name in names if hasattr(estimator, name)}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CLASSES)
def test_fitted_attributes_are_documented(name: str) -> None:
    """Each public attribute of a fitted estimator is in the docstring of its class."""
    X, y = make_data(3)
    fitted = CLASSES[name](**ARGUMENTS.get(name, {})).fit(np.abs(X), y)
    lines = ClassDoc(CLASSES[name])["Attributes"]
    documented = {part.strip() for line in lines for part in line.name.split(",")}
    assert fitted_attributes(fitted) <= documented
