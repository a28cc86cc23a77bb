"""From a method and the settings of a plan to an estimator.

The methods are those of :data:`hyperlocal.compare.METHODS`, and those that only the tables need.
Settings are plain numbers and words under the names of ``set_params``. Estimators use one thread,
so that seconds of different methods can be compared. Four settings are common to all:
``standardized`` scales the features before the estimator, ``components`` puts so many principal
components before it (both count as part of its time), a name that ends in ``_times_scale``, such as
``gamma_times_scale``, gives a kernel's γ in units of scikit-learn's "scale", and one that ends in
``_times_log2``, such as ``n_neighbors_times_log2``, a size in units of log2 of the number of rows.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from hyperlocal.compare import METHODS as SHARED_METHODS
from hyperlocal.compare import Method, Package

Settings = dict[str, Any]
IN_UNITS_OF_SCALE = "_times_scale"
IN_UNITS_OF_LOG2 = "_times_log2"
SOLVERS = {"squared_hinge": 1, "hinge": 3}  # the dual ones, as LIBLINEAR numbers them


class MulticoreLinearSVC(ClassifierMixin, BaseEstimator):
    """Linear SVM trained by liblinear-multicore, whose package has no scikit-learn interface."""

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


METHODS: dict[str, Method] = SHARED_METHODS | {
    "liblinear-multicore": Method(
        "liblinear-multicore",
        "liblinear-multicore",
        lambda seed, n_jobs: MulticoreLinearSVC(n_threads=n_jobs or 1),
        Package("liblinear-multicore", "liblinear"),
        is_random=False,
    )
}


def make_estimator(method: Method, settings: Settings, X: np.ndarray, seed: int) -> Pipeline:
    """Return the estimator that these settings mean for these training rows."""
    settings = dict(settings)
    n_components = settings.pop("components", None)
    steps: list[Any] = [StandardScaler()] if settings.pop("standardized", False) else []
    if n_components is not None:
        steps.append(PCA(n_components, svd_solver="covariance_eigh", random_state=seed))
    for name in [name for name in settings if name.endswith(IN_UNITS_OF_SCALE)]:
        settings[name.removesuffix(IN_UNITS_OF_SCALE)] = settings.pop(name) * _scale(X)
    for name in [name for name in settings if name.endswith(IN_UNITS_OF_LOG2)]:
        size = partial(_times_log2, settings.pop(name))
        settings[name.removesuffix(IN_UNITS_OF_LOG2)] = size
    return make_pipeline(*steps, method.make(seed, 1).set_params(**settings))


def _times_log2(factor: float, n_rows: int) -> float:
    return factor * math.log2(n_rows)


def _scale(X: np.ndarray) -> float:
    """The γ that scikit-learn calls "scale"; principal components keep nearly all the variance."""
    return 1 / (X.shape[1] * float(X.var()))
