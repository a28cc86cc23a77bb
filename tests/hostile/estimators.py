"""One of each kind of estimator, small and quick."""

from hyperlocal import (
    LocallyLinearSVC,
    LocallyLinearSVCCV,
    LocallyLinearSVR,
    LocallyLinearSVRCV,
    NeighborhoodSVC,
    SecondLookSVC,
    SupervisedAnchorSVC,
)
from hyperlocal.linear import SDCASVC, KernelPegasosSVC, PegasosRegressor, PegasosSVC
from hyperlocal.maps.additive import AdditiveKernelMap
from hyperlocal.papers import (
    AdaptiveNeighborhoodSVC,
    ClusteredSVC,
    LandmarkSVC,
    LatentLocallyLinearSVC,
    LocalCodingSVC,
    LocalDeepSVC,
    ProfileSVC,
)
from hyperlocal.preprocessing import MEGM, LocalCoder, RelevanceScaler

ESTIMATORS = {
    kind.__name__: (kind, arguments)
    for kind, arguments in [
        (LocallyLinearSVC, {"n_anchors": 8}),
        (LocallyLinearSVCCV, {"n_anchors": (1, 4), "Cs": (0.3, 3.0)}),
        (LocallyLinearSVR, {"n_anchors": 8}),
        (LocallyLinearSVRCV, {"n_anchors": (1, 4), "Cs": (0.3, 3.0)}),
        (SupervisedAnchorSVC, {"n_anchors": 8, "anchor_epochs": 2}),
        (SecondLookSVC, {}),
        (NeighborhoodSVC, {}),
        (AdaptiveNeighborhoodSVC, {}),
        (LocalCodingSVC, {"n_anchors": 8}),
        (LandmarkSVC, {}),
        (ClusteredSVC, {"n_anchors": 3}),
        (ProfileSVC, {}),
        (LocalDeepSVC, {"depth": 2, "max_iter": 5}),
        (LatentLocallyLinearSVC, {"max_iter": 5}),
        (SDCASVC, {"max_iter": 20}),
        (PegasosSVC, {"max_iter": 5}),
        (PegasosRegressor, {"max_iter": 5}),
        (KernelPegasosSVC, {"max_iter": 2}),
        (LocalCoder, {}),
        (RelevanceScaler, {"method": "trees", "n_estimators": 3}),
        (RelevanceScaler, {}),
        (MEGM, {"max_iter": 5}),
        (AdditiveKernelMap, {}),
    ]
}


CLASSIFIERS = [name for name in ESTIMATORS if name.endswith(("SVC", "SVCCV"))]
REGRESSORS = [name for name in ESTIMATORS if name.endswith(("SVR", "SVRCV", "Regressor"))]


def make(name, **changed):
    """A new estimator with a seed, if it takes one."""
    kind, arguments = ESTIMATORS[name]
    seed = {"random_state": 0} if "random_state" in kind().get_params() else {}
    return kind(**{**arguments, **seed, **changed})
