"""Tests of hyperlocal.export.onnx: graphs give the model's labels and scores."""

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse as sp
from onnx.reference import ReferenceEvaluator
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from estimators.data import make_data
from export.models import MODELS, fitted, local
from hostile.estimators import KINDS, make
from hyperlocal import LocallyLinearSVC, LocallyLinearSVCCV
from hyperlocal.export import to_onnx
from hyperlocal.linear import SDCASVC, PegasosRegressor, PegasosSVC
from hyperlocal.maps.plain import NotPlain
from hyperlocal.preprocessing import LocalCoder, RelevanceScaler, TableEncoder


def run(graph, X):
    """Labels and scores by onnxruntime."""
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {session.get_inputs()[0].name: X})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_graphs_predict_as_the_model(name, n_classes):
    """Labels and scores are the model's, in the same shape."""
    model, X = fitted(name, n_classes)
    labels, scores = run(to_onnx(model), X)
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(labels, model.predict(X))


@pytest.mark.parametrize("name", ["quadratic", "linear", "llc", "stages", "tree", "latent"])
def test_single_precision(name):
    """Models of float32 stay float32; others can be exported so, within 1e-4."""
    X, y = make_data(3)
    for data, dtype in ((X.astype(np.float32), None), (X, np.float32)):
        model = clone(MODELS[name]).fit(data, y)
        labels, scores = run(to_onnx(model, dtype=dtype, input_name="rows"), X.astype(np.float32))
        assert scores.dtype == np.float32
        assert labels.dtype == np.int64
        np.testing.assert_allclose(scores, model.decision_function(data), rtol=1e-4, atol=1e-4)


def test_real_digits():
    """On 64 pixels and ten classes, in a pipeline, scores agree far below 1e-4."""
    X, y = load_digits(return_X_y=True)
    model = make_pipeline(StandardScaler(), LocallyLinearSVC(random_state=0)).fit(X[:900], y[:900])
    labels, scores = run(to_onnx(model), X[900:])
    np.testing.assert_allclose(scores, model.decision_function(X[900:]), atol=1e-9)
    np.testing.assert_array_equal(labels, model.predict(X[900:]))
    _, single = run(to_onnx(model, dtype=np.float32), X[900:].astype(np.float32))
    np.testing.assert_allclose(single, model.decision_function(X[900:]), atol=1e-4)


def binned():
    """A step that has no plain form."""
    return KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")


@pytest.mark.parametrize(
    "last",
    [
        local(feature_map=None),
        LocallyLinearSVCCV(
            (1, 6),
            feature_maps=(None,),
            scalers=(RelevanceScaler(method="trees", random_state=0),),
            random_state=0,
        ),
    ],
    ids=["alone", "chosen"],
)
def test_steps_of_others(last):
    """Steps without a plain form, and those before them, go through skl2onnx."""
    X, y = make_data(3)
    model = make_pipeline(StandardScaler(), binned(), clone(last)).fit(X, y)
    labels, scores = run(to_onnx(model), X)
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(labels, model.predict(X))


@pytest.mark.parametrize("labels", [np.array([False, True]), np.array([1.0, 2.0]), np.arange(2)])
def test_labels_of_any_kind(labels):
    """Booleans, floats and integers come out as they went in."""
    X, y = make_data(2)
    model = local(feature_map=None).fit(X, labels[y])
    np.testing.assert_array_equal(run(to_onnx(model), X)[0], model.predict(X))


def test_precisions():
    """Graphs compute in float32 or float64, nothing else."""
    model, _ = fitted("sdca")
    with pytest.raises(ValueError, match="dtype must be float32"):
        to_onnx(model, dtype=int)


@pytest.mark.parametrize("name", MODELS)
def test_graphs_are_plain_onnx(name):
    """Graphs pass ONNX's checker, have no operator of our own, and compute the same by its rules.

    The reference evaluator is a slow implementation of the standard, independent of onnxruntime.
    """
    model, X = fitted(name)
    graph = to_onnx(model)
    onnx.checker.check_model(graph, full_check=True)
    assert {node.domain for node in graph.graph.node} == {""}
    _, scores = ReferenceEvaluator(graph).run(None, {"X": X[:5]})
    np.testing.assert_allclose(scores, model.decision_function(X[:5]), rtol=1e-9, atol=1e-9)


