"""Tests of hyperlocal.runtime.stamp: saved estimators carry their format."""

import copy
import pickle

import pytest
from sklearn.base import BaseEstimator

from hyperlocal.runtime.stamp import MODEL_FORMAT, STAMP, check_stamp, stamp, stamped


@stamped
class Base(BaseEstimator):
    """An estimator with one parameter."""

    def __init__(self, C=1.0):
        self.C = C


class Derived(Base):
    """A subclass, which is stamped too."""


@pytest.mark.parametrize("kind", [Base, Derived])
def test_the_stamp_is_no_attribute(kind):
    """It is in the state, and gone when the estimator is read."""
    model = kind(C=3.0)
    assert model.__getstate__() == {"C": 3.0, STAMP: stamp()}
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.C == 3.0
        assert not hasattr(again, STAMP)


def test_states_without_a_stamp_are_read():
    """Such as those that were written before there were stamps."""
    model = Base()
    model.__setstate__({"C": 5.0})
    assert model.C == 5.0


def test_newer_formats_are_errors():
    """An older or the same format is no error."""
    check_stamp({"format": MODEL_FORMAT - 1, "version": "0.0"})
    with pytest.raises(ValueError, match=f"reads formats up to {MODEL_FORMAT}"):
        check_stamp({"format": MODEL_FORMAT + 1, "version": "2.0"})
