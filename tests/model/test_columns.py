"""Tests of hyperlocal.model.columns: outputs of encoders by column."""

import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hyperlocal.model.columns import column_groups
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
    members, labels, sources = column_groups(encoder)
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
    members, labels, sources = column_groups(encoder)
    assert labels == ["age", "marital", "marital_city", "more", "some", "text", "words"]
    assert sources == [0, 1, 2, -1, -1, -1, -1]
    assert members.tolist() == [0, 1, 1, 1, 2, 2, 3, 4, 5, 6]


def test_others_are_not_known():
    """A transformer that mixes columns has no groups."""
    assert column_groups(PCA()) is None
