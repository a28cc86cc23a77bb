"""Tests of hyperlocal.export.c: compiled headers give the model's labels, scores, contributions."""

import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from estimators.data import make_data
from export.compiled import STRICT, Compiled
from export.models import MODELS, fitted, local
from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC
from hyperlocal.export import to_c

#: Maps that are not linear at a row.
WITHOUT_CONTRIBUTIONS = {"nystroem", "chi2", "stages"}

#: Those that are tried with two classes, one of each kind of step; the others have three.
TWO_CLASSES = dict.fromkeys(["auto", "hard", "codes", "stages", "shared tree", "search"], 2)


@pytest.mark.parametrize("name", MODELS)
def test_headers_predict_as_the_model(name, tmp_path):
    """Labels and scores are the model's within single precision, and contributions add up."""
    model, X = fitted(name, TWO_CLASSES.get(name, 3))
    compiled = Compiled(model, tmp_path)
    scores = model.decision_function(X)
    np.testing.assert_allclose(compiled.scores(X), scores, rtol=2e-3, atol=2e-4)
    labels = model.classes_[compiled.predict(X)]
    assert np.mean(labels == model.predict(X)) > 0.99
    assert compiled.explains == (name not in WITHOUT_CONTRIBUTIONS)
    for column in range(compiled.n_scores if compiled.explains else 0):
        parts, constants = compiled.contributions(X, column)
        expected = scores.reshape(len(X), -1)[:, column]
        np.testing.assert_allclose(parts.sum(axis=1) + constants, expected, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize(
    "name", ["auto", "unscaled", "llc", "codes", "landmarks", "clustered", "tree", "latent", "sdca"]
)
def test_contributions_are_the_local_weights(name, tmp_path):
    """A contribution is the weight that local_coef gives, times the feature's value."""
    model, X = fitted(name)
    compiled = Compiled(model, tmp_path)
    expected = model.local_coef(X) * X[:, None]
    for column in range(3):
        parts, constants = compiled.contributions(X, column)
        np.testing.assert_allclose(parts, expected[:, column], rtol=2e-3, atol=2e-4)
        own = model.local_intercept(X)[:, column]
        np.testing.assert_allclose(constants, own, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", ["auto", "linear", "llc", "landmarks", "tree", "latent", "scaled"])
def test_a_byte_per_number(name, tmp_path):
    """As int8, scores differ by at most a twentieth of their range from the model's."""
    model, X = fitted(name)
    compiled = Compiled(model, tmp_path, "int8")
    scores = model.decision_function(X)
    assert np.abs(compiled.scores(X) - scores).max() < np.ptp(scores) / 20


def test_numbers_that_int8_holds_exactly(tmp_path):
    """Weights that are multiples of a 127th of the largest give the scores of float32."""
    X, y = make_data(2)
    anchors = np.array([[127.0, -3, 8, 0, 1], [0, 127, 64, 1, 1]])[:, : X.shape[1]]
    model = LocallyLinearSVC(anchors=anchors, n_neighbors=1, feature_map=None, C=1.0).fit(X, y)
    whole = np.clip(np.rint(model.model_.weights * 100), -127, 127)
    whole[..., 0] = 127
    model.model_ = model.model_.trained(whole)
    expected = Compiled(model, tmp_path).scores(X)
    (tmp_path / "int8").mkdir()
    scores = Compiled(model, tmp_path / "int8", "int8").scores(X)
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-5)


def test_digits_in_16_kilobytes(tmp_path):
    """Twenty linear models of supervised anchors classify digits from 16 KB of constants."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
    model = SupervisedAnchorSVC(20, feature_map=None, random_state=0).fit(X_train, y_train)
    header = to_c(model, dtype="int8")
    n_bytes = int(header.split(" bytes of constants")[0].split()[-1])
    assert n_bytes <= 16_384
    labels = model.classes_[Compiled(model, tmp_path, "int8").predict(X_test)]
    # Over five seeds at most one of 450 labels differs.
    assert np.mean(labels == model.predict(X_test)) > 0.99
    assert np.mean(labels == y_test) > 0.95


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (np.array([3, 7]), "long model_classes[MODEL_N_CLASSES] = {3, 7}"),
        (np.array([-1.0, 1.0]), "double model_classes[MODEL_N_CLASSES] = {-1.0, 1.0}"),
        (np.array(["é", 'a"']), 'model_classes[MODEL_N_CLASSES] = {"a\\042", "\\303\\251"}'),
        (np.array([0, 2**31]), "long long model_classes[MODEL_N_CLASSES] = {0, 2147483648}"),
    ],
)
def test_classes_of_any_kind(labels, text, tmp_path):
    """Integers, floats and texts are written as C has them."""
    X, y = make_data(2)
    model = local(feature_map=None).fit(X, labels[y])
    assert text in Compiled(model, tmp_path).header


def test_labels_of_any_text_are_those_of_the_program(tmp_path):
    """Line ends, control characters, trigraphs, and what looks like a name of the header."""
    X, y = make_data(2)
    labels = np.array(["HL_N_CLASSES hl_\x01\n\t%s", "??/ \\u00e9 \x7f*/ \u2028"])
    Compiled(local(feature_map=None).fit(X, labels[y]), tmp_path)
    (tmp_path / "names.c").write_text(
        '#include <stdio.h>\n#include "model.h"\n'
        "int main(void) { return fputs(model_classes[0], stdout), putchar(0),"
        " fputs(model_classes[1], stdout) < 0; }\n"
    )
    subprocess.run(["gcc", *STRICT, "names.c", "-o", "names", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "names"], capture_output=True, check=True)
    assert done.stdout.decode().split("\0") == sorted(labels.tolist())


def test_two_models_in_one_program(tmp_path):
    """Names begin with the name of the model, so that two headers may be included."""
    model, _ = fitted("auto")
    for name, dtype in (("first", "float32"), ("second", "int8")):
        (tmp_path / f"{name}.h").write_text(to_c(model, dtype=dtype, name=name))
    (tmp_path / "both.c").write_text(
        '#include "first.h"\n#include "second.h"\n'
        "int both(const float *x) { return first_predict(x) + second_predict(x); }\n"
    )
    subprocess.run(["gcc", *STRICT, "-c", "both.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dtype": "int4"}, "dtype must be"),
        ({"name": "2nd"}, "name must be a C identifier"),
        ({"name": None}, "name must be a C identifier"),
    ],
)
def test_bad_arguments(arguments, message):
    """What is not known is an error that names the argument."""
    model, _ = fitted("auto")
    with pytest.raises(ValueError, match=message):
        to_c(model, **arguments)
