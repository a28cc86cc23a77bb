"""Tests of hyperlocal.compare.methods: the registry of methods."""

import pytest
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC, LinearSVC

from hyperlocal import LocallyLinearSVC
from hyperlocal.compare import DEFAULT_METHODS, METHODS, REGRESSORS, pick_methods
from hyperlocal.compare.methods import HELP

INSTALLED = [method for method in METHODS.values() if method.package.is_installed]


@pytest.mark.parametrize("method", INSTALLED, ids=lambda method: method.key)
def test_methods_make_classifiers(method):
    """Every method makes a new classifier, with the seed and the threads where it has them."""
    model = method.make(3, 2)
    assert is_classifier(model)
    assert model is not method.make(3, 2)
    parameters = model.get_params()
    assert parameters.get("random_state") in (3, None)
    if method.is_ours:
        assert {v for name, v in parameters.items() if name.endswith("random_state")} == {3}
        assert {v for name, v in parameters.items() if name.endswith("n_jobs")} == {2}


def test_methods_make_what_their_keys_say():
    """The default estimator is that of "locally-linear"; the peers are those of scikit-learn."""
    models = {key: METHODS[key].make(0, 1) for key in METHODS if METHODS[key].package.is_installed}
    assert type(models["locally-linear"]) is LocallyLinearSVC
    assert models["locally-linear"].feature_map == "auto"
    assert models["locally-linear-identity"].feature_map == "identity"
    assert isinstance(models["linear-svc"], LinearSVC)
    assert isinstance(models["svc"], SVC)
    assert isinstance(models["boosting"], HistGradientBoostingClassifier)


def test_every_method_has_a_line_of_help():
    """The list of --help fits a terminal, and has no line for what is no method."""
    assert set(HELP) == {*METHODS, *REGRESSORS}
    assert all(len(method.help) < 75 for method in (*METHODS.values(), *REGRESSORS.values()))


def test_keys_and_labels_are_unique():
    """No two methods share a key or a label, and keys need no quotes in a shell or a plan."""
    assert len({method.label for method in METHODS.values()}) == len(METHODS)
    for key, method in METHODS.items():
        assert key == method.key
        assert key.replace("-", "").isalnum()
        assert key == key.lower()


def test_ours_come_first():
    """A comparison shows the methods of this library before the others."""
    ours = [method.is_ours for method in DEFAULT_METHODS]
    assert ours == sorted(ours, reverse=True)


def test_pick_methods():
    """Methods come in the order asked for, once each; unknown keys are listed."""
    picked = pick_methods(["svc", "linear-svc", "svc"])
    assert [method.key for method in picked] == ["svc", "linear-svc"]
    with pytest.raises(ValueError, match="unknown methods tree; known are: locally-linear-id"):
        pick_methods(["linear-svc", "tree"])
