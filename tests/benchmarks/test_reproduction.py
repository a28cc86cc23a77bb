"""Tests of the papers' tables: plans, choices, resumption, comparison with published figures."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from benchmarks.reproduction import (
    Result,
    ResultsFolder,
    compared,
    load_table,
    not_installed,
    pending,
    run,
    runner,
    table_names,
    verdict,
)
from benchmarks.reproduction.adapters import METHODS, make_estimator
from benchmarks.reproduction.results import TRACKED
from benchmarks.reproduction.rows import load_rows
from benchmarks.reproduction.runner import measure
from benchmarks.reproduction.table import MethodPlan, SetPlan, Table, read_published
from hyperlocal.compare import Package
from hyperlocal.datasets import make_banana

TRACKED_TABLES = Path(benchmarks.__file__).parent / "results" / "tables"


@pytest.fixture
def banana(tmp_path, monkeypatch):
    """A small set in the data folder, with a standard test part."""
    X, y = make_banana(300, random_state=0)
    parts = {"X_train": X[:200], "y_train": y[:200], "X_test": X[200:], "y_test": y[200:]}
    np.savez(tmp_path / "bananas.npz", **parts)
    monkeypatch.setenv("HYPERLOCAL_DATA", str(tmp_path))
    return SetPlan("bananas", repeats=2)


@pytest.fixture
def table(banana):
    ours = MethodPlan("locally-linear", "LL", published="LL", grid={"C": [0.1, 3.0]})
    return Table("t", "a table", (banana,), (MethodPlan("svc", "SVC"), ours), baseline="svc")


def test_all_tables_load():
    """Every method of every table has candidates, and every set a known preparation."""
    for name in table_names():
        table = load_table(name)
        assert table.title
        published = {figure.method for figure in table.published}
        for method in table.methods:
            assert not method.published or method.published in published
            assert set(method.sets) <= {plan.name for plan in table.sets}
            assert all(method.candidates(plan.name) for plan in table.sets)


def test_tables_make_estimators():
    """Every candidate of every table is something that its estimator takes."""
    X = np.random.default_rng(0).normal(size=(10, 70))
    for name in table_names():
        table = load_table(name)
        for cell in table.cells():
            method = cell.method.entry
            if not method.package.is_installed:
                continue
            for candidate in cell.method.candidates(cell.set.name):
                settings = cell.method.fixed(cell.set.name) | candidate
                found = make_estimator(method, settings, X, 0)[-1].get_params()
                for name in settings.keys() & found.keys():
                    assert found[name] == settings[name]


def test_two_tasks_of_one_set(banana):
    """A set of another name may be a task on the same data."""
    other = replace(banana, name="right-way-round", data="bananas", positive=0)
    rows, same = load_rows(banana, 0), load_rows(other, 0)
    np.testing.assert_array_equal(rows.X_train, same.X_train)
    np.testing.assert_array_equal(same.y_test, (rows.y_test == 0).astype(int))


def test_unknown_table():
    """The error about an unknown name lists the known ones."""
    with pytest.raises(ValueError, match="unknown table 'no'; known are: l3-svm-3"):
        load_table("no")


def test_gamma_in_units_of_scale():
    """γ times "scale" is what scikit-learn's own "scale" would give, times the factor."""
    X = np.random.default_rng(0).normal(size=(50, 4))
    y = np.arange(50) % 2
    given = make_estimator(METHODS["svc"], {"gamma_times_scale": 1.0}, X, 0).fit(X, y)
    own = make_estimator(METHODS["svc"], {}, X, 0).fit(X, y)
    np.testing.assert_allclose(given.decision_function(X), own.decision_function(X))


def test_standardized_rows():
    """Features are scaled before all else, by training rows."""
    X = np.random.default_rng(0).normal(size=(50, 4)) * 9 + 5
    model = make_estimator(METHODS["svc"], {"standardized": True, "components": 2}, X, 0)
    scaled = model.fit(X, np.arange(50) % 2)[0].transform(X)
    np.testing.assert_allclose(scaled.std(axis=0), 1)
    assert [type(step).__name__ for _, step in model.steps] == ["StandardScaler", "PCA", "SVC"]


