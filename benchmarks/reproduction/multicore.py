"""A scikit-learn face of liblinear-multicore's Python package, which has none."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

SOLVERS = {"squared_hinge": 1, "hinge": 3}  # the dual ones, as LIBLINEAR numbers them


class MulticoreLinearSVC(ClassifierMixin, BaseEstimator):
    """Linear SVM trained by liblinear-multicore."""

    def __init__(self, C: float = 1.0, loss: str = "squared_hinge", n_threads: int = 1):
        self.C = C
        self.loss = loss
        self.n_threads = n_threads

    def fit(self, X: np.ndarray, y: np.ndarray) -> MulticoreLinearSVC:
        """Train on dense or sparse rows."""
        from liblinear import liblinearutil

        self.classes_, codes = np.unique(y, return_inverse=True)
        options = f"-s {SOLVERS[self.loss]} -c {self.C} -B 1 -m {self.n_threads} -q"
        self.model_ = liblinearutil.train(codes.astype(float), X, options)
        n_columns = 1 if len(self.classes_) == 2 else len(self.classes_)
        functions = [self.model_.get_decfun(column) for column in range(n_columns)]
        self.coef_ = np.array([weights for weights, _ in functions])
        self.intercept_ = np.array([bias for _, bias in functions])
        return self

    def predict(self, X: np.ndarray) -> Any:
        """Labels of rows."""
        from liblinear import liblinearutil

        codes, _, _ = liblinearutil.predict([], X, self.model_, "-q")
        return self.classes_[np.asarray(codes, dtype=int)]