# What a graph gives beside labels and scores ------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [local(loss="log"), SDCASVC(loss="log", multi_class="ovr"),
     PegasosSVC(loss="log", multi_class="multinomial", max_iter=20, random_state=0)],
    ids=["local", "ovr", "multinomial"],
)  # fmt: skip
def test_probabilities(model, n_classes):
    """A model of the log loss has a third output, as ``predict_proba`` gives it."""
    X, y = make_data(n_classes)
    model = clone(model).fit(X, y)
    labels, scores, probabilities = run(to_onnx(model), X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("opset", [13, 15, 17, 20])
@pytest.mark.parametrize("name", ["auto", "llc", "unit rows", "latent", "tree"])
def test_operators_of_any_version(name, opset):
    """Old runtimes know old operators, which compute the same."""
    model, X = fitted(name)
    graph = to_onnx(model, target_opset=opset)
    assert graph.opset_import[0].version == opset
    np.testing.assert_allclose(run(graph, X)[1], model.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("opset", [12, 10**6, "new", None])
def test_versions_that_do_not_exist(opset):
    """They are refused by name."""
    with pytest.raises((ValueError, TypeError), match="target_opset must be"):
        to_onnx(fitted("sdca")[0], target_opset=opset)


@pytest.mark.parametrize("coding", ["soft", "llc", "hard"])
def test_codes(coding):
    """A coder's graph gives the codes of all anchors."""
    X, _ = make_data()
    coder = make_pipeline(StandardScaler(), LocalCoder(8, coding=coding, random_state=0)).fit(X)
    (codes,) = run(to_onnx(coder), X)
    np.testing.assert_allclose(codes, coder.transform(X).toarray(), atol=1e-9)


def test_values():
    """A regressor's graph gives its values."""
    X, _ = make_data()
    model = make_pipeline(StandardScaler(), PegasosRegressor(random_state=0)).fit(X, X[:, 0])
    (values,) = run(to_onnx(model), X)
    np.testing.assert_allclose(values, model.predict(X), atol=1e-9)


@pytest.mark.parametrize("nothing", ["passthrough", None])
def test_steps_that_do_nothing(nothing):
    """A first step that passes rows through has no number of features."""
    X, y = make_data()
    model = Pipeline([("first", nothing), ("last", local())]).fit(X, y)
    np.testing.assert_allclose(run(to_onnx(model), X)[1], model.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite(name, value):
    """A graph cannot refuse them: their scores are NaN, and those of other rows are not."""
    model, X = fitted(name)
    rows = X[:6].copy()
    rows[2, 1] = value
    scores = run(to_onnx(model), rows)[1]
    assert np.isnan(scores[2]).all()
    others = [0, 1, 3, 4, 5]
    np.testing.assert_allclose(scores[others], model.decision_function(X[others]), atol=1e-9)


@pytest.mark.parametrize("factor", [1e2, 1e4, 1e6, 1e8])
def test_rows_far_from_all_anchors(factor):
    """In single precision too, the library and the graph agree with the graph in double."""
    X, y = make_data(dtype=np.float32)
    model, far = local().fit(X, y), X * np.float32(factor)
    _, exact = run(to_onnx(model, dtype=np.float64), far.astype(np.float64))
    np.testing.assert_allclose(model.decision_function(far), exact, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(run(to_onnx(model), far)[1], exact, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["label", "scores", "probabilities", "constant_0", "mul_0"])
def test_input_names_that_are_taken(name):
    """An input cannot have the name of another value."""
    X, y = make_data()
    model = local(loss="log", feature_map="quadratic").fit(X, y)
    with pytest.raises(ValueError, match=f"input_name='{name}' is the name of another value"):
        to_onnx(model, input_name=name)


@pytest.mark.parametrize("name", ["", None, 3])
def test_input_names_are_text(name):
    """An empty one would be an error of ONNX."""
    model = LocallyLinearSVC(n_anchors=2, n_neighbors=1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="input_name must be a name"):
        to_onnx(model, input_name=name)


def test_named_columns_become_numbers():
    """A ColumnTransformer fitted to a table by names predicts the same from rows of numbers."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    y = (table["a"] > np.sin(table["c"])).astype(int)
    encode = ColumnTransformer([("n", StandardScaler(), ["c", "a"]), ("p", "passthrough", ["b"])])
    model = make_pipeline(encode, LocallyLinearSVC(8, random_state=0)).fit(table, y)
    graph = to_onnx(model, dtype=np.float32).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    (scores,) = session.run(["scores"], {"X": table.to_numpy(np.float32)})
    np.testing.assert_allclose(scores, model.decision_function(table), atol=1e-4)


# A kernel SVM per query, a second look by such ones, and an expansion in kernels.
WITHOUT_GRAPH = (
    "NeighborhoodSVC", "NeighborhoodSVR", "AdaptiveNeighborhoodSVC", "SecondLookSVC",
    "KernelPegasosSVC",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", KINDS)
def test_every_estimator_has_a_graph_or_says_why_not(name):
    """Labels, values or rows of the graph are the estimator's; five refuse by name."""
    X, y = load_iris(return_X_y=True)
    model = make(name).fit(X, y)
    if name in WITHOUT_GRAPH:
        with pytest.raises(NotPlain, match=f"{name} cannot be exported: .*kernels"):
            to_onnx(model)
        return
    graph = to_onnx(model)
    onnx.checker.check_model(graph, full_check=True)
    found = ReferenceEvaluator(graph).run(None, {"X": X})[0]
    expected = model.predict(X) if hasattr(model, "predict") else model.transform(X)
    expected = expected.toarray() if sp.issparse(expected) else expected
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (TableEncoder(), r"TableEncoder cannot .*to_onnx\(pipeline\[1:\]\)"),
        (ColumnTransformer([("n", StandardScaler(), ["b", "a"])]), "in another order"),
    ],
)
def test_what_has_no_graph_says_how(encode, message):
    """The error names the step and the part that can be converted."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    model = make_pipeline(encode, LocallyLinearSVC(8, random_state=0)).fit(table, table["a"] > 0)
    with pytest.raises(ValueError, match=message):
        to_onnx(model)
    assert to_onnx(model[1:]).graph.output[0].name == "label"
