"""Tests of hyperlocal.export.trusted: saved models load with our own types trusted, no others."""

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import hyperlocal
from estimators.data import make_data
from hyperlocal import (
    LocallyLinearSVC,
    LocallyLinearSVCCV,
    LocallyLinearSVR,
    LocallyLinearSVRCV,
    NeighborhoodSVC,
    SecondLookSVC,
    SupervisedAnchorSVC,
    linear,
    papers,
    preprocessing,
)
from hyperlocal.estimators.neighborhood_models import DannSvms
from hyperlocal.export import TRUSTED_TYPES
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
from hyperlocal.preprocessing import MEGM, LocalCoder, RelevanceScaler, TableEncoder

FEW = {"n_anchors": 6, "n_neighbors": 3, "random_state": 0}
ESTIMATORS = [
    LocallyLinearSVC(**FEW),
    LocallyLinearSVC(feature_map="nystroem", code_on=PCA(2), warm_start=True, **FEW),
    LocallyLinearSVC(feature_map="additive_chi2", code_on=[0, 1], **FEW),
    LocallyLinearSVC(solver="sgd", feature_map=None, **FEW),
    LocallyLinearSVCCV(
        (1, 6), Cs=(0.3, 3.0), scalers=(None, RelevanceScaler(method="trees")), random_state=0
    ),
    LocallyLinearSVR(**FEW),
    LocallyLinearSVR(loss="quantile", quantiles=(0.1, 0.9), relevance="gradient", **FEW),
    LocallyLinearSVR(solver="sgd", feature_map=None, **FEW),
    LocallyLinearSVRCV(n_anchors=(3, 5), n_neighbors=3, Cs=(1.0,), random_state=0),
    RelevanceScaler(random_state=0),
    TableEncoder(),
    LocalCodingSVC(**FEW),
    SupervisedAnchorSVC(anchor_epochs=1, **FEW),
    SupervisedAnchorSVC(anchor_epochs=1, solver="sgd", **FEW),
    LandmarkSVC(3, random_state=0),
    LandmarkSVC(3, n_stages=2, keep_if_better=False, coding="soft", n_neighbors=2, random_state=0),
    LandmarkSVC(kernel="rbf", anchors=KMeans(3, n_init=1), random_state=0),
    ClusteredSVC(3, random_state=0),
    ProfileSVC(3, kernel="rbf", random_state=0),
    NeighborhoodSVC(),
    NeighborhoodSVC(algorithm="tree"),
    NeighborhoodSVC(cache_neighborhoods=True),
    NeighborhoodSVC([3, 9], gamma="scale"),
    AdaptiveNeighborhoodSVC(random_state=0),
    AdaptiveNeighborhoodSVC(metric="dann"),
    SecondLookSVC(random_state=0),
    SecondLookSVC(LocallyLinearSVC(**FEW), AdaptiveNeighborhoodSVC(random_state=0), low_margin=1.0),
    MEGM(max_iter=2),
    LocalDeepSVC(2, C=10.0, max_iter=2, random_state=0),
    LatentLocallyLinearSVC(5, C=10.0, max_iter=2, random_state=0),
    PegasosSVC(max_iter=2, tol=None, random_state=0),
    PegasosRegressor(max_iter=2, tol=None, random_state=0),
    KernelPegasosSVC(random_state=0),
    SDCASVC(random_state=0),
    LocalCoder(**FEW),
    AdditiveKernelMap(),
    make_pipeline(StandardScaler(), LocallyLinearSVC(**FEW)),
]


def answers(model, X):
    """All that a model computes of rows."""
    names = ["predict", "decision_function", "transform"]
    if hasattr(model, "model_"):
        names.append("local_coef")
    found = [getattr(model, name)(X) for name in names if hasattr(model, name)]
    return [values.toarray() if hasattr(values, "toarray") else values for values in found]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_saved_models_need_no_foreign_trust(estimator):
    """A model is the same after a round trip in which only our types are trusted."""
    X, y = make_data(3)
    model = clone(estimator).fit(X, y)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X[:50], y[:50])
    back = skops.io.loads(skops.io.dumps(model), trusted=TRUSTED_TYPES)
    has_local_coef = not isinstance(getattr(model, "model_", None), DannSvms)
    for was, is_now in zip(
        answers(model, X) if has_local_coef else [model.decision_function(X)],
        answers(back, X) if has_local_coef else [back.decision_function(X)],
        strict=True,
    ):
        np.testing.assert_array_equal(is_now, was)


def test_pipelines_with_selected_columns():
    """A ColumnTransformer with selectors, imputers and encoders needs no other trust."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=60), "kind": rng.choice(["x", "y"], 60)})
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    encode = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), ["kind"]),
    )
    model = make_pipeline(encode, LocallyLinearSVC(**FEW)).fit(table, table["a"] > 0)
    back = skops.io.loads(skops.io.dumps(model), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(back.predict(table), model.predict(table))


def test_every_estimator_is_tried():
    """The list above has all public classes."""
    tried = {type(estimator) for estimator in ESTIMATORS}
    shelves = (hyperlocal, linear, papers, preprocessing)
    public = [getattr(shelf, name) for shelf in shelves for name in shelf.__all__]
    assert {kind for kind in public if isinstance(kind, type)} <= tried
