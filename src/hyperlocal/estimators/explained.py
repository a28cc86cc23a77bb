"""What every estimator that explains its predictions has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeGuard

import numpy as np

from ..data.labelled import LabelledRows
from ..model.background import Background, summarize_rows
from ..model.contributions import Contributions, Paths, model_paths, path_contributions
from ..model.explaining import ExplainedModel, ExplainedRows, as_rows, input_names, local_places
from ..model.explanation import Explanation, LocalRows
from ..model.explanations import Explanations
from ..model.local_model import LocalModel
from ..runtime.threads import Workers


class HasOwnPaths(Protocol):
    """A model that has references of its own for each row."""

    def own_paths(self, X: Any, workers: Workers) -> Paths:
        """The ways from these references to rows."""


def has_own_paths(model: Any) -> TypeGuard[HasOwnPaths]:
    """By its name, which takes less time than ``isinstance``."""
    return hasattr(model, "own_paths")


class ExplainMixin(ABC):
    """Explanations from the model that takes checked rows."""

    model_: Any
    n_features_in_: int
    n_jobs: int | None
    _background: Background

    def local_coef(self, X: Any) -> np.ndarray:
        """The exact weight vector at each row: ``local_coef(x)·x + local_intercept(x) = f(x)``.

        It is the model that is active at the row, the gate held fixed there: for kernels, the
        gradient averaged on the way from zero. In the input's features, or in the mapped ones where
        a map has no weights on the input.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_columns, n_features)
            One column per class, or one column for two classes.
        """
        return np.concatenate([block.coef for block in self.local_rows(X)])

    def local_intercept(self, X: Any) -> np.ndarray:
        """The exact intercept at each row, ``(n_rows, n_columns)``; see :meth:`local_coef`.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            The intercepts.
        """
        return np.concatenate([block.intercept for block in self.local_rows(X)])

    def local_rows(self, X: Any) -> Iterator[LocalRows]:
        """The linear model at each row and the values that it weights, in blocks of rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Yields
        ------
        LocalRows
        """
        X = self._checked_rows(X)
        with Workers(self.n_jobs) as workers:
            yield from self._explained_model().local_rows(X, workers)

    def explain(self, X: Any, background: Any = None) -> Explanation | Explanations:
        """The contribution of each feature to the scores of rows, and where predictions change.

        Parameters
        ----------
        X : array-like of shape (n_features,), or {array-like, CSR} of shape (n_rows, n_features)
            One row or several; also a row of a DataFrame.
        background : {array-like, CSR} of shape (n_references, n_features), default=None
            The rows that contributions are relative to; a few rows with the mean and the variances
            of the training rows by default.

        Returns
        -------
        Explanation, or Explanations for several rows
            ``print`` shows it as text. The mean score of the background and the contributions (and
            jumps of the gate) sum to the score.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hyperlocal.linear import SDCASVC
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = SDCASVC(random_state=0).fit(X, y == 0)
        >>> print(model.explain(X.iloc[60]))  # doctest: +ELLIPSIS
        predicted False; score of True:
          sepal width (cm) = 2    -0.4...
          petal length (cm) = 3.5 +0.2...
          sepal length (cm) = 5   -0.2...
          petal width (cm) = 1    +0.1...
          reference               -1.3...
          score                   -1.7...
          anchors: 0 (1.00)
          margin: 1.7... over True
          predicted True at distance 1.29: petal length (cm) -1.02, petal width ...
        """
        X, index = as_rows(X)
        X = self._rows_to_score(X)
        given = None if background is None else self._checked_rows(as_rows(background)[0])
        with Workers(self.n_jobs) as workers:
            found = self._contributions(X, given, workers)
        rows = self._explained_rows(X, found)
        return rows[0] if len(rows) == 1 else Explanations(rows, index)

    @property
    def background(self) -> Background:
        """Rows that contributions are relative to where none are given."""
        if hasattr(self, "_background"):
            return self._background
        model = self.model_  # of a stream, for instance: its anchors
        if isinstance(model, LocalModel) and model.codes_input and model.n_anchors > 1:
            return Background.of(model.anchors)
        return Background.of(np.zeros((1, model.n_features_in), model.dtype))

    def paths(self, X: Any, background: Any = None) -> Paths:
        """The ways from references to rows, and gradients averaged along them.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        background : {array-like, CSR} of shape (n_references, n_features), default=None

        Returns
        -------
        Paths
            What contributions are computed from.
        """
        X = self._checked_rows(X)
        given = None if background is None else self._checked_rows(background)
        with Workers(self.n_jobs) as workers:
            return self._row_paths(X, given, workers)

    def _row_paths(self, X: Any, background: Any, workers: Workers) -> Paths:
        """The ways to checked rows from the rows given."""
        model = self._explained_model()
        if background is None and has_own_paths(model):
            return model.own_paths(X, workers)
        rows = self.background if background is None else Background.of(background)
        found = model_paths(model, X, rows, workers)
        if model.feature_map.attributes_input:
            return found
        return replace(found, names=model.feature_map.feature_names(input_names(self)))

    def _keep_background(self, data: LabelledRows) -> None:
        """Explain relative to these rows from now on."""
        self._background = summarize_rows(data.X, data.sample_weight)

    def _explained_model(self) -> ExplainedModel:
        """The model that takes checked rows; ``model_`` unless something comes before it."""
        return self.model_

    @abstractmethod
    def _checked_rows(self, X: Any) -> Any:
        """Rows in the precision of the model."""

    def _rows_to_score(self, X: Any) -> Any:
        """The same, where a model that scores rows may check their values as it does."""
        return self._checked_rows(X)

    def _contributions(self, X: Any, background: Any, workers: Workers) -> Contributions:
        """Contributions to the scores of checked rows, relative to the rows given."""
        model = self._explained_model()
        if background is None and has_own_paths(model):
            return model.own_paths(X, workers).contributions()
        rows = self.background if background is None else Background.of(background)
        return path_contributions(model, X, rows, workers)

    def _explained_rows(self, X: Any, found: Contributions) -> ExplainedRows:
        model, names = self._explained_model(), input_names(self)
        if not model.feature_map.attributes_input:
            names = model.feature_map.feature_names(names)
        classes = getattr(self, "classes_", None)
        places = None if classes is None else partial(local_places, model, X, classes)
        return ExplainedRows(found, classes, names, places)
