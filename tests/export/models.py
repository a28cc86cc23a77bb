"""Models of every kind that can be exported."""

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC, LocallyLinearSVCCV, SupervisedAnchorSVC
from hyperlocal.linear import SDCASVC, PegasosSVC
from hyperlocal.maps.quadratic import QuadraticMap
from hyperlocal.papers import (
    ClusteredSVC,
    LandmarkSVC,
    LatentLocallyLinearSVC,
    LocalCodingSVC,
    LocalDeepSVC,
    ProfileSVC,
)
from hyperlocal.preprocessing import MEGM, RelevanceScaler


def local(**options):
    return LocallyLinearSVC(6, n_neighbors=3, C=3.0, random_state=0, **options)


MODELS = {
    "quadratic": local(feature_map="quadratic"),
    "auto": local(),
    "linear": local(feature_map=None),
    "unscaled": local(normalize=False, intercept_scaling=2.0),
    "hard": local(coding="hard"),
    "inverse_distance": local(coding="inverse_distance"),
    "lle": local(coding="lle"),
    "llc": local(coding="llc"),
    "levels": LocallyLinearSVC((1, 3, 9), n_neighbors=2, C=3.0, random_state=0),
    "kept features": local(feature_map=QuadraticMap(2, rescale=True, keep_features=True)),
    "nystroem": local(feature_map="nystroem"),
    "piecewise": local(feature_map="piecewise"),
    "piecewise_quadratic": local(feature_map="piecewise_quadratic"),
    "chi2": local(feature_map="additive_chi2"),
    "transformers": local(feature_map=PCA(2, whiten=True), code_on=PCA(3)),
    "columns": local(code_on=[0, -2]),
    "features": local(code_on="features"),
    "codes": LocalCodingSVC(9, random_state=0),
    "chosen": LocallyLinearSVCCV(
        (1, 6),
        Cs=(3.0,),
        scalers=(RelevanceScaler(method="trees", random_state=0),),
        random_state=0,
    ),
    "supervised": SupervisedAnchorSVC(6, n_neighbors=3, anchor_epochs=1, random_state=0),
    "landmarks": LandmarkSVC(3, random_state=0),
    "stages": LandmarkSVC(
        3,
        n_stages=3,
        keep_if_better=False,
        coding="soft",
        n_neighbors=2,
        projection="rbf",
        random_state=0,
    ),
    "clustered": ClusteredSVC(3, random_state=0),
    "profile": ProfileSVC(3, random_state=0),
    "tree": LocalDeepSVC(2, C=10.0, max_iter=5, random_state=0),
    "stump": LocalDeepSVC(0, C=10.0, max_iter=5, random_state=0),
    "shared tree": LocalDeepSVC(2, C=10.0, share_tree=True, max_iter=5, random_state=0),
    "latent": LatentLocallyLinearSVC(5, C=10.0, max_iter=5, random_state=0),
    "latent, all active": LatentLocallyLinearSVC(5, p=np.inf, C=10.0, max_iter=5, random_state=0),
    "pegasos": PegasosSVC(max_iter=5, tol=None, random_state=0),
    "sdca": SDCASVC(random_state=0),
    "scaled": make_pipeline(StandardScaler(), PCA(3), local()),
    "unit rows": make_pipeline(MinMaxScaler(), Normalizer("max"), Normalizer("l1"), local()),
    "more steps": make_pipeline(
        RobustScaler(),
        "passthrough",
        MaxAbsScaler(),
        MEGM(max_iter=2, random_state=0),
        TruncatedSVD(4),
        local(),
    ),
    "steps within steps": make_pipeline(
        FunctionTransformer(),
        make_pipeline(StandardScaler(), MEGM(transformation="diagonal", random_state=0)),
        LocallyLinearSVCCV(
            (1, 6),
            feature_maps=(None, "auto"),
            Cs=(3.0,),
            scalers=(RelevanceScaler(method="trees", random_state=0),),
            random_state=0,
        ),
    ),
    "search": GridSearchCV(make_pipeline(StandardScaler(), local()), {}, cv=2),
}
LABELS = np.array(["left", "middle", "right"], dtype=object)


def fitted(name, n_classes=3):
    """A model of that name, fitted to named classes, and its training rows."""
    X, y = make_data(n_classes)
    return clone(MODELS[name]).fit(X, LABELS[y]), X
