"""Tests of docs/_extensions/estimator_table.py, and of the defaults that it shows."""

import inspect
import re

from estimator_table import (
    methods,
    parameter_text,
    parameters,
    public_estimators,
    tables,
    uncommon_defaults,
)
from sklearn.base import BaseEstimator

import hyperlocal
from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC
from hyperlocal.preprocessing import LocalCoder

ESTIMATORS = [one for shelf in public_estimators().values() for one in shelf]


def test_every_public_estimator_is_in_the_tables():
    """Estimators that hyperlocal exports have a column, each once, with its parameters."""
    exported = {getattr(hyperlocal, name) for name in hyperlocal.__all__}
    expected = {one for one in exported if inspect.isclass(one) and issubclass(one, BaseEstimator)}
    assert expected <= set(ESTIMATORS)
    text = tables()
    for estimator in ESTIMATORS:
        assert len(re.findall(rf"\.{estimator.__name__}`", text)) == 1
        for name in parameters(estimator):
            assert f"``{name}``" in text


def test_cells_are_defaults_and_methods():
    """A row has a cell per estimator: the default in Python, or a mark for a method."""
    assert parameters(LocallyLinearSVC)["loss"] == repr(LocallyLinearSVC().loss)
    assert {"fit", "partial_fit", "fit_stream", "predict", "explain"} <= set(
        methods(LocallyLinearSVC)
    )
    assert "predict_proba" in methods(LocallyLinearSVC)  # there for loss="log" only
    assert "predict" not in methods(LocalCoder)
    assert not {"get_params", "set_fit_request"} & set(methods(LocallyLinearSVC))
    rows = re.split(r"^   \* - ", tables(), flags=re.MULTILINE)[1:]
    widths = {len(re.findall(r"^     -", row, re.MULTILINE)) for row in rows}
    assert max(widths) <= 6


def test_text_of_a_parameter():
    """It ends where the next parameter begins."""
    text = parameter_text(SupervisedAnchorSVC, "n_neighbors")
    assert text
    assert " : " not in text


def test_same_parameter_has_the_same_default():
    """Unless the docstring gives the reason ("because …") in the parameter's text."""
    assert not uncommon_defaults()
