"""Models of every kind that can be explained."""

import pytest
from sklearn.base import clone

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC
from hyperlocal.linear import SDCASVC, PegasosSVC
from hyperlocal.papers import (
    ClusteredSVC,
    LandmarkSVC,
    LatentLocallyLinearSVC,
    LocalCodingSVC,
    LocalDeepSVC,
    ProfileSVC,
)

MODELS = {
    "linear": LocallyLinearSVC(6, n_neighbors=3, feature_map=None, random_state=0),
    "quadratic": LocallyLinearSVC(6, n_neighbors=3, feature_map="quadratic", random_state=0),
    "supervised": SupervisedAnchorSVC(6, n_neighbors=3, anchor_epochs=1, random_state=0),
    "codes": LocalCodingSVC(12, random_state=0),
    "landmarks": LandmarkSVC(3, random_state=0),
    "stages": LandmarkSVC(
        3, n_stages=2, keep_if_better=False, coding="soft", n_neighbors=2, random_state=0
    ),
    "rbf": LandmarkSVC(3, projection="rbf", random_state=0),
    "clustered": ClusteredSVC(3, random_state=0),
    "profile": ProfileSVC(3, random_state=0),
    "tree": LocalDeepSVC(2, C=10.0, random_state=0),
    "shared tree": LocalDeepSVC(2, C=10.0, share_tree=True, random_state=0),
    "latent": LatentLocallyLinearSVC(6, C=10.0, random_state=0),
    "pegasos": PegasosSVC(max_iter=50, tol=None, random_state=0),
    "sdca": SDCASVC(random_state=0),
}
every_model = pytest.mark.parametrize("name", MODELS)


def fitted(name, n_classes=3, **options):
    """A model of that name and its training rows."""
    X, y = make_data(n_classes, **options)
    return clone(MODELS[name]).fit(X, y), X