def test_settings_of_nested_estimators():
    """Settings have the names of set_params: two underscores lead to an estimator inside."""
    settings = {"first_look__C": 2, "first_look__tol": 0.3, "second_look__C": 5, "low_margin": 0.5}
    model = make_estimator(METHODS["second-look"], settings, np.eye(2), 0)[-1]
    assert (model.first_look.C, model.first_look.tol) == (2, 0.3)
    assert (model.second_look.C, model.low_margin) == (5, 0.5)


def test_sizes_of_neighborhoods_in_units_of_the_logarithm():
    """The papers' k is a function of the number of rows, which may be nested, too."""
    model = make_estimator(METHODS["neighborhood"], {"n_neighbors_times_log2": 5}, np.eye(2), 0)[-1]
    assert model.n_neighbors(1024) == 50
    settings = {"second_look__n_neighbors_times_log2": 4}
    model = make_estimator(METHODS["second-look"], settings, np.eye(2), 0)[-1]
    assert model.second_look.n_neighbors(1024) == 40


def test_settings_in_units_of_scale_may_be_nested():
    """The kernel of a pipeline's first step gets its γ in units of scale, too."""
    X = np.random.default_rng(0).normal(size=(50, 4))
    settings = {"nystroem__gamma_times_scale": 2.0, "linearsvc__C": 3}
    model = make_estimator(METHODS["nystroem"], settings, X, 0)[-1]
    assert model["nystroem"].gamma == pytest.approx(2 / (4 * X.var()))
    assert model["linearsvc"].C == 3


def test_several_settings_at_once():
    """A key with a comma sets several settings, and joins the product of the others."""
    plan = MethodPlan("svc", "A", grid={"C": [1, 2], "x,y": [[3, 4], [5, 6]]})
    assert plan.candidates("any")[1] == {"C": 1, "x": 5, "y": 6}
    assert len(plan.candidates("any")) == 4


def test_run_and_resume(table, tmp_path):
    """A run measures each cell once; the next has nothing to do; a changed plan is run again."""
    folder = ResultsFolder(tmp_path / "out")
    begun = []
    results = run(table, folder, command="test", begin=begun.append)
    # SVC uses no random numbers: one run on the same rows is enough.
    assert [r.key for r in results] == [("bananas", "svc", 0), ("bananas", "locally-linear", 0),
                                        ("bananas", "locally-linear", 1)]  # fmt: skip
    assert len(begun) == 3
    assert all(0 <= r.error < 20 and r.fit_seconds > 0 and r.n_test == 100 for r in results)
    assert results[1].settings == results[2].settings
    assert pending(table, folder) == []
    assert folder.runs()[0]["command"] == "test"
    changed = replace(table, methods=(replace(table.methods[1], grid={"C": [1.0]}),))
    assert len(pending(changed, folder)) == 2


def test_run_again(table, tmp_path, monkeypatch):
    """Everything is fitted anew, with the settings chosen before: nothing is chosen again."""
    folder = ResultsFolder(tmp_path / "results")
    first = run(table, folder, command="a test")

    def choose(*arguments, **options):
        raise AssertionError("settings are known")

    monkeypatch.setattr(runner, "choose", choose)
    assert pending(table, folder) == []
    assert len(pending(table, folder, again=True)) == len(first)
    second = run(table, folder, command="a test again", again=True)
    assert [one.settings for one in second] == [one.settings for one in first]
    assert [one.error for one in second] == [one.error for one in first]
    # As the file has it, which keeps six digits.
    for one, other in zip(first, second, strict=True):
        assert other.choosing_seconds == pytest.approx(one.choosing_seconds, rel=1e-5)
    assert {one.run for one in first} == {1}
    assert {one.run for one in second} == {2}


def test_slow_methods_run_less_often(banana):
    """A method may have fewer runs on a set, and never more than the set's plan says."""
    slow = MethodPlan("s", "S", "sgd", sets={"bananas": {"repeats": 1}})
    eager = MethodPlan("e", "E", "sgd", sets={"bananas": {"repeats": 9}})
    keys = [cell.key for cell in Table("t", "a table", (banana,), (slow, eager)).cells()]
    assert keys == [("bananas", "s", 0), ("bananas", "e", 0), ("bananas", "e", 1)]


