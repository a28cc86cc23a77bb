"""scikit-learn's own SVMs and linear models as models that can be explained."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from ..kernels import Kernel
from .background import Background, summarize_rows
from .expansion import ExpansionModel, linear_expansion

# Each costs up to two predictions: so few that explanations cost less than ten of these.
N_REFERENCES = 5
KERNEL_MODELS = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)


def is_known(estimator: Any) -> bool:
    """Whether :func:`foreign_model` can state a fitted estimator.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.svm import SVC
    >>> from hyperlocal.model.foreign import is_known
    >>> is_known(SVC()), is_known(GaussianNB())
    (True, False)
    """
    if _has_scaled_values(estimator):
        return is_known(estimator.regressor_)
    return isinstance(estimator, KERNEL_MODELS) or hasattr(estimator, "coef_")


def _has_scaled_values(estimator: Any) -> bool:
    """Whether it is a regressor of values that a StandardScaler has scaled."""
    is_wrapped = isinstance(estimator, TransformedTargetRegressor)
    return is_wrapped and isinstance(getattr(estimator, "transformer_", None), StandardScaler)


def foreign_model(estimator: Any) -> ExpansionModel:
    """A fitted model of scikit-learn as a sum of kernel values.

    Kernel SVMs of several classes vote between pairs of classes. Their scores here are the sums of
    the decision values of each class against the others, which scikit-learn uses to break ties.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR, OneClassSVM, or a linear model with ``coef_``
        Fitted to numbers; not with ``kernel="precomputed"``. Also a TransformedTargetRegressor of
        these with a StandardScaler.

    Returns
    -------
    ExpansionModel
    """
    if _has_scaled_values(estimator):
        inner, zero_one = foreign_model(estimator.regressor_), np.array([[0.0], [1.0]])
        center, one = estimator.transformer_.inverse_transform(zero_one)
        scale = one - center
        return replace(inner, coef=inner.coef * scale, intercept=inner.intercept * scale + center)
    if not isinstance(estimator, KERNEL_MODELS):
        coef = np.atleast_2d(_dense(estimator.coef_))
        # SGDOneClassSVM subtracts an offset.
        intercept = getattr(estimator, "intercept_", -getattr(estimator, "offset_", 0.0))
        return linear_expansion(coef, np.zeros(len(coef)) + intercept)
    kernel, support = _kernel(estimator), _dense(estimator.support_vectors_)
    dual, intercept = _dense(estimator.dual_coef_), np.asarray(estimator.intercept_)
    if len(dual) == 1 and len(getattr(estimator, "classes_", (0, 1))) <= 2:
        return ExpansionModel(kernel, support, dual.T, intercept)
    return ExpansionModel(kernel, support, *_summed_pairs(estimator, dual, intercept))


def foreign_background(estimator: Any) -> Background:
    """References where none are given: of the support vectors, or zero for a linear model."""
    if _has_scaled_values(estimator):
        return foreign_background(estimator.regressor_)
    if isinstance(estimator, KERNEL_MODELS):
        return summarize_rows(_dense(estimator.support_vectors_), n_references=N_REFERENCES)
    return Background.of(np.zeros((1, np.atleast_2d(estimator.coef_).shape[1])))


def _kernel(estimator: Any) -> Kernel:
    name = estimator.kernel
    if callable(name) or name not in ("linear", "poly", "rbf", "sigmoid"):
        what = "a function" if callable(name) else repr(name)
        raise ValueError(
            f"with kernel {what}, {type(estimator).__name__} keeps no support vectors, so that no "
            "feature can be explained; use kernel='rbf', 'poly', 'linear' or 'sigmoid', or "
            "hyperlocal.linear.KernelPegasosSVC, which keeps them for any function."
        )
    return Kernel(name, _gamma(estimator), int(estimator.degree), float(estimator.coef0))


def _gamma(estimator: Any) -> float:
    """``γ`` as a number; no public attribute has that of "scale", but the saved state."""
    if not isinstance(estimator.gamma, str):
        return float(estimator.gamma)
    if estimator.gamma == "auto":
        return 1.0 / estimator.n_features_in_
    return float(estimator.__getstate__()["_gamma"])


def _summed_pairs(
    estimator: Any, dual: np.ndarray, intercept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the sums of each class's decision values against the others.

    Of classes ``i < j``, the support vectors of ``i`` have their coefficients in row ``j − 1`` and
    those of ``j`` in row ``i``; the value is positive for ``i``.
    """
    counts = estimator.n_support_
    ends = np.cumsum(counts)
    n_classes = len(counts)
    coef, bias = np.zeros((dual.shape[1], n_classes)), np.zeros(n_classes)
    pair = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            own, other = slice(ends[i] - counts[i], ends[i]), slice(ends[j] - counts[j], ends[j])
            for column, sign in ((i, 1), (j, -1)):
                coef[own, column] += sign * dual[j - 1, own]
                coef[other, column] += sign * dual[i, other]
                bias[column] += sign * intercept[pair]
            pair += 1
    return coef, bias


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
