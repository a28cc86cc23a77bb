"""Tests of hyperlocal.export.trusted: saved models load with our own types trusted, no others."""

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from estimators.data import make_data
from hostile.estimators import make
from hyperlocal import LocallyLinearSVC
from hyperlocal.estimators.neighborhood_models import DannSvms
from hyperlocal.export import TRUSTED_TYPES
from hyperlocal.export.trusted import PUBLIC_ESTIMATORS
from hyperlocal.maps.additive import AdditiveKernelMap
from hyperlocal.papers import AdaptiveNeighborhoodSVC
from hyperlocal.preprocessing import RelevanceScaler, TableEncoder

FEW = {"n_anchors": 6, "n_neighbors": 3}
SEEDED = {**FEW, "random_state": 0}
ESTIMATORS = [
    *(make(name) for name in PUBLIC_ESTIMATORS if name != "TableEncoder"),
    TableEncoder(),
    make("LocallyLinearSVC", feature_map="nystroem", code_on=PCA(2), warm_start=True, **FEW),
    make("LocallyLinearSVC", feature_map="additive_chi2", code_on=[0, 1], **FEW),
    make("LocallyLinearSVC", solver="sgd", feature_map=None, **FEW),
    make("LocallyLinearSVCCV", scalers=(None, RelevanceScaler(method="trees"))),
    make("LocallyLinearSVR", loss="quantile", quantiles=(0.1, 0.9), relevance="gradient", **FEW),
    make("LocallyLinearSVR", solver="sgd", feature_map=None, **FEW),
    make("SupervisedAnchorSVC", solver="sgd", **FEW),
    make(
        "LandmarkSVC", n_anchors=3, n_stages=2, keep_if_better=False, coding="soft", n_neighbors=2
    ),
    make("LandmarkSVC", kernel="rbf", anchors=KMeans(3, n_init=1)),
    make("ProfileSVC", n_anchors=3, kernel="rbf"),
    make("NeighborhoodSVC", algorithm="tree"),
    make("NeighborhoodSVC", cache_neighborhoods=True),
    make("NeighborhoodSVC", n_neighbors=[3, 9], gamma="scale"),
    make("AdaptiveNeighborhoodSVC", metric="dann"),
    make(
        "SecondLookSVC",
        first_look=LocallyLinearSVC(**SEEDED),
        second_look=AdaptiveNeighborhoodSVC(random_state=0),
        low_margin=1.0,
    ),
    AdditiveKernelMap(),
    make_pipeline(StandardScaler(), LocallyLinearSVC(**SEEDED)),
]


def answers(model, X):
    """All that a model computes of rows."""
    names = ["predict", "decision_function", "transform"]
    if hasattr(model, "model_"):
        names.append("local_coef")
    found = [getattr(model, name)(X) for name in names if hasattr(model, name)]
    return [values.toarray() if hasattr(values, "toarray") else values for values in found]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
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


@pytest.mark.filterwarnings("ignore:Instantiating CategoricalDtype")  # pandas 2
@pytest.mark.parametrize(
    ("numbers", "categories", "around"),
    [
        ("number", "category", None),
        (np.number, object, "search"),
        (np.floating, pd.CategoricalDtype, "calibration"),
        ([int, float], ["object", "category"], None),
    ],
)
def test_pipelines_with_selected_columns(numbers, categories, around):
    """Selectors of columns and of features, imputers, encoders and searches need no other trust."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=60), "kind": rng.choice(["x", "y"], 60)})
    table["kind"] = table["kind"].astype("category" if "ateg" in str(categories) else object)
    encode = make_column_transformer(
        (
            make_pipeline(SimpleImputer(), StandardScaler()),
            make_column_selector(dtype_include=numbers),
        ),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=categories)),
    )
    model = make_pipeline(encode, SelectKBest(f_classif, k=2), LocallyLinearSVC(C=1.0, **SEEDED))
    if around == "search":
        model = GridSearchCV(model, {"locallylinearsvc__C": [1.0, 2.0]}, cv=KFold(2))
    elif around == "calibration":
        model = CalibratedClassifierCV(model, cv=2)
    model.fit(table, table["a"] > 0)
    back = skops.io.loads(skops.io.dumps(model), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(back.predict(table), model.predict(table))
