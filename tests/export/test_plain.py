"""Tests of hyperlocal.export.plain: what has a plain form, what has none, and why."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from estimators.data import make_data
from export.models import fitted, local
from hyperlocal import NeighborhoodSVC
from hyperlocal.export import numpy_predict, to_numpy, to_onnx
from hyperlocal.export.plain import n_foreign_steps, plain_model
from hyperlocal.linear import KernelPegasosSVC
from hyperlocal.maps.plain import Step, scaling
from hyperlocal.model.through import fitted_parts
from hyperlocal.papers import LandmarkSVC


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KernelPegasosSVC(random_state=0), "KernelPegasosSVC cannot be exported"),
        (NeighborhoodSVC(), "NeighborhoodSVC cannot be exported"),
        (LandmarkSVC(3, kernel="rbf"), "LandmarkSVC cannot be exported: .* without kernels"),
        (local(coding="lcc"), "coding='lcc' is an iteration"),
        (LandmarkSVC(anchors=KMeans(3)), "clusters found by a clusterer"),
    ],
    ids=["kernel", "neighbors", "landmark kernel", "lcc", "clusterer"],
)
def test_what_cannot_be_exported(model, message):
    """It is refused with a reason, by both exports."""
    model = clone(model).fit(*make_data(2))
    for export in (to_onnx, to_numpy):
        with pytest.raises(ValueError, match=message):
            export(model)


def test_unfitted_models():
    """There is nothing to export before a fit."""
    with pytest.raises(NotFittedError):
        plain_model(local())


def test_the_last_step_is_the_model():
    """A pipeline is one chain, in the model's precision."""
    model, X = fitted("scaled")
    plain = plain_model(model)
    assert [step.kind for step in plain.steps] == ["scale", "matrix", "local"]
    assert plain.n_features_in == X.shape[1]
    single = plain_model(make_pipeline(PCA(3), local()).fit(*make_data(3, dtype=np.float32)))
    assert single.dtype == single.steps[0].parts["matrix"].dtype == np.float32


def test_pipelines_and_searches_are_unwrapped():
    """Transformers are listed in the order in which rows pass them, also those within others."""
    steps, classifier = fitted_parts(fitted("steps within steps")[0])
    names = [type(step).__name__ for step in steps]
    assert names == ["FunctionTransformer", "StandardScaler", "MEGM", "RelevanceScaler"]
    assert type(classifier).__name__ == "LocallyLinearSVC"


def test_foreign_steps():
    """They end with the last step that has no plain form."""
    X, _ = make_data(2)
    scaler, bins = StandardScaler().fit(X), KBinsDiscretizer(strategy="uniform")
    assert n_foreign_steps([scaler, bins, scaler]) == 2
    assert n_foreign_steps([scaler, scaler]) == 0


class Doubled(TransformerMixin, BaseEstimator):
    """A user's transformer that knows its plain form."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return 2 * X

    def plain(self) -> list[Step]:
        return [scaling(2)]


def test_a_transformer_may_state_its_own_form():
    """A method plain() is all that a user's transformer needs, as a step, map or code."""
    X, y = make_data(3)
    model = make_pipeline(Doubled(), local(feature_map=Doubled(), code_on=Doubled())).fit(X, y)
    scores = numpy_predict.decision_function(to_numpy(model), X)
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)
