"""TableEncoder: the columns of a table as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data.arguments import check_choice, check_flag
from ..data.table import Column, columns_of, is_table
from ..runtime.stamp import stamped
from ..runtime.threads import row_blocks
from .column_encoders import encoded
from .column_plans import Rules, known_names, plan

ROWS_PER_BLOCK = 65_536  # that are dense at a time while sparse rows are made


@dataclass(eq=False, repr=False)
@stamped
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table of numbers, categories, flags, dates and text as rows of numbers.

    Each column is encoded by what it holds:

    - numbers are standardized; missing ones are filled in, with an indicator column of 0 and 1.
      Text that is a number in all but a few rows is read as numbers, the rest as missing;
    - categories become columns of 0 and 1, one for each frequent value, one for missing values
      and one for all rare ones. They are not standardized: distances and penalties would then
      depend mostly on rare values;
    - numbers with two values and booleans become one column of 0 and 1;
    - dates become the elapsed days (standardized) and the sine and cosine of the time of year, of
      week and of day;
    - free text is dropped, or becomes TF-IDF weights or hashed words;
    - ids, constants and columns without values are dropped.

    What was dropped, filled in or pooled is stated in ``notes_``.

    Parameters
    ----------
    max_categories : int, default=100
        Most values of a category that have a column of their own.
    min_frequency : int or "auto", default="auto"
        Fewest rows of a value with a column of its own; "auto" is one in 200 rows, from 1 to 10.
    categorical : sequence of column names, default=()
        Columns that are categories though they hold numbers or free text. Columns of type
        category (pandas, polars) or dictionary (pyarrow) always are.
    drop : sequence of column names, default=()
        Columns to leave out.
    text : {"drop", "tfidf", "hash"}, default="drop"
        What becomes of free text, that is, of columns whose frequent values cover less than half
        of the rows.
    n_text_features : int, default=256
        Output columns for each column of free text.
    impute : {"median", "mean"}, default="median"
        What missing numbers are filled in by.
    standardize : bool, default=True
        Whether numbers get zero mean and unit variance. Otherwise they keep their units.
    sparse_output : bool, default=False
        CSR instead of a dense array; False because standardized numbers are not sparse.
    dtype : {"float64", "float32"}, default="float64"
        Type of the output.

    Attributes
    ----------
    columns_ : ndarray of shape (n_features_out,)
        Name of the input column that each output column comes from.
    groups_ : ndarray of shape (n_features_out,)
        Number of that input column.
    center_, scale_ : ndarray of shape (n_features_out,)
        An output column is ``(value - center_) / scale_`` of a value in the units of the table;
        0 and 1 for columns that are not standardized.
    encoders_ : list
        What encodes each input column; None where it is dropped.
    kinds_ : dict
        For each input column "number", "flag", "category", "date", "text" or "dropped".
    notes_ : list of str
        What was dropped, filled in, read as missing or pooled.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    RelevanceScaler : Scales of features by what they tell about the target.

    Examples
    --------
    >>> import pandas as pd
    >>> from hyperlocal.preprocessing import TableEncoder
    >>> cats = pd.DataFrame({"weight": [4.1, 3.2, None, 9.5], "fur": ["long", "bald", "long", "?"]})
    >>> encoder = TableEncoder().fit(cats)
    >>> encoder.get_feature_names_out().tolist()
    ['weight', 'weight missing', 'fur=bald', 'fur=long', 'fur=missing']
    >>> encoder.columns_.tolist()
    ['weight', 'weight', 'fur', 'fur', 'fur']
    >>> encoder.notes_
    ['weight: 1 missing value filled in by 4.1']
    """

    _: KW_ONLY
    max_categories: int = 100
    min_frequency: Any = "auto"
    categorical: Any = ()
    drop: Any = ()
    text: str = "drop"
    n_text_features: int = 256
    impute: str = "median"
    standardize: bool = True
    sparse_output: bool = False
    dtype: Any = "float64"

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Decide how each column is encoded.

        Parameters
        ----------
        X : table of pandas, polars or pyarrow, or array-like, of shape (n_rows, n_features)
            The training rows.
        y : ignored
            Not used.

        Returns
        -------
        self
            The fitted encoder.
        """
        rules = self._rules()
        columns = self._columns(X, reset=True)
        names = self._input_names()
        categorical = known_names("categorical", self.categorical, names)
        left_out = known_names("drop", self.drop, names)
        self.encoders_: list[Any] = []
        self.kinds_: dict[str, str] = {}
        self.notes_: list[str] = []
        for name, column in zip(names, columns, strict=True):
            encoder = None
            if name not in left_out:
                chosen = plan(column, name, rules, name in categorical)
                encoder = chosen.encoder
                self.notes_.extend(f"{name}: {note}" for note in chosen.notes)
            self.encoders_.append(encoder)
            self.kinds_[name] = "dropped" if encoder is None else encoder.kind
        self._describe(names, len(columns[0]))
        return self

    def transform(self, X: Any) -> Any:
        """Encode rows; unknown categories count as rare ones.

        Parameters
        ----------
        X : table or array-like of shape (n_rows, n_features)
            The columns of ``fit``, in the same order.

        Returns
        -------
        {ndarray, CSR} of shape (n_rows, n_features_out)
            The encoded rows.
        """
        check_is_fitted(self, "encoders_")
        columns = self._columns(X, reset=False)
        if not self.sparse_output:
            return encoded(self.encoders_, columns, self.dtype)
        blocks = [
            sp.csr_array(encoded(self.encoders_, [c.part(*block) for c in columns], self.dtype))
            for block in row_blocks(len(columns[0]), ROWS_PER_BLOCK)
        ]
        return sp.vstack(blocks, format="csr")

    def to_units(self, X: Any) -> np.ndarray:
        """Encoded rows with every number in the units of the table.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features_out)
            Encoded rows.

        Returns
        -------
        ndarray of shape (n_rows, n_features_out)
            The rows in the table's units.
        """
        check_is_fitted(self, "encoders_")
        return np.asarray(X) * self.scale_ + self.center_

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the input columns, if ``fit`` saw none.

        Returns
        -------
        ndarray of str
            The names.
        """
        check_is_fitted(self, "encoders_")
        names = self._input_names() if input_features is None else list(input_features)
        if len(names) != self.n_features_in_:
            raise ValueError(f"input_features should have length equal to {self.n_features_in_}")
        if hasattr(self, "feature_names_in_") and names != self._input_names():
            raise ValueError("input_features is not equal to feature_names_in_")
        pairs = zip(names, self.encoders_, strict=True)
        made = [f"{name}{end}" for name, one in pairs if one is not None for end in one.endings]
        return np.array(made, dtype=object)

    def _rules(self) -> Rules:
        check_flag("sparse_output", self.sparse_output)
        check_choice("dtype", np.dtype(self.dtype).name, ["float64", "float32"])
        return Rules(
            self.impute, self.standardize, self.text, self.n_text_features, self.max_categories,
            self.min_frequency,
        )  # fmt: skip

    def _columns(self, X: Any, *, reset: bool) -> list[Column]:
        if is_table(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if 0 in X.shape:
                raise ValueError("X has {} rows and {} columns; 1 is needed.".format(*X.shape))
            return columns_of(X)
        return columns_of(validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False))

    def _input_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

    def _describe(self, names: Sequence[str], n_rows: int) -> None:
        kept = [(j, encoder) for j, encoder in enumerate(self.encoders_) if encoder is not None]
        if not kept:
            raise ValueError(
                f"no column is left to encode (n_samples={n_rows}) {'; '.join(self.notes_[:5])}"
            )
        widths = [len(encoder.endings) for _, encoder in kept]
        self.groups_ = np.repeat([j for j, _ in kept], widths)
        self.columns_ = np.array(names, dtype=object)[self.groups_]
        self.center_ = np.concatenate([encoder.centers for _, encoder in kept])
        self.scale_ = np.concatenate([encoder.scales for _, encoder in kept])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = tags.input_tags
        given.allow_nan = given.string = given.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags
