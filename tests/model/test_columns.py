"""Tests of hyperlocal.model.columns: outputs of encoders by column."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

from hyperlocal.model.columns import cells_of, column_groups, column_owners
from hyperlocal.preprocessing import TableEncoder

TABLE = pd.DataFrame(
    {
        "age": [20.0, 30.0, 45.0, 31.0],
        "marital": ["single", "married", "single", "divorced"],
        "marital_city": ["b", "a", "a", "b"],
        "note": ["some words", "more words", "some", "text"],
    }
)


def test_table_encoders():
    """All outputs of a column have its name."""
    encoder = TableEncoder().fit(TABLE[["age", "marital"]])
    members, labels, sources = column_groups([encoder])
    assert labels == ["age", "marital"]
    assert sources == [0, 1]
    assert len(members) == len(encoder.get_feature_names_out())


@pytest.mark.parametrize("verbose", [True, False])
def test_column_transformers(verbose):
    """Numbers one by one, dummies by column, words by themselves; names that begin alike too."""
    encoder = make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(), ["marital", "marital_city"]),
        (TfidfVectorizer(), "note"), verbose_feature_names_out=verbose,
    ).fit(TABLE)  # fmt: skip
    members, labels, sources = column_groups([encoder])
    assert labels == ["age", "marital", "marital_city", "more", "some", "text", "words"]
    assert sources == [0, 1, 2, -1, -1, -1, -1]
    assert members.tolist() == [0, 1, 1, 1, 2, 2, 3, 4, 5, 6]


def test_others_are_not_known():
    """A transformer that mixes columns has no groups."""
    assert column_groups([PCA()]) is None


def test_names_that_begin_alike():
    """Dummies are counted; "a_b_0" is of column "a" where its cells are "b_0"."""
    table = pd.DataFrame({"a": ["b_0", "c", "d", "d"], "a_b": ["0", "1", "1", "0"]})
    members, labels, _ = column_groups([OneHotEncoder().fit(table)])
    assert (members.tolist(), labels) == ([0, 0, 0, 1, 1], ["a", "a_b"])


@pytest.mark.parametrize(
    ("transformer", "owners"),
    [
        (OneHotEncoder(drop="first"), [0, 0, 1]),
        (OneHotEncoder(drop="if_binary", min_frequency=2), [0, 0, 0, 1]),
        (KBinsDiscretizer(2, strategy="uniform"), [0, 0, 1, 1]),
        (KBinsDiscretizer(2, encode="ordinal", strategy="uniform"), [0, 1]),
        (SplineTransformer(n_knots=2, degree=1), [0, 0, 1, 1]),
        (SimpleImputer(), [0, 1]),
        (SimpleImputer(add_indicator=True), [0, 1]),
        (VarianceThreshold(), [0, 1]),
        (StandardScaler(), [0, 1]),
        (FunctionTransformer(np.sqrt, feature_names_out="one-to-one"), [0, 1]),
        (make_pipeline(SimpleImputer(), OneHotEncoder(drop="first")), [0, 0, 1]),
        (make_pipeline(StandardScaler(), PCA(2)), None),
        (FunctionTransformer(np.cumsum), None),
    ],
    ids=lambda given: type(given).__name__,  # functions would show addresses, which differ
)
def test_owners(transformer, owners):
    """Outputs are counted by column, whatever their names."""
    X = np.array([[0.0, 4], [1, 4], [2, 5], [1, 5], [1, 5], [0, 4]])
    transformer.fit(X)
    found = column_owners(transformer, 2)
    assert (None if found is None else found.tolist()) == owners
    if owners is not None:
        assert transformer.transform(X).shape[1] == len(owners)


def test_empty_cells_are_of_their_column():
    """Flags of empty cells come after the columns."""
    imputer = SimpleImputer(add_indicator=True).fit(np.array([[1.0, np.nan], [2.0, 3.0]]))
    assert column_owners(imputer, 2).tolist() == [0, 1, 1]
    dropped = SimpleImputer().fit(np.array([[1.0, np.nan], [2.0, np.nan]]))
    assert column_owners(dropped, 2) is None


def test_several_steps():
    """Columns are followed through the steps, also through a selection."""
    table = TABLE[["marital", "marital_city"]]
    encoder = OneHotEncoder().fit(table)
    chosen = VarianceThreshold(0.2).fit(encoder.transform(table))
    members, labels, _ = column_groups([encoder, chosen])
    outputs = encoder.get_feature_names_out()[chosen.get_support()]
    assert [labels[member] for member in members] == [name.rsplit("_", 1)[0] for name in outputs]
    assert column_groups([encoder, PCA(2).fit(np.eye(5))]) is None


@pytest.mark.parametrize(
    "chosen",
    [slice("age", "marital"), slice(0, 2), [-4, -3], [True, True, False, False]],
    ids=str,
)
def test_columns_are_chosen_in_any_way(chosen):
    """By slices of names or places, from the end, by flags."""
    encoder = make_column_transformer((OneHotEncoder(), chosen)).fit(TABLE)
    _, labels, sources = column_groups([encoder])
    assert (labels, sources) == (["age", "marital"], [0, 1])


def test_cells():
    """Of tables, arrays and CSR."""
    X = np.arange(6.0).reshape(2, 3)
    for form in (X, pd.DataFrame(X), sp.csr_array(X), X.tolist()):
        np.testing.assert_array_equal(cells_of(form, [2, 0], np.float64), X[:, [2, 0]])
