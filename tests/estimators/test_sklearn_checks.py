"""scikit-learn's own checks of all estimators; none is expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hyperlocal import (
    ClusteredSVC,
    LandmarkSVC,
    LocalCoder,
    LocalCodingSVC,
    LocallyLinearSVC,
    ProfileSVC,
)
from hyperlocal.features import AdditiveKernelMap

ESTIMATORS = [
    LocallyLinearSVC(),
    LocallyLinearSVC(feature_map=None),
    LocallyLinearSVC(feature_map="nystroem"),
    LocallyLinearSVC(loss="log"),
    LocallyLinearSVC(loss="hinge", max_iter=5000),
    LocallyLinearSVC(multi_class="crammer_singer"),
    LocallyLinearSVC(solver="sgd"),
    LocallyLinearSVC(coding="lcc", warm_start=True),
    LocallyLinearSVC(coding="hard", anchors="random", class_weight="balanced"),
    LocalCodingSVC(),
    LocalCodingSVC(loss="log", solver="sgd"),
    LocalCoder(),
    LocalCoder(coding="lle", sparse_output=False),
    LandmarkSVC(),
    LandmarkSVC(
        soft_clusters=True,
        n_stages=2,
        smoothing=0.1,
        projection="rbf",
        loss="squared_hinge",
        tol=0.01,
    ),
    LandmarkSVC(kernel="rbf"),
    ClusteredSVC(),
    ProfileSVC(),
    ProfileSVC(kernel="rbf"),
    AdditiveKernelMap(),
    AdditiveKernelMap("intersection", n_steps=3),
]


@parametrize_with_checks(ESTIMATORS)
def test_sklearn_check(estimator, check):
    """The estimator keeps a promise that scikit-learn's users rely on."""
    check(estimator)
