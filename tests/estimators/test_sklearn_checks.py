"""scikit-learn's own checks of all estimators; none is expected to fail."""

import pytest
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from hyperlocal import (
    LocallyLinearSVC,
    LocallyLinearSVCCV,
    LocallyLinearSVR,
    LocallyLinearSVRCV,
    NeighborhoodSVC,
    NeighborhoodSVR,
    SecondLookSVC,
    SupervisedAnchorSVC,
)  # fmt: skip
from hyperlocal.export.trusted import PUBLIC_ESTIMATORS
from hyperlocal.linear import SDCASVC, KernelPegasosSVC, PegasosRegressor, PegasosSVC
from hyperlocal.maps.additive import AdditiveKernelMap
from hyperlocal.papers import (
    AdaptiveNeighborhoodSVC,
    LandmarkSVC,
    LatentLocallyLinearSVC,
    LocalCodingSVC,
    LocalDeepSVC,
    ProfileSVC,
    SupervisedAnchorSVR,
)  # fmt: skip
from hyperlocal.preprocessing import MEGM, LocalCoder, RelevanceScaler, TableEncoder

OPTIONS = [
    LocallyLinearSVC(feature_map=None),
    LocallyLinearSVC(feature_map="nystroem"),
    LocallyLinearSVC(loss="log"),
    LocallyLinearSVC(loss="hinge", max_iter=5000),
    LocallyLinearSVC(multi_class="crammer_singer"),
    LocallyLinearSVC(solver="sgd"),
    LocallyLinearSVC(coding="lcc", warm_start=True),
    LocallyLinearSVC(coding="hard", anchors="random", class_weight="balanced"),
    LocallyLinearSVR(loss="squared_epsilon_insensitive", feature_map=None, warm_start=True),
    LocallyLinearSVR(loss="epsilon_insensitive", max_iter=5000),
    LocallyLinearSVR(loss="huber", solver="sgd"),
    LocallyLinearSVR(loss="quantile", max_iter=5000),
    LocalCodingSVC(loss="log", solver="sgd"),
    SupervisedAnchorSVC(anchor_epochs=2, tol=0.01),
    SupervisedAnchorSVC(anchor_epochs=1, solver="sgd", tol=0.01),
    SupervisedAnchorSVC(anchor_epochs=1, feature_map="bias_only", loss="log", tol=0.01),
    SupervisedAnchorSVC(
        anchor_epochs=1, multi_class="crammer_singer", keep_if_better=False, tol=0.05
    ),
    SupervisedAnchorSVR(anchor_epochs=2, tol=0.01),
    SupervisedAnchorSVR(anchor_epochs=1, loss="epsilon_insensitive", tol=0.01),
    NeighborhoodSVC([3, 6], kernel="linear", gamma=1.0),
    NeighborhoodSVC(cache_neighborhoods=True),
    NeighborhoodSVC(kernel="poly"),
    NeighborhoodSVR([3, 6], kernel="linear", gamma=1.0),
    NeighborhoodSVR(cache_neighborhoods=True),
    AdaptiveNeighborhoodSVC(metric="dann"),
    SecondLookSVC(second_look=AdaptiveNeighborhoodSVC(metric="dann"), low_margin=1.0),
    LocallyLinearSVRCV(n_anchors=(2, 8), Cs=(0.3, 3.0)),
    LocallyLinearSVCCV(n_anchors=(2, 8), Cs=(0.3, 3.0)),
    LocallyLinearSVRCV(n_anchors=(2, 8), Cs=(0.3, 3.0)),
    RelevanceScaler(method="trees", n_estimators=5, random_state=0),
    RelevanceScaler(random_state=0),
    TableEncoder(sparse_output=True),
    MEGM(n_neighbors=5),
    LocalDeepSVC(2, C=10.0, share_tree=True, class_weight="balanced"),
    LatentLocallyLinearSVC(8, p=3.0, C=100.0),
    LocalCoder(coding="lle", sparse_output=False),
    LandmarkSVC(
        coding="soft", n_stages=2, smoothing=0.1, projection="rbf", loss="squared_hinge", tol=0.01
    ),
    LandmarkSVC(kernel="rbf"),
    ProfileSVC(kernel="rbf"),
    AdditiveKernelMap("intersection", n_steps=3),
]

# Some checks have rows far from standardised, on which these need many epochs.
SLOW_ON_LARGE_ROWS = [
    SDCASVC(max_iter=200),
    SDCASVC(loss="log", multi_class="ovr", max_iter=200),
    PegasosSVC(project=True, max_iter=50),
    PegasosSVC(loss="squared_hinge", multi_class="crammer_singer", batch_size=3, max_iter=50),
    PegasosSVC(loss="log", multi_class="multinomial", max_iter=50),
    PegasosRegressor(epsilon=0.1, sampling="replacement", max_iter=50),
    KernelPegasosSVC(max_iter=10),
    KernelPegasosSVC(kernel="poly", average=False, max_iter=5),
    KernelPegasosSVC(kernel="precomputed", max_iter=10),
]

# All public estimators with their defaults, but for those that are slow with them.
OTHERS = {type(estimator) for estimator in SLOW_ON_LARGE_ROWS} | {
    LocallyLinearSVCCV, LocallyLinearSVRCV, SupervisedAnchorSVC, SupervisedAnchorSVR,
    RelevanceScaler,
}  # fmt: skip
DEFAULTS = [kind() for kind in PUBLIC_ESTIMATORS.values() if kind not in OTHERS]
ESTIMATORS = [*DEFAULTS, AdditiveKernelMap(), *OPTIONS]


@pytest.fixture(autouse=True)
def _array_api(monkeypatch):
    """Let scikit-learn check that dispatch by the array API changes nothing; it skips otherwise."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@parametrize_with_checks(ESTIMATORS)
def test_sklearn_check(estimator, check):
    """The estimator keeps a promise that scikit-learn's users rely on."""
    if check.func.__name__.endswith("on_sparse_data") and not get_tags(estimator).input_tags.sparse:
        pytest.skip("scikit-learn 1.6 asks for sparse rows whatever the tags say")
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(SLOW_ON_LARGE_ROWS)
def test_sklearn_check_within_few_epochs(estimator, check):
    """The same of estimators that stop, and warn, before they converged."""
    check(estimator)
