"""Which columns of a table the outputs of an encoder come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

Groups = tuple[np.ndarray, list[str], list[int]]


def column_groups(encoder: Any) -> Groups | None:
    """Of each output of an encoder, the feature that explanations show for it.

    Parameters
    ----------
    encoder : fitted transformer
        With attributes ``groups_`` (the input column of each output) and ``columns_`` (its name),
        or scikit-learn's ``OneHotEncoder``, ``OrdinalEncoder`` or ``ColumnTransformer``.

    Returns
    -------
    members : ndarray of int, shape (n_features_out,)
        For each output, the place of its feature among those shown.
    labels : list of str
        Names of the features shown: columns of the table, or outputs that are words of a text.
    sources : list of int
        The column of each; −1 for a word.
        None in place of all three where the encoder is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from hyperlocal.model.columns import column_groups
    >>> encoder = OneHotEncoder().fit(np.array([["a", "x"], ["b", "x"]], dtype=object))
    >>> members, labels, sources = column_groups(encoder)
    >>> members.tolist(), labels, sources
    ([0, 0, 1], ['x0', 'x1'], [0, 1])
    """
    if hasattr(encoder, "groups_") and hasattr(encoder, "columns_"):
        pairs = zip(encoder.groups_.tolist(), encoder.columns_.tolist(), strict=True)
        return _shown([(source, name) for source, name in pairs])
    if isinstance(encoder, ColumnTransformer):
        return _shown(_of_column_transformer(encoder))
    if isinstance(encoder, (OneHotEncoder, OrdinalEncoder)):
        names = _input_names(encoder)
        outputs = [str(name) for name in encoder.get_feature_names_out()]
        return _shown([_source(output, names) for output in outputs])
    return None


def _shown(origins: Sequence[tuple[int, str]]) -> Groups:
    places: dict[tuple[int, str], int] = {}
    members = np.array([places.setdefault(origin, len(places)) for origin in origins])
    return members, [name for _, name in places], [source for source, _ in places]


def _of_column_transformer(encoder: ColumnTransformer) -> list[tuple[int, str]]:
    names = _input_names(encoder)
    outputs = [str(name) for name in encoder.get_feature_names_out()]
    origins: list[tuple[int, str]] = [(-1, name) for name in outputs]
    for label, part, columns in encoder.transformers_:
        places = range(len(outputs))[encoder.output_indices_.get(label, slice(0, 0))]
        own = [names[i] for i in _positions(columns, names)]
        for place in places:
            output = outputs[place].removeprefix(f"{label}__")
            if hasattr(part, "vocabulary_"):
                origins[place] = (-1, output)
            elif len(own) == 1:
                origins[place] = (names.index(own[0]), own[0])
            elif len(own) == len(places):
                name = own[place - places.start]
                origins[place] = (names.index(name), name)
            else:
                source, name = _source(output, own)
                origins[place] = (names.index(name) if source >= 0 else -1, name)
    return origins


def _positions(columns: Any, names: list[str]) -> list[int]:
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    if isinstance(columns, slice):
        return list(range(len(names)))[columns]
    chosen = np.asarray(columns)
    if chosen.dtype == bool:
        return np.flatnonzero(chosen).tolist()
    return [names.index(one) if isinstance(one, str) else int(one) for one in chosen.tolist()]


def _source(output: str, names: list[str]) -> tuple[int, str]:
    """The column whose name an output begins with: the longest of these."""
    found = [name for name in names if output == name or output.startswith(f"{name}_")]
    name = max(found, key=len, default="")
    return (names.index(name), name) if found else (-1, output)


def _input_names(encoder: Any) -> list[str]:
    default = [f"x{i}" for i in range(encoder.n_features_in_)]
    return [str(name) for name in getattr(encoder, "feature_names_in_", default)]
