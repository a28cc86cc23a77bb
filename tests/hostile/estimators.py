"""One of each kind of estimator, small and quick."""

from hyperlocal.export.trusted import PUBLIC_ESTIMATORS
from hyperlocal.maps.additive import AdditiveKernelMap

# What makes them small and quick; the others are so by default.
ARGUMENTS = {
    "LocallyLinearSVC": {"n_anchors": 8},
    "LocallyLinearSVCCV": {"n_anchors": (1, 4), "Cs": (0.3, 3.0)},
    "LocallyLinearSVR": {"n_anchors": 8},
    "LocallyLinearSVRCV": {"n_anchors": (1, 4), "Cs": (0.3, 3.0)},
    "SupervisedAnchorSVC": {"n_anchors": 8, "anchor_epochs": 2},
    "SupervisedAnchorSVR": {"n_anchors": 8, "anchor_epochs": 2},
    "LocalCodingSVC": {"n_anchors": 8},
    "ClusteredSVC": {"n_anchors": 3},
    "LocalDeepSVC": {"depth": 2, "max_iter": 5},
    "LatentLocallyLinearSVC": {"max_iter": 5},
    "SDCASVC": {"max_iter": 20},
    "PegasosSVC": {"max_iter": 5},
    "PegasosRegressor": {"max_iter": 5},
    "KernelPegasosSVC": {"max_iter": 2},
    "MEGM": {"max_iter": 5},
}
# TableEncoder takes tables, and has tests of its own.
KINDS = {name: kind for name, kind in PUBLIC_ESTIMATORS.items() if name != "TableEncoder"}
ESTIMATORS = {
    name: (kind, ARGUMENTS.get(name, {}))
    for name, kind in {**KINDS, "AdditiveKernelMap": AdditiveKernelMap}.items()
}

CLASSIFIERS = [name for name in ESTIMATORS if name.endswith(("SVC", "SVCCV"))]
REGRESSORS = [name for name in ESTIMATORS if name.endswith(("SVR", "SVRCV", "Regressor"))]


def make(name, **changed):
    """A new estimator with a seed, if it takes one."""
    kind, arguments = ESTIMATORS[name]
    seed = {"random_state": 0} if "random_state" in kind().get_params() else {}
    return kind(**{**arguments, **seed, **changed})
