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
ARGUMENTS = {name: arguments for name, (_, arguments) in ESTIMATORS.items()} | {
    "SecondLookSVC": {"first_look": LogisticRegression()}
}
CLASSES = {
    name: kind
    for shelf in SHELVES
    for name in shelf.__all__
    if isinstance(kind := getattr(shelf, name), type)
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


# Sections that only estimators and functions of the front door need, as in scikit-learn (where
# methods need none of them): a second paragraph, an example (see above), references to others.
OPTIONAL = {"EX01", "ES01", "SA01"}
# Models, for those who extend the library: they read the source, where arguments and results are
# annotated, and one line says what a method does.
EXTENSIONS = ("hyperlocal.model.local_model.", "hyperlocal.model.chain_settings.")
ANNOTATED = {"PR01", "PR07", "RT01", "RT03", "YD01"}


def documented() -> dict[str, set[str]]:
    """Full names of public classes, all they inherit from us, and functions, with the rules that
    each need not keep."""
    named = [getattr(module, name) for module in PUBLIC for name in module.__all__]
    things = [one for one in named if inspect.isclass(one) or inspect.isfunction(one)]
    names = {full_name(one): left_out(one) for one in things}
    for kind in filter(inspect.isclass, things):
        for base in filter(lambda one: one.__module__.startswith("hyperlocal"), kind.__mro__):
            own = (name for name, value in vars(base).items() if is_ours(name, value))
            names |= {f"{full_name(base)}.{name}": OPTIONAL for name in own}
    return {
        name: rules | (ANNOTATED if name.startswith(EXTENSIONS) else set())
        for name, rules in names.items()
    }


def full_name(one: Any) -> str:
    """Module and qualified name."""
    return f"{one.__module__}.{one.__qualname__}"


def is_ours(name: str, value: object) -> bool:
    """Whether an entry of a class is a public method or property (not one made by scikit-learn)."""
    kinds = (classmethod, staticmethod, property)
    is_code = inspect.isroutine(value) or isinstance(value, kinds)
    return is_code and not re.match("_|set_.*_request$", name)


def left_out(one: Any) -> set[str]:
    """Rules that a class or function need not keep. Records list their fields as attributes."""
    if one in CLASSES.values():
        return set()
    return OPTIONAL | ({"PR01"} if is_record(one) else set())


@pytest.mark.parametrize(("name", "rules"), sorted(documented().items()))
def test_docstrings_are_valid(name: str, rules: set[str]) -> None:
    """By the rules of numpydoc."""
    assert [(code, text) for code, text in validate(name)["errors"] if code not in rules] == []


RECORDS = [
    one
    for module in PUBLIC
    for one in map(module.__dict__.get, module.__all__)
    if inspect.isclass(one) and is_record(one) and one not in CLASSES.values()
]


@pytest.mark.parametrize("record", RECORDS, ids=full_name)
def test_fields_of_records_are_documented(record: Any) -> None:
    """Each public field of a record is among its attributes or parameters, or has a comment that
    the documentation shows."""
    doc = ClassDoc(record)
    lines = [*doc["Attributes"], *doc["Parameters"]]
    documented = {part.strip() for line in lines for part in line.name.split(",")}
    source = inspect.getsource(record)
    documented |= set(re.findall(r"(\w+): .*#: ", source) + re.findall(r"#: .*\n +(\w+):", source))
    fields = {field.name for field in dataclasses.fields(record) if field.name[0] != "_"}
    assert fields <= documented
