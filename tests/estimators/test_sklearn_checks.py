"""scikit-learn's own checks of all estimators; none is expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hyperlocal import (
    LatentLocallyLinearSVC,
    LocalCoder,
    LocalCodingSVC,
    LocalDeepSVC,
    LocallyLinearSVC,
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
    LocalDeepSVC(),
    LocalDeepSVC(2, alpha=1e-3, share_tree=True, class_weight="balanced"),
    LatentLocallyLinearSVC(),
    LatentLocallyLinearSVC(8, p=3.0, alpha=1e-4),
    LocalCoder(),
    LocalCoder(coding="lle", sparse_output=False),
    AdditiveKernelMap(),
    AdditiveKernelMap("intersection", n_steps=3),
]


@parametrize_with_checks(ESTIMATORS)
def test_sklearn_check(estimator, check):
    """The estimator keeps a promise that scikit-learn's users rely on."""
    check(estimator)
