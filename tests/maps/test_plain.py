"""Tests of hyperlocal.maps.plain: what is exported states its own steps."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from hyperlocal.gates.gate import Gate
from hyperlocal.maps.base import BiasOnlyMap, FeatureMap
from hyperlocal.maps.plain import NotPlain, Step, gaussian, plain_steps, product, scaling

X = np.random.default_rng(0).normal(3, 2, size=(20, 4))


def test_numbers_are_one_per_feature():
    """Factors and shifts have one shape; a shift that is left out is zero."""
    parts = scaling(np.arange(1, 4), 2).parts
    assert parts["factor"].tolist() == [1, 2, 3]
    assert parts["shift"].tolist() == [2, 2, 2]
    assert product(np.ones((4, 2))).parts["shift"].tolist() == [0, 0]
    assert gaussian(X, np.float32(0.5), np.eye(20)).parts["gamma"] == 0.5


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        RobustScaler(),
        RobustScaler(with_centering=False),
        RobustScaler(with_scaling=False),
        MinMaxScaler((-1, 1)),
    ],
    ids=str,
)
def test_scalers_are_factors_and_shifts(scaler):
    """``x * factor + shift`` is what the scaler gives."""
    [step] = plain_steps(scaler.fit(X))
    found = X * step.parts["factor"] + step.parts["shift"]
    np.testing.assert_allclose(found, scaler.transform(X), atol=1e-12)


def test_pipelines_are_their_steps():
    """Steps that do nothing leave none."""
    pipeline = make_pipeline(FunctionTransformer(), "passthrough", None, StandardScaler()).fit(X)
    assert [step.kind for step in plain_steps(pipeline)] == ["scale"]
    assert plain_steps(None) == plain_steps("passthrough") == []


@pytest.mark.parametrize(
    ("transformer", "message"),
    [
        (PolynomialFeatures(), "PolynomialFeatures has no plain form"),
        (FunctionTransformer(np.log1p), "func=None has one"),
        (MinMaxScaler(clip=True), "use clip=False"),
        (Nystroem("polynomial", n_components=5, degree=2), "kernel='rbf' has one"),
        (make_pipeline(StandardScaler(), PolynomialFeatures()), "PolynomialFeatures"),
    ],
    ids=["other", "function", "clip", "kernel", "pipeline"],
)
def test_reasons(transformer, message):
    """What has no plain form is refused with a reason and a remedy."""
    with pytest.raises(NotPlain, match=message):
        plain_steps(transformer.fit(np.abs(X)))


class SquaresMap(FeatureMap):
    """A map that does not state its plain form."""

    def stored(self, X):
        return X * X


class OtherGate(Gate):
    """A gate that does not state its plain form."""


def test_subclasses_state_their_own_form():
    """A subclass is not exported as what it inherits from."""
    with pytest.raises(NotPlain, match=r"SquaresMap .* method plain\(\)"):
        SquaresMap(4).plain()
    with pytest.raises(NotPlain, match=r"OtherGate .* method plain\(\)"):
        OtherGate(X, 2, "soft").plain()
    assert FeatureMap(4).plain() == []
    assert BiasOnlyMap(4).plain() == [Step("nothing")]
