"""Why rows are classified as they are, what matters overall, and what support vectors tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from .explanation import BoundaryPoint, Explanation, Explanations

__all__ = [
    "BoundaryPoint",
    "Explanation",
    "Explanations",
    "MeanContributions",
    "anchor_weights",
    "explain",
    "mean_contributions",
    "split_pipeline",
    "support_fraction_bound",
]


def split_pipeline(estimator: Any) -> tuple[Pipeline | None, Any]:
    """The steps before the last, if there are any, and the model itself."""
    if not isinstance(estimator, Pipeline):
        return None, estimator
    before = [step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    return (estimator[:-1] if before else None), estimator[-1]


def explain(estimator: Any, X: Any) -> Any:
    """Explain rows; through a pipeline, in the features that its last step sees.

    Parameters
    ----------
    estimator : classifier of this library, or Pipeline that ends in one
        Fitted.
    X : {array-like, CSR} of shape (n_rows, n_features)
        Rows as the estimator takes them.

    Returns
    -------
    Explanation, or Explanations for several rows
        Features have the names that the pipeline gives them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.model.inspection import explain
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), LocallyLinearSVC(random_state=0)).fit(X, y)
    >>> explain(model, X.iloc[[60]]).feature_names[2]
    'petal length (cm)'
    """
    steps, model = split_pipeline(estimator)
    if steps is None:
        return model.explain(X)
    if np.ndim(X) == 1:
        X = X.to_frame().T if hasattr(X, "to_frame") else np.asarray(X).reshape(1, -1)
    explained = model.explain(steps.transform(X))
    try:
        names = steps.get_feature_names_out()
    except (AttributeError, ValueError):
        return explained
    names = model._feature_map.feature_names(np.asarray(names, dtype=object))
    if isinstance(explained, Explanation):
        return replace(explained, feature_names=names)
    return Explanations(
        [replace(one, feature_names=names) for one in explained], getattr(X, "index", None)
    )


@dataclass(frozen=True)
class MeanContributions:
    """Which features matter, over many rows.

    Attributes
    ----------
    feature_names : ndarray of str
    classes : ndarray
        The class that each row of ``by_class`` speaks for (for two classes: the second).
    overall : ndarray of shape (n_features,)
        Mean of ``|contribution|`` to the score that decided.
    by_class : ndarray of shape (n_columns, n_features)
        Mean of ``|contribution|`` to each score.
    """

    feature_names: np.ndarray
    classes: np.ndarray
    overall: np.ndarray
    by_class: np.ndarray

    def to_frame(self) -> Any:
        """A pandas DataFrame, the features that matter most first."""
        import pandas

        columns = {"mean |contribution|": self.overall}
        if len(self.by_class) > 1:
            columns |= {
                f"to {label}": values
                for label, values in zip(self.classes, self.by_class, strict=True)
            }
        frame = pandas.DataFrame(columns, index=pandas.Index(self.feature_names, name="feature"))
        return frame.sort_values("mean |contribution|", ascending=False, kind="stable")


def mean_contributions(estimator: Any, X: Any) -> MeanContributions:
    """Mean absolute contribution of each feature over rows.

    A contribution is a local weight times a value, so it depends on where zero is: standardise the
    features first, then it tells of differences from the mean.

    Parameters
    ----------
    estimator : classifier of this library, or Pipeline that ends in one
        Fitted.
    X : {array-like, CSR} of shape (n_rows, n_features)

    Returns
    -------
    MeanContributions

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.model.inspection import mean_contributions
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X = (X - X.mean()) / X.std()
    >>> model = LocallyLinearSVC(random_state=0).fit(X, y)
    >>> mean_contributions(model, X).to_frame().index[0]
    'petal length (cm)'
    """
    steps, model = split_pipeline(estimator)
    names = None
    if steps is not None:
        X = steps.transform(X)
        names = getattr(steps, "get_feature_names_out", lambda: None)()
    rows = model._check_fitted_rows(X)
    overall, by_class = 0.0, 0.0
    for coef, values, intercepts in model._contributions_of(rows):
        contributions = coef.astype(np.float64) * values[:, None]
        scores = contributions.sum(axis=2) + intercepts
        deciding = scores.argmax(axis=1)
        sizes = np.abs(contributions)
        overall = overall + sizes[np.arange(len(sizes)), deciding].sum(axis=0)
        by_class = by_class + sizes.sum(axis=0)
    inputs = model._input_names() if names is None else np.asarray(names, dtype=object)
    return MeanContributions(
        feature_names=model._feature_map.feature_names(inputs),
        classes=model.classes_[-len(np.atleast_2d(by_class)) :],
        overall=overall / rows.shape[0],
        by_class=by_class / rows.shape[0],
    )


def anchor_weights(model: Any) -> np.ndarray:
    """The weights of each local model on the input's features, ``(n_models, n_columns, p)``.

    With a quadratic map they are those that hold at the anchor itself.

    Parameters
    ----------
    model : classifier of this library with local models
        Fitted.

    Returns
    -------
    ndarray of shape (n_models, n_columns, n_features)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.model.inspection import anchor_weights
    >>> model = LocallyLinearSVC(5, n_neighbors=2, random_state=0).fit(*load_iris(return_X_y=True))
    >>> anchor_weights(model).shape
    (5, 3, 4)
    """
    feature_map = model._feature_map
    if not feature_map.explains_input or getattr(model, "_earlier", None):
        raise ValueError(
            f"the local models of this {type(model).__name__} have no weights on the input's "
            "features: its feature map, projection or stages come between."
        )
    coef = model._weights[..., :-1]
    gate = getattr(model, "_gate", None)
    at = np.zeros((len(coef), feature_map.n_features_in), coef.dtype)
    if gate is not None and gate.anchors.shape == at.shape:
        at = gate.anchors
    elif coef.shape[2] > feature_map.n_features_in:
        raise ValueError("a quadratic map has weights at places of the input; code_on='input'.")
    return feature_map.pull_back(at, coef)[0]


def support_fraction_bound(model: Any, X: Any = None, y: Any = None) -> float:
    """The share of training rows that are support vectors: a bound of the expected test error.

    Leaving out a row that is no support vector changes nothing, so it would be classified right.
    Hence at most the share of support vectors is wrong when each row in turn is left out, and that
    leave-one-out error estimates the error of a model trained on one row less, without bias. The
    bound holds for the solution of a hinge loss; of a solver that stopped early it is an estimate.

    Parameters
    ----------
    model : classifier
        Fitted. Without ``X`` and ``y`` it tells its own support vectors: it has ``support_``, and
        ``n_samples_fit_`` or ``shape_fit_``, as SDCASVC, KernelPegasosSVC and scikit-learn's SVC
        have.
    X, y : training rows and labels, optional
        For any model with ``decision_function``: support vectors are then the rows whose margin
        (of any class, one-vs-rest) is at most one.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from hyperlocal import SDCASVC
    >>> from hyperlocal.model.inspection import support_fraction_bound
    >>> X, y = make_blobs(200, centers=2, random_state=0)
    >>> model = SDCASVC(random_state=0).fit(X, y)
    >>> bool(1 - model.score(X, y) <= support_fraction_bound(model) < 0.3)
    True
    """
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither.")
    if X is not None:
        scores = model.decision_function(X)
        scores = scores[:, None] if scores.ndim == 1 else scores
        own = model.classes_[-scores.shape[1] :] == np.asarray(y)[:, None]
        # A solver leaves the margins of support vectors a little above one.
        return float((np.where(own, scores, -scores).min(axis=1) <= 1 + 1e-3).mean())
    n_rows = getattr(model, "n_samples_fit_", None) or getattr(model, "shape_fit_", (None,))[0]
    if n_rows is None or not hasattr(model, "support_"):
        raise TypeError(
            f"{type(model).__name__} does not tell its support vectors; give its training rows and "
            "labels as X and y."
        )
    return len(model.support_) / n_rows
