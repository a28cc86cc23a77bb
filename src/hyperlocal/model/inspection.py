"""Explanations of pipelines and of many rows, weights of anchors, and a bound of the error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..runtime.threads import Workers, row_blocks
from .contributions import as_dense
from .explaining import input_names
from .explanation import Explanation
from .explanations import Explanations
from .local_model import LocalModel
from .multiclass import as_columns
from .through import affine_parts, explain, fitted_parts, transformed_rows

ROWS_PER_BLOCK = 64

__all__ = [
    "MeanContributions",
    "MeanInteractions",
    "anchor_weights",
    "mean_contributions",
    "mean_interactions",
    "split_pipeline",
    "support_fraction_bound",
]


def split_pipeline(estimator: Any) -> tuple[Pipeline | None, Any]:
    """The steps before the last, if there are any, and the model itself."""
    if not isinstance(estimator, Pipeline):
        return None, estimator
    before = [step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    return (estimator[:-1] if before else None), estimator[-1]


@dataclass(frozen=True)
class MeanContributions:
    """Which features matter, over many rows.

    Attributes
    ----------
    feature_names : ndarray of str
    classes : ndarray
        The class of each row of ``by_class`` (for two classes: the second).
    overall : ndarray of shape (n_features,)
        Mean of ``|contribution|`` to the deciding score.
    by_class : ndarray of shape (n_columns, n_features)
        Mean of ``|contribution|`` to each score.
    """

    feature_names: np.ndarray
    classes: np.ndarray
    overall: np.ndarray
    by_class: np.ndarray

    def to_frame(self) -> Any:
        """A pandas DataFrame, the features that matter most first.

        Returns
        -------
        DataFrame
            One line per feature.
        """
        import pandas

        columns = {"mean |contribution|": self.overall}
        if len(self.by_class) > 1:
            columns |= {
                f"to {label}": values
                for label, values in zip(self.classes, self.by_class, strict=True)
            }
        frame = pandas.DataFrame(columns, index=pandas.Index(self.feature_names, name="feature"))
        return frame.sort_values("mean |contribution|", ascending=False, kind="stable")


def mean_contributions(estimator: Any, X: Any, background: Any = None) -> MeanContributions:
    """Mean absolute contribution of each feature over rows.

    Parameters
    ----------
    estimator : classifier of this library, or Pipeline that ends in one
        Fitted.
    X : {array-like, CSR} of shape (n_rows, n_features)
    background : {array-like, CSR} of shape (n_references, n_features), default=None
        The rows that contributions are relative to; those kept by the model by default.

    Returns
    -------
    MeanContributions
        The means, over all rows and over those of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.model import mean_contributions
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LocallyLinearSVC(random_state=0).fit(X, y)
    >>> sorted(mean_contributions(model, X).to_frame().index[:2])
    ['petal length (cm)', 'petal width (cm)']
    """
    found = explain(estimator, X, background)
    rows = Explanations([found]) if isinstance(found, Explanation) else found
    sizes, deciding = np.abs(rows.contributions), rows.scores.argmax(axis=1)
    classes = rows[0].classes
    return MeanContributions(
        feature_names=rows.feature_names,
        classes=np.array(["prediction"]) if classes is None else classes,
        overall=sizes[np.arange(len(sizes)), deciding].mean(axis=0),
        by_class=sizes.mean(axis=0),
    )


@dataclass(frozen=True)
class MeanInteractions:
    """Which features act together in quadratic local models, over many rows.

    Attributes
    ----------
    feature_names : ndarray of str
    values : ndarray of shape (n_features, n_features)
        Mean of ``|∂²f/∂x_i ∂x_k| s_i s_k`` over rows and scores, ``s`` the features' standard
        deviations: what changing both by one deviation adds to the effects of either alone. On the
        diagonal half of it, what the square of a feature adds.
    """

    feature_names: np.ndarray
    values: np.ndarray

    def to_frame(self) -> Any:
        """A pandas DataFrame of pairs, those that matter most first.

        Returns
        -------
        DataFrame
            One line per pair.
        """
        import pandas

        first, second = np.triu_indices(len(self.values))
        order = np.argsort(-self.values[first, second], kind="stable")
        return pandas.DataFrame(
            {
                "first": self.feature_names[first][order],
                "second": self.feature_names[second][order],
                "mean |interaction|": self.values[first, second][order],
            }
        )


def mean_interactions(estimator: Any, X: Any) -> MeanInteractions:
    """Average products of pairs of features over the local models that are active at rows.

    The gate is held fixed: how weights of local models change is no product of features.

    Parameters
    ----------
    estimator : estimator with a quadratic map, or Pipeline of linear steps and one
        Fitted.
    X : {array-like, CSR} of shape (n_rows, n_features)

    Returns
    -------
    MeanInteractions
        The products of weights, averaged.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.model import mean_interactions
    >>> X = np.random.default_rng(0).normal(size=(400, 4))
    >>> model = LocallyLinearSVC(feature_map="quadratic", C=1.0, random_state=0)
    >>> found = mean_interactions(model.fit(X, X[:, 1] * X[:, 3] > 0), X).to_frame()
    >>> found.iloc[0, :2].tolist()
    ['x1', 'x3']
    """
    steps, last = fitted_parts(estimator)
    model, rows = getattr(last, "model_", None), as_dense(X)
    if not isinstance(model, LocalModel) or model.feature_map.lengths[2] == 0:
        raise ValueError(
            "only quadratic local models have products of features; feature_map='quadratic'."
        )

    def inner_numbers(points: np.ndarray) -> np.ndarray:
        return model.feature_map.inner_rows(np.asarray(transformed_rows(steps, points)))

    found = affine_parts(inner_numbers, rows[:8].astype(np.float64))
    if found is None:
        raise ValueError("a step before the model is not linear; give the rows after it.")
    values = _mean_curvature(model, transformed_rows(steps, X), found[0])
    values *= np.outer(rows.std(axis=0), rows.std(axis=0))
    np.fill_diagonal(values, 0.5 * np.diag(values))
    return MeanInteractions(input_names((steps or [last])[0]), values)


def _mean_curvature(model: LocalModel, X: Any, inner: np.ndarray) -> np.ndarray:
    """Mean ``|∂²f/∂x_i ∂x_k|`` over rows and columns, the gate held fixed."""
    coef, n_paired = model.coef.astype(np.float64), model.feature_map.lengths[2]
    _, curvature = model.feature_map.curvature(inner.shape[1], coef)
    to_paired, total = inner[:, :n_paired], np.zeros((len(inner), len(inner)))
    rows = as_dense(X).astype(model.dtype, copy=False)
    with Workers(1) as workers:
        for begin, end in row_blocks(len(rows), ROWS_PER_BLOCK):
            lifted = model.lift(rows[begin:end], workers)
            bent = np.tensordot(lifted.gate_matrix(), curvature, axes=1)
            total += np.abs(to_paired @ bent @ to_paired.T).mean(axis=1).sum(axis=0)
    return total / len(rows)


def anchor_weights(model: Any) -> np.ndarray:
    """The weights of each local model on the input's features, ``(n_models, n_columns, p)``.

    With a quadratic map, and with stages, they are those that hold at the anchor itself.

    Parameters
    ----------
    model : classifier of this library with local models
        Fitted.

    Returns
    -------
    ndarray of shape (n_models, n_columns, n_features)
        The weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.model import anchor_weights
    >>> model = LocallyLinearSVC(5, n_neighbors=2, random_state=0).fit(*load_iris(return_X_y=True))
    >>> anchor_weights(model).shape
    (5, 3, 4)
    """
    fitted = model.model_
    feature_map, coef = fitted.feature_map, fitted.coef
    if not feature_map.explains_input:
        raise ValueError(
            f"the local models of this {type(model).__name__} have no weights on the input's "
            "features: its feature map or projection comes between."
        )
    at = np.zeros((len(coef), feature_map.n_features_in), coef.dtype)
    if isinstance(fitted, LocalModel) and fitted.codes_input and fitted.anchors.shape == at.shape:
        at = fitted.anchors
    elif coef.shape[2] > feature_map.n_features_in:
        raise ValueError("a quadratic map has weights at places of the input; code_on='input'.")
    return feature_map.pull_back(at, coef)[0]


def support_fraction_bound(model: Any, X: Any = None, y: Any = None) -> float:
    """The share of training rows that are support vectors: a bound of the expected test error.

    Without a row that is no support vector the solution is the same, so that row is classified
    correctly by a model that has not seen it. Hence the leave-one-out error is at most the share of
    support vectors, and it is an unbiased estimate of the error of a model trained on one row less.
    The bound holds for the solution of a hinge loss; of a solver that stopped early it is an
    estimate.

    Parameters
    ----------
    model : classifier
        Fitted. Without ``X`` and ``y`` it needs the attributes ``support_``, and
        ``n_samples_fit_`` or ``shape_fit_``, which SDCASVC, KernelPegasosSVC and scikit-learn's SVC
        have.
    X, y : training rows and labels, optional
        For any model with ``decision_function``: support vectors are then the rows whose margin
        (of any class, one-vs-rest) is at most one.

    Returns
    -------
    float
        Between zero and one.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from hyperlocal.linear import SDCASVC
    >>> from hyperlocal.model import support_fraction_bound
    >>> X, y = make_blobs(200, centers=2, random_state=0)
    >>> model = SDCASVC(random_state=0).fit(X, y)
    >>> bool(1 - model.score(X, y) <= support_fraction_bound(model) < 0.3)
    True
    """
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither.")
    if X is not None:
        scores = as_columns(model.decision_function(X))
        own = model.classes_[-scores.shape[1] :] == np.asarray(y)[:, None]
        # A solver leaves the margins of support vectors a little above one.
        return float((np.where(own, scores, -scores).min(axis=1) <= 1 + 1e-3).mean())
    n_rows = getattr(model, "n_samples_fit_", None) or getattr(model, "shape_fit_", (None,))[0]
    if n_rows is None or not hasattr(model, "support_"):
        raise TypeError(
            f"{type(model).__name__} does not list its support vectors (support_); give its "
            "training rows and labels as X and y."
        )
    return len(model.support_) / n_rows