def test_choice_sees_training_rows_only(table, banana):
    """Other labels of the test rows change the error, and nothing else."""
    rows = load_rows(banana, 0)
    cell = list(table.cells())[1]
    first = measure(cell, table, rows, [], 1)
    second = measure(cell, table, replace(rows, y_test=1 - rows.y_test), [], 1)
    assert (first.settings, first.validation_error) == (second.settings, second.validation_error)
    assert first.error == pytest.approx(100 - second.error)


def test_results_survive_a_round_trip(tmp_path):
    """What is appended is what is read; the last line of a cell counts."""
    folder = ResultsFolder(tmp_path)
    first = Result("usps", "ll", 0, 5.25, settings='{"C": 1, "a": "b"}', n_train=3)
    folder.append(first)
    assert folder.read() == [first]
    folder.append(replace(first, error=4.0))
    assert [result.error for result in folder.read()] == [4.0]


def test_tracked_results_are_not_measured_again(table, tmp_path):
    """A mean from elsewhere stands for all repeats."""
    folder = ResultsFolder(tmp_path)
    folder.append(Result("bananas", "locally-linear", 0, 5.0, deviation=0.5, runs=3, plan=TRACKED))
    assert [cell.method.key for cell in pending(table, folder)] == ["svc"]
    row = compared(table, folder.read())[0]
    assert (row.error, row.deviation, row.runs) == (5.0, 0.5, 3)


def test_comparison(table):
    """Means, deviations, ratios to the baseline, and the published figure."""
    published = "method,set,error,source,note\nLL,bananas,6.0,table 9,other rows\n"
    table = replace(table, published=tuple(read_published(published)))
    seconds = {"fit_seconds": 1.0, "predict_seconds": 0.5}
    results = [
        Result("bananas", "svc", 0, 5.0, fit_seconds=10.0, predict_seconds=20.0),
        Result("bananas", "locally-linear", 0, 4.0, **seconds),
        Result("bananas", "locally-linear", 1, 6.0, **seconds),
    ]
    svc, ours = compared(table, results)
    assert (svc.ours, ours.ours) == (False, True)
    assert (ours.error, ours.runs, ours.published_error) == (5.0, 2, 6.0)
    assert (ours.note, svc.note) == ("other rows", "")
    assert (ours.fit_ratio, ours.predict_ratio, ours.as_good) == (10.0, 40.0, True)
    assert verdict([svc, ours]) == "ours at or below the published error in 1 of 1 cells"


def test_tables_name_methods_of_the_registry():
    """A line of a table has the key of its method, or says which method it is of."""
    for name in table_names():
        for line in load_table(name).methods:
            assert METHODS[line.method or line.key] is line.entry
            assert line.key.startswith(line.entry.key)


@pytest.mark.parametrize("name", table_names())
def test_tracked_results_are_those_of_the_plans(name):
    """No tracked table has a cell to measure again: results and plans use the same names."""
    table, folder = load_table(name), ResultsFolder(TRACKED_TABLES / name)
    assert folder.runs()
    results = folder.read()
    assert [cell.key for cell in table.cells() if not folder.is_done(cell, results)] == []
    assert {result.method for result in results} <= {line.key for line in table.methods}


def test_quick_is_small():
    """The quick version has one run of few candidates on few rows."""
    table = load_table("main").quick()
    assert all(cell.repeat == 0 for cell in table.cells())
    for plan in table.sets:
        assert plan.most_rows == 1000
        assert all(len(method.candidates(plan.name)) <= 4 for method in table.methods)


def test_missing_package_is_no_error(table, tmp_path, monkeypatch):
    """A method whose package is not installed is reported, and left out."""
    absent = replace(METHODS["svc"], package=Package("no-such-package", "no_such_module"))
    monkeypatch.setitem(METHODS, "svc", absent)
    assert not_installed(table) == ["no-such-package"]
    folder = ResultsFolder(tmp_path)
    assert {cell.method.key for cell in pending(table, folder)} == {"locally-linear"}


def test_published_figures_name_their_source():
    """Every published figure says where it is from."""
    for name in table_names():
        for figure in load_table(name).published:
            assert "table" in figure.source
            assert 0 <= figure.error <= 100


def test_csv_is_readable_by_others(table, tmp_path):
    """The results are plain CSV with a header."""
    folder = ResultsFolder(tmp_path)
    folder.append(Result("a", "b", 0, 1.5))
    with folder.results_path.open() as file:
        assert next(iter(csv.DictReader(file)))["error"] == "1.5"
