"""Tests of hyperlocal.compare.targets: classes or a number."""

import numpy as np
import pytest

from hyperlocal.compare.targets import find_target, positive_class


def task_of(y):
    return find_target("t", np.asarray(y)).task


def test_what_labels_look_like():
    """Fractions, and many whole numbers with gaps or with few rows each, are a quantity."""
    rng = np.random.default_rng(0)
    assert task_of([0.5, 1.5, 0.5]) == "regression"
    assert task_of(rng.integers(0, 100_000, 500)) == "regression"
    assert task_of(rng.permutation(np.repeat(np.arange(0, 600, 3), 40))) == "regression"
    assert task_of(np.repeat(np.arange(100), 72)) == "classification"
    assert task_of(np.tile([3, 7], 20)) == "classification"
    assert task_of(["a", "b"]) == "classification"


def test_numbers_with_typos():
    """A column of numbers in which a few cells are words is a number to predict."""
    cells = [f"{x:.2f}" for x in np.linspace(10, 99, 200)]
    cells[7] = "4o"
    target = find_target("t", np.array(cells))
    assert target.task == "regression"
    X, y = target.with_rows(np.arange(400).reshape(200, 2))
    assert X.shape == (199, 2)
    assert np.isfinite(y).all()
    assert "1 row is left out" in target.notes[1]
    assert "this looks like a number to predict" in target.notes[0]


def test_the_task_can_be_chosen():
    """Numbers as classes, classes as numbers; words are not numbers."""
    y = np.array([0.5, 1.5, 0.5])
    assert find_target("t", y, "classification").y.tolist() == ["0.5", "1.5", "0.5"]
    assert find_target("t", np.array([3, 4, 3]), "regression").y.tolist() == [3.0, 4.0, 3.0]
    with pytest.raises(ValueError, match="labels such as a are not numbers"):
        find_target("t", np.array(["a", "b"]), "regression")
    with pytest.raises(ValueError, match="all values are 2; there is nothing to predict"):
        find_target("t", np.array([2.0, 2.0]), "regression")


def test_positive_class():
    """The rarer of two by default; an unknown one is refused."""
    y = np.array([0, 0, 1])
    assert positive_class(y, None) == 1
    assert positive_class(y, "0") == 0
    assert positive_class(np.array([0, 1, 2]), None) is None
    with pytest.raises(ValueError, match="no class 'x'; they are 0, 1"):
        positive_class(y, "x")


def test_very_many_classes():
    """Words that are nearly all different are refused with the remedy; as many classes as are asked
    for are announced before they take minutes."""
    names = np.array([f"row{n // 2}" for n in range(1000)])
    with pytest.raises(ValueError, match=r"500 different labels in 1,000 rows.*--target.*--task"):
        find_target("t", names)
    for target in (find_target("t", names, "classification"), find_target("t", np.tile(names, 3))):
        assert target.task == "classification"
        assert "500 classes, each with weights of its own: training takes" in target.notes[0]
