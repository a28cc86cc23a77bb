"""Docstrings say what estimators have, and show how each public name is used."""

from __future__ import annotations

import dataclasses
import inspect
import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate
from sklearn.linear_model import LogisticRegression

import hyperlocal
import hyperlocal.compare
import hyperlocal.dask
import hyperlocal.datasets
import hyperlocal.export
import hyperlocal.linear
import hyperlocal.model
import hyperlocal.papers
import hyperlocal.plots
import hyperlocal.preprocessing
import hyperlocal.vision
from estimators.data import make_data
from hostile.estimators import ESTIMATORS

SHELVES = (hyperlocal, hyperlocal.papers, hyperlocal.linear, hyperlocal.preprocessing)
PUBLIC = (
    *SHELVES, hyperlocal.compare, hyperlocal.dask, hyperlocal.datasets, hyperlocal.export,
    hyperlocal.model, hyperlocal.plots, hyperlocal.vision,
)  # fmt: skip
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


def is_record(found: object) -> bool:
    """Whether a name is a record, which the example of the function that returns it shows."""
    return dataclasses.is_dataclass(found) and not hasattr(found, "from_estimator")


def examples(found: Any) -> str:
    """The docstring of a function or class, with those of a display's constructors."""
    constructors = [name for name in dir(found) if name.startswith("from_estimator")]
    parts = [found, *(getattr(found, name) for name in constructors)]
    return "\n".join(inspect.getdoc(part) or "" for part in parts)


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_every_public_name_has_an_example(module: ModuleType) -> None:
    """Each public function, estimator and display has an example, which is run as a doctest."""
    used = {name: getattr(module, name) for name in module.__all__}
    callables = {
        name: one for name, one in used.items() if callable(one) and inspect.getdoc(one) is not None
    }
    missing = [
        name
        for name, one in callables.items()
        if not is_record(one) and ">>> " not in examples(one)
    ]
    assert not missing


# Rules of numpydoc that are not ours: sections that a method of one line does not need (EX01, ES01,
# SA01, PR01, RT01, YD01), types and descriptions that annotations and names give (PR04, PR07,
# RT03), the order of parameters that a base class has (PR03), and "does" for "do" (SS05).
NOT_OURS = {
    "EX01", "ES01", "SA01", "PR01", "RT01", "YD01", "PR04", "PR07", "RT03", "PR03", "SS05",
}  # fmt: skip


def documented() -> set[str]:
    """Full names of public classes, their methods, and functions."""
    named = [getattr(module, name) for module in PUBLIC for name in module.__all__]
    things = [one for one in named if inspect.isclass(one) or inspect.isfunction(one)]
    names = {f"{one.__module__}.{one.__qualname__}" for one in things}
    for kind in filter(inspect.isclass, things):
        own = (name for name, value in vars(kind).items() if inspect.isfunction(value))
        names |= {f"{kind.__module__}.{kind.__qualname__}.{n}" for n in own if n[0] != "_"}
    return names


@pytest.mark.parametrize("name", sorted(documented()))
def test_docstrings_are_valid(name: str) -> None:
    """By the rules of numpydoc."""
    errors = [(code, text) for code, text in validate(name)["errors"] if code not in NOT_OURS]
    assert errors == []
