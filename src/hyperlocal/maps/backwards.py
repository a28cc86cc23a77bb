"""Through transformers backwards: weights on what they return as weights on what they take.

For rows ``x`` and a reference ``x₀``, a transformer ``T`` and weights ``w`` there are weights ``v``
with ``w · (T(x) − T(x₀)) = v · (x − x₀)``, exactly. Linear transformers: ``v = Tᵀw``. Functions of
single features: their slope between the two points. Kernel values: path averages. Lengths of rows:
by the rules of products and quotients.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import OneToOneFeatureMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.pipeline import Pipeline

from ..kernel_paths import path_averages
from ..kernels import Kernel
from .plain import NotPlain, Step, plain_steps

# Selections of wider rows are not undone: words, say, are features either way.
WIDEST_SELECTION = 2_048


def can_go_back(transformer: Any) -> bool:
    """Whether :func:`weights_before` knows a fitted transformer.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from hyperlocal.maps.backwards import can_go_back
    >>> can_go_back(PCA(1).fit(np.eye(3))), can_go_back(OneHotEncoder().fit(np.eye(3)))
    (True, False)
    """
    if isinstance(transformer, Pipeline):
        return all(can_go_back(step) for _, step in transformer.steps)
    steps = known_steps(transformer)
    return len(steps) <= 1 if steps is not None else _is_by_feature(transformer)


def weights_before(
    transformer: Any, weights: np.ndarray, X: Any, reference: np.ndarray
) -> np.ndarray:
    """Weights on differences of a transformer's output as weights on differences of its input.

    Parameters
    ----------
    transformer : fitted transformer or pipeline of these
    weights : ndarray of shape (n_rows, n_columns, n_features_out)
    X : ndarray or CSR of shape (n_rows, n_features)
        The transformer's input.
    reference : ndarray of shape (1, n_features)

    Returns
    -------
    ndarray of shape (n_rows, n_columns, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from hyperlocal.maps.backwards import weights_before
    >>> X = np.array([[2.0], [-4.0]])
    >>> weights_before(MaxAbsScaler().fit(X), np.ones((2, 1, 1)), X, X[:1])[:, 0, 0]
    array([0.25, 0.25])
    """
    if isinstance(transformer, Pipeline):
        first, rest = transformer.steps[0][1], transformer[1:]
        if len(transformer.steps) > 1:
            weights = weights_before(
                rest, weights, transform(first, X), transform(first, reference)
            )
        return weights_before(first, weights, X, reference)
    steps = known_steps(transformer)
    X, reference = _dense(X), _dense(reference)
    if steps is None:
        after = _dense(transform(transformer, X)) - _dense(transform(transformer, reference))
        return _secants(weights * after[:, None], X, reference)
    for step in steps:
        weights = step_weights(step, weights, X, reference)
    return weights


def step_weights(
    step: Step, weights: np.ndarray, X: np.ndarray, reference: np.ndarray
) -> np.ndarray:
    """The same through one plain step."""
    parts = step.parts
    if step.kind == "scale":
        return weights * parts["factor"]
    if step.kind == "matrix":
        return weights @ parts["matrix"].T
    if step.kind in ("gaussian", "kernel"):
        kernel = parts.get("kernel") or Kernel("rbf", parts["gamma"])
        on_centers = weights @ parts["matrix"].T
        return kernel_weights(kernel, X, reference, parts["centers"], on_centers)
    if step.kind == "additive":
        return _additive_weights(parts, weights, X, reference)
    return _unit_length_weights(weights, X, reference)


def kernel_weights(
    kernel: Kernel, X: np.ndarray, reference: np.ndarray, Z: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Weights on kernel values, ``(n_rows, n_columns, n_others)``, as weights on the features."""
    one = np.ones((len(Z), 1))
    columns = [
        path_averages(kernel, X, reference[0], Z, one, weights[:, c])[:, 0]
        for c in range(weights.shape[1])
    ]
    return np.stack(columns, axis=1)


def known_steps(transformer: Any) -> list[Step] | None:
    """The formulas of a transformer; None where one of them is not known here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import Nystroem
    >>> from hyperlocal.maps.backwards import known_steps
    >>> [step.kind for step in known_steps(Nystroem("poly", n_components=2).fit(np.eye(2)))]
    ['kernel']
    """
    if type(transformer) is Nystroem and transformer.kernel != "rbf":
        return _of_kernel(transformer)
    if isinstance(transformer, SelectorMixin) and transformer.n_features_in_ <= WIDEST_SELECTION:
        chosen = np.eye(transformer.n_features_in_)[:, transformer.get_support()]
        return [Step("matrix", {"matrix": chosen, "shift": np.zeros(chosen.shape[1])})]
    try:
        steps = plain_steps(transformer)
    except NotPlain:
        return None
    known = ("scale", "matrix", "gaussian", "additive")
    ok = all(step.kind in known or step.parts.get("order") == "l2" for step in steps)
    return steps if ok else None


def _of_kernel(nystroem: Nystroem) -> list[Step] | None:
    """Those that are no step of an export, of kernels other than the Gaussian."""
    name, given = nystroem.kernel, nystroem.kernel_params or {}
    own = {key: getattr(nystroem, key) for key in ("gamma", "degree", "coef0")}
    own = {key: value for key, value in own.items() if value is not None}
    centers, matrix = _dense(nystroem.components_), nystroem.normalization_.T
    if name in ("linear", "poly", "polynomial", "sigmoid", "chi2"):
        defaults = {"gamma": 1.0 if name == "chi2" else 1 / centers.shape[1], "coef0": 1.0}
        form = "poly" if name == "polynomial" else name
        kernel = Kernel(form, **{**defaults, "degree": 3, **own})
        if kernel.degree != int(kernel.degree):
            return None
    elif name == "precomputed":
        return None
    else:  # by quadrature

        def values(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
            is_named = isinstance(name, str)
            return pairwise_kernels(
                X, Z, metric=name, filter_params=is_named, **(own if is_named else given)
            )

        kernel = Kernel(values)
    return [Step("kernel", {"kernel": kernel, "centers": centers, "matrix": matrix})]


def _is_by_feature(transformer: Any) -> bool:
    """Whether a transformer has one output per input, which depends on that input alone."""
    return isinstance(transformer, OneToOneFeatureMixin) and not hasattr(transformer, "norm")


def _additive_weights(
    parts: dict[str, Any], weights: np.ndarray, X: np.ndarray, reference: np.ndarray
) -> np.ndarray:
    """Each feature has several mapped ones."""

    def components(x: np.ndarray) -> list[np.ndarray]:
        root, phase = np.sign(x) * np.sqrt(np.abs(x)), np.log(np.where(x == 0, 1, np.abs(x)))
        first, *others = zip(parts["amplitudes"], parts["frequencies"], strict=True)
        waves = [a * root * wave(f * phase) for a, f in others for wave in (np.cos, np.sin)]
        return [first[0] * root, *waves]

    groups = np.split(weights, weights.shape[2] // X.shape[1], axis=2)
    pairs = zip(groups, components(X), components(reference), strict=True)
    return _secants(sum(one * (at - start)[:, None] for one, at, start in pairs), X, reference)


def _secants(contributions: Any, X: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Contributions of single features over their differences; zero where these are."""
    change = np.broadcast_to((X - reference)[:, None], contributions.shape)
    return np.divide(contributions, change, out=np.zeros(change.shape), where=change != 0)


def _unit_length_weights(weights: np.ndarray, X: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Through ``x / ‖x‖``.

    ``x/r − x₀/r₀ = ½(1/r + 1/r₀)(x − x₀) + ½(x + x₀)(1/r − 1/r₀)``, and
    ``1/r − 1/r₀ = −(x + x₀)·(x − x₀) / (r r₀ (r + r₀))``.
    """
    r, r0 = (np.linalg.norm(rows, axis=1) for rows in (X, reference))
    both, has_both = X + reference, (r > 0) & (r0 > 0)
    # Rows of zeros stay zeros, whatever their length is taken for.
    r, r0 = np.where(r > 0, r, r0), np.where(r0 > 0, r0, r)
    r, r0 = np.where(r > 0, r, 1), np.where(r0 > 0, r0, 1)
    along = 0.5 * np.einsum("ncd,nd->nc", weights, both) / (r * r0 * (r + r0))[:, None]
    along *= has_both[:, None]
    return weights * (0.5 * (1 / r + 1 / r0))[:, None, None] - along[..., None] * both[:, None]


def transform(transformer: Any, X: Any) -> Any:
    """Transformed rows; rows of a transformer that saw a table may come without names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from hyperlocal.maps.backwards import transform
    >>> transform(MaxAbsScaler().fit(np.array([[2.0], [-4.0]])), np.array([[1.0]]))
    array([[0.25]])
    """
    if transformer is None or isinstance(transformer, str):
        return X
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return transformer.transform(X)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
