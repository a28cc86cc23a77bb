"""Tests of hyperlocal.selection.scale: features of different units."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from hyperlocal import LocallyLinearSVC, LocallyLinearSVCCV, LocallyLinearSVR
from hyperlocal.data.labelled import LabelledRows
from hyperlocal.export import numpy_predict, to_numpy
from hyperlocal.selection.scale import standardizing_map


def wine():
    return train_test_split(*load_wine(return_X_y=True), test_size=0.5, random_state=0)


def labelled(X):
    n_rows = X.shape[0]
    return LabelledRows(X, np.zeros(n_rows, np.int32), np.arange(1), np.ones(n_rows))


def test_rows_in_any_units_are_classified_as_standardized_ones():
    """Wine in its own units, silently: the same predictions as after a StandardScaler."""
    X_train, X_test, y_train, y_test = wine()
    scaler = StandardScaler().fit(X_train)
    inside = LocallyLinearSVC(random_state=0).fit(X_train, y_train)
    outside = LocallyLinearSVC(random_state=0).fit(scaler.transform(X_train), y_train)
    np.testing.assert_array_equal(inside.predict(X_test), outside.predict(scaler.transform(X_test)))
    assert inside.score(X_test, y_test) > 0.9  # 0.97; without scaling 0.7


@pytest.mark.parametrize("options", [{}, {"n_anchors": 8, "C": 1.0}, {"relevance": "gradient"}])
def test_explanations_and_anchors_are_in_the_units_of_the_input(options):
    """Weights times values make the score, contributions too, and anchors lie among the rows."""
    X_train, X_test, y_train, _ = wine()
    model = LocallyLinearSVC(random_state=0, **options).fit(X_train, y_train)
    scores = model.decision_function(X_test)
    local = np.einsum("ncd,nd->nc", model.local_coef(X_test), X_test)
    np.testing.assert_allclose(local + model.local_intercept(X_test), scores, rtol=1e-6, atol=1e-6)
    found = model.explain(X_test[:1])
    sums = found.references + found.contributions.sum(axis=1) + found.remainders
    np.testing.assert_allclose(sums, scores[0], rtol=1e-6, atol=1e-6)
    if model.model_.n_anchors > 1:
        assert (model.anchors_ >= X_train.min(axis=0) - 1e-6).all()
        assert (model.anchors_ <= X_train.max(axis=0) + 1e-6).all()
    np.testing.assert_allclose(
        numpy_predict.decision_function(to_numpy(model), X_test), scores, rtol=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_boundary_is_near_in_standardized_features(dtype):
    """The changes are those after a scaler, in the input's units, and so is the distance."""
    X_train, X_test, y_train, _ = wine()
    scaler = StandardScaler().fit(X_train)
    options = {"n_anchors": 1, "n_neighbors": 1, "C": 1.0, "tol": 1e-6}
    inside = LocallyLinearSVC(**options).fit(X_train.astype(dtype), y_train)
    outside = LocallyLinearSVC(**options).fit(scaler.transform(X_train).astype(dtype), y_train)
    for row in X_test[:5].astype(dtype):
        found = inside.explain(row[None]).boundary
        expected = outside.explain(scaler.transform(row[None]).astype(dtype)).boundary
        changes = found.changes / scaler.scale_
        np.testing.assert_allclose(changes, expected.changes, atol=0.02 * expected.distance)
        assert found.distance == pytest.approx(np.linalg.norm(found.changes), rel=1e-4)


def test_values_too():
    """A regression on features in other units is the one on standardized features."""
    X, y = load_diabetes(return_X_y=True)
    model = LocallyLinearSVR(random_state=0).fit(X[:300], y[:300])
    units = 10.0 ** np.arange(10)
    other = LocallyLinearSVR(random_state=0, scale="standard").fit(X[:300] * units, y[:300])
    assert other.score(X[300:] * units, y[300:]) == pytest.approx(
        model.score(X[300:], y[300:]), abs=0.02
    )


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_indicators_keep_their_unit(convert):
    """Only features of other values than zero and one are divided by their deviation."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1000 * rng.random(50), rng.random(50) < 0.1]).astype(float)
    found = standardizing_map(labelled(convert(X)), "standard")
    np.testing.assert_allclose(found.unit, [1 / X[:, 0].std(), 1])
    assert (found.center is None) == sp.issparse(convert(X))


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_storage_and_constants(convert, dtype):
    """Features are divided by their weighted deviations, but a constant one is not by rounding."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1000 * rng.random(300), np.full(300, 1e9 + 0.3), np.full(300, 0.1)])
    data = labelled(convert(X.astype(dtype)))
    found = standardizing_map(replace(data, sample_weight=rng.random(300)), "standard")
    assert found.unit.dtype == dtype
    assert found.unit[0] == pytest.approx(1 / 288, rel=0.1)
    np.testing.assert_array_equal(found.unit[1:], 1)


def test_a_search_fits_what_it_tried():
    """The model of all rows has its features as the evaluated models had them."""
    X_train, X_test, y_train, y_test = wine()
    search = LocallyLinearSVCCV(n_anchors=(1,), Cs=(1.0,), cv=2).fit(X_train, y_train)
    assert search.best_params_["scale"] == "standard"
    assert search.model_.input_map.unit is not None
    assert search.score(X_test, y_test) > 0.9
    given = LocallyLinearSVCCV(n_anchors=(1,), Cs=(1.0,), cv=2, scale=None)
    with pytest.warns(UserWarning, match="ranges of X"):
        given.fit(X_train, y_train)
    assert given.best_params_["scale"] is None
    before = given.model_.input_map
    assert before is None or before.unit is None


def test_scalers_bring_their_own_units():
    """A search over scalers does not standardize before them."""
    X_train, _, y_train, _ = wine()
    search = LocallyLinearSVCCV(n_anchors=(1,), Cs=(1.0,), cv=2, scalers=(StandardScaler(),))
    assert search.fit(X_train, y_train).best_params_["scale"] is None


def test_scale_is_checked():
    """The error names the argument."""
    X_train, _, y_train, _ = wine()
    with pytest.raises(ValueError, match="scale"):
        LocallyLinearSVC(scale="minmax").fit(X_train, y_train)
    with pytest.raises(ValueError, match="scale"):
        LocallyLinearSVCCV(scale="minmax").fit(X_train, y_train)
