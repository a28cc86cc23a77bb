"""Predict with a model exported by hyperlocal: this one file and numpy are all it takes.

Copy it into your project, beside the file that ``hyperlocal.export.save_numpy`` wrote:

    model = load("model.npz")
    labels = predict(model, X)
    scores = decision_function(model, X)
"""

import json

import numpy as np

ROWS_PER_BLOCK = 1024


def load(path):
    """Read a model; nothing in the file is run."""
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def predict(model, X):
    """Class labels of dense rows."""
    scores = decision_function(model, X)
    chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return model["classes"][chosen]


def decision_function(model, X):
    """Scores of dense rows: one per row for two classes, else one per row and class."""
    facts = _with_arrays(json.loads(str(model["facts"])), model)
    X = np.asarray(X, dtype=facts["dtype"])
    blocks = [X[i : i + ROWS_PER_BLOCK] for i in range(0, max(1, len(X)), ROWS_PER_BLOCK)]
    scores = np.concatenate([_apply(facts["steps"], block) for block in blocks])
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _with_arrays(facts, model):
    """Facts in which the names of arrays are replaced by the arrays."""
    if isinstance(facts, list):
        return [_with_arrays(one, model) for one in facts]
    if not isinstance(facts, dict):
        return facts
    if "array" in facts:
        return model[facts["array"]]
    return {key: _with_arrays(one, model) for key, one in facts.items()}


def _apply(steps, x):
    """Rows after a chain of steps."""
    for step in steps:
        parts = {name: part for name, part in step.items() if name != "kind"}
        x = _STEPS[step["kind"]](x, **parts)
    return x


# ---- steps before a model, and its maps ------------------------------------------------------


def _scale(x, factor, shift):
    return x * factor + shift


def _matrix(x, matrix, shift):
    return x @ matrix + shift


def _norm(x, order):
    order = {"l1": 1, "l2": 2, "max": np.inf}[order]
    length = np.linalg.norm(x, ord=order, axis=1, keepdims=True)
    return x / np.where(length > 0, length, 1)


def _columns(x, columns):
    return x[:, columns]


def _nothing(x):
    return x[:, :0]


def _beside(x, branches):
    return np.hstack([_apply(steps, x) for steps in branches])


def _quadratic(x, factor, upper, lower):
    z = x * factor
    root = np.sqrt(x.dtype.type(2))
    sizes = np.where(upper == lower, 1, root).astype(x.dtype)
    return np.hstack([root * z, z[:, upper] * z[:, lower] * sizes])


def _additive(x, amplitudes, frequencies):
    root = np.sign(x) * np.sqrt(np.abs(x))
    phase = np.log(np.where(x == 0, 1, np.abs(x)))
    parts = [root * amplitudes[0]]
    for amplitude, frequency in zip(amplitudes[1:], frequencies[1:], strict=True):
        parts += [amplitude * root * wave(frequency * phase) for wave in (np.cos, np.sin)]
    return np.hstack(parts).astype(x.dtype)


def _gaussian(x, centers, gamma, matrix):
    return np.exp(-gamma * _squared_distances(x, centers)) @ matrix


def _squared_distances(x, points):
    origin = points.mean(axis=0)
    x, points = x - origin, points - origin
    squares = (x * x).sum(axis=1)[:, None] + (points * points).sum(axis=1)
    return np.maximum(squares - 2 * x @ points.T, 0)


# ---- gates: weights of all local models, (n_rows, n_models) ----------------------------------


def _always(x):
    return np.ones((len(x), 1), x.dtype)


def _gate(x, anchors, n_neighbors, coding, beta, ridge, locality):
    """Zero but for the nearest anchors."""
    distances = _squared_distances(x, anchors)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
    d = np.take_along_axis(distances, nearest, axis=1)
    if coding == "soft":
        weights = np.exp(-beta * (d - d[:, :1]))
    elif coding == "inverse_distance":
        d = np.maximum(d, np.finfo(d.dtype).tiny)
        weights = np.sqrt(d[:, :1] / d)
    else:
        penalty = np.full_like(d, ridge)
        if coding == "llc":
            penalty += locality * np.exp(2 * beta * (d - d[:, -1:]))
        weights = _reconstruction(x, anchors[nearest], penalty)
    gate = np.zeros_like(distances)
    np.put_along_axis(gate, nearest, weights / weights.sum(axis=1, keepdims=True), axis=1)
    return gate


def _levels(x, gates):
    """Each level's weights have unit length."""
    parts = [_apply([gate], x) for gate in gates]
    return np.hstack([part / np.linalg.norm(part, axis=1, keepdims=True) for part in parts])


def _reconstruction(x, near, penalty):
    """Local weights that rebuild the row from its anchors (LLE, LLC)."""
    away = near - x[:, None]
    gram = away @ away.transpose(0, 2, 1)
    mean = np.trace(gram, axis1=1, axis2=2) / penalty.shape[1]
    mean = np.where(mean > 0, mean, 1)
    gram += (penalty * mean[:, None])[:, :, None] * np.eye(penalty.shape[1])
    return np.linalg.solve(gram, np.ones((*penalty.shape, 1)))[:, :, 0].astype(x.dtype)


# ---- models: scores, (n_rows, n_columns) -----------------------------------------------------


def _local(
    x, map_steps, code_steps, gate, coef, intercept, global_intercept, bias, normalize
):  # fmt: skip
    """``Σ_j γ_j (w_jc · φ + b_jc) + b_c``."""
    phi = _apply(map_steps, x)
    gamma = _apply([gate], phi if code_steps is None else _apply(code_steps, x))
    if normalize:
        lengths = np.sqrt((gamma * gamma).sum(axis=1) * ((phi * phi).sum(axis=1) + bias * bias))
        scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        gamma = gamma * scale[:, None]
    n_models, n_columns, width = coef.shape
    scores = phi @ coef.reshape(n_models * n_columns, width).T
    scores = scores.reshape(len(phi), n_models, n_columns) + intercept
    return np.einsum("nm,nmc->nc", gamma, scores) + global_intercept


def _tree(x, routes, gates, weights, depth):
    """The nodes on the row's path through each tree have the weights ``tanh(θ'·x)``."""
    x = np.hstack([x, np.ones((len(x), 1), x.dtype)])
    columns = []
    for route, gate, models in zip(routes, gates, weights, strict=True):
        node, score = np.zeros(len(x), int), 0
        for level in range(depth + 1):
            weight = np.tanh((x * gate[node]).sum(axis=1))
            score = score + weight[:, None] * np.einsum("nd,ncd->nc", x, models[node])
            if level < depth:
                node = 2 * node + np.where((x * route[node]).sum(axis=1) > 0, 1, 2)
        columns.append(score)
    return np.hstack(columns)


def _latent(x, weights, exponent):
    """``‖[W_c x]_+‖_q`` of each class; two classes: the difference."""
    products = np.einsum("nd,mcd->ncm", x, weights[..., :-1]) + weights[..., -1].T
    positive = np.maximum(products, 0)
    largest = np.maximum(positive.max(axis=2, keepdims=True), np.finfo(x.dtype).tiny)
    powers = ((positive / largest) ** exponent).sum(axis=2)
    scores = largest[..., 0] * powers ** (1 / exponent)
    return scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores


_STEPS: dict = {
    "scale": _scale, "matrix": _matrix, "norm": _norm, "columns": _columns, "nothing": _nothing,
    "beside": _beside, "quadratic": _quadratic, "additive": _additive, "gaussian": _gaussian,
    "always": _always, "gate": _gate, "levels": _levels, "local": _local, "tree": _tree,
    "latent": _latent,
}  # fmt: skip
