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
    facts = json.loads(str(model["facts"]))
    X = np.asarray(X, dtype=model["weights"].dtype)
    kinds = {"local": _local, "tree": _tree, "latent": _latent}
    blocks = [X[i : i + ROWS_PER_BLOCK] for i in range(0, max(1, len(X)), ROWS_PER_BLOCK)]
    rows = [_apply("input", block, facts, model) for block in blocks]
    scores = np.concatenate([kinds[facts["kind"]](x, facts, model) for x in rows])
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _apply(name, x, facts, model):
    """Rows after a chain of steps: those before the model, its feature map, or its code space."""
    for number, step in enumerate(facts[name]):
        own = f"{name}.{number}."
        x = _STEPS[step](x, **{key[len(own) :]: model[key] for key in model if key.startswith(own)})
    return x


def _scale(x, factor, shift):
    return x * factor + shift


def _matrix(x, matrix, shift):
    return x @ matrix + shift


def _norm(x, order):
    order = {"l1": 1, "l2": 2, "max": np.inf}[str(order)]
    length = np.linalg.norm(x, ord=order, axis=1, keepdims=True)
    return x / np.where(length > 0, length, 1)


def _columns(x, columns):
    return x[:, columns]


def _nothing(x):
    return x[:, :0]


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


def _gaussian(x, centres, gamma, matrix):
    return np.exp(-gamma * _squared_distances(x, centres)) @ matrix


_STEPS: dict = {
    "scale": _scale, "matrix": _matrix, "norm": _norm, "columns": _columns, "nothing": _nothing,
    "quadratic": _quadratic, "additive": _additive, "gaussian": _gaussian,
}  # fmt: skip


def _squared_distances(x, points):
    origin = points.mean(axis=0)
    x, points = x - origin, points - origin
    squares = (x * x).sum(axis=1)[:, None] + (points * points).sum(axis=1)
    return np.maximum(squares - 2 * x @ points.T, 0)


def _local(x, facts, model):
    phi = _apply("map", x, facts, model)
    coded = phi if facts["code_on_map"] else _apply("code", x, facts, model)
    seen = phi
    for number, stage in enumerate(facts["stages"]):
        gate = _gate(coded, stage["gate"], model[f"stage.{number}.anchors"])
        scores = _mixed(seen, gate, model[f"stage.{number}.weights"], facts)
        seen = np.hstack([phi, scores * x.dtype.type(stage["scale"])])
    gate, bias = _gate(coded, facts["gate"], model["anchors"]), facts["bias"]
    if facts["normalize"]:
        lengths = np.sqrt((gate * gate).sum(axis=1) * ((phi * phi).sum(axis=1) + bias * bias))
        gate = gate * np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)[:, None]
    return _mixed(seen, gate, model["weights"], facts)


def _mixed(phi, gate, weights, facts):
    """``Σ_j γ_j (w_jc · φ + B b_jc)``; a bias that all share is added once."""
    n_models, n_columns, width = weights.shape
    scores = phi @ weights[..., :-1].reshape(n_models * n_columns, width - 1).T
    scores = scores.reshape(len(phi), n_models, n_columns)
    if facts["shared_bias"]:
        return np.einsum("nm,nmc->nc", gate, scores) + facts["bias"] * weights[0, :, -1]
    return np.einsum("nm,nmc->nc", gate, scores + facts["bias"] * weights[..., -1])


def _gate(x, facts, anchors):
    """Weights of all local models, ``(n_rows, n_models)``; zero but for the nearest few."""
    k, coding = facts["n_neighbors"], facts["coding"]
    if coding == "always":
        return np.ones((len(x), len(anchors)), x.dtype)
    distances = _squared_distances(x, anchors)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
    d = np.take_along_axis(distances, nearest, axis=1)
    if coding == "soft":
        weights = np.exp(-facts["beta"] * (d - d[:, :1]))
    elif coding == "inverse_distance":
        d = np.maximum(d, np.finfo(d.dtype).tiny)
        weights = np.sqrt(d[:, :1] / d)
    else:
        weights = _reconstruction(x, d, anchors[nearest], facts)
    gate = np.zeros_like(distances)
    np.put_along_axis(gate, nearest, weights / weights.sum(axis=1, keepdims=True), axis=1)
    return gate


def _reconstruction(x, d, near, facts):
    """Local weights that rebuild the row from its anchors (LLE, LLC)."""
    away = near - x[:, None]
    gram = away @ away.transpose(0, 2, 1)
    mean = np.trace(gram, axis1=1, axis2=2) / d.shape[1]
    mean = np.where(mean > 0, mean, 1)
    penalty = np.full_like(d, facts["ridge"])
    if facts["coding"] == "llc":
        penalty += facts["locality"] * np.exp(2 * facts["beta"] * (d - d[:, -1:]))
    gram += (penalty * mean[:, None])[:, :, None] * np.eye(d.shape[1])
    return np.linalg.solve(gram, np.ones((*d.shape, 1)))[:, :, 0].astype(x.dtype)


def _tree(x, facts, model):
    """Each tree's nodes on the row's path speak with ``tanh(θ'·x)``."""
    x = np.hstack([x, np.ones((len(x), 1), x.dtype)])
    columns = []
    for routes, gates, weights in zip(
        model["routes"], model["gates"], model["weights"], strict=True
    ):
        node, score = np.zeros(len(x), int), 0
        for level in range(facts["depth"] + 1):
            volume = np.tanh((x * gates[node]).sum(axis=1))
            score = score + volume[:, None] * np.einsum("nd,ncd->nc", x, weights[node])
            if level < facts["depth"]:
                node = 2 * node + np.where((x * routes[node]).sum(axis=1) > 0, 1, 2)
        columns.append(score)
    return np.hstack(columns)


def _latent(x, facts, model):
    """``‖[W_c x]_+‖_q`` of each class; two classes: the difference."""
    weights = model["weights"]
    products = np.einsum("nd,mcd->ncm", x, weights[..., :-1]) + weights[..., -1].T
    positive = np.maximum(products, 0)
    largest = np.maximum(positive.max(axis=2, keepdims=True), np.finfo(x.dtype).tiny)
    powers = ((positive / largest) ** facts["exponent"]).sum(axis=2)
    scores = largest[..., 0] * powers ** (1 / facts["exponent"])
    return scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores
