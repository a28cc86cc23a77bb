"""Predict with a model exported by hyperlocal: this one file and numpy are all it takes.

Copy it into your project, beside the file that ``hyperlocal.export.save_numpy`` wrote:

    model = load("model.npz")
    labels = predict(model, X)
    scores = decision_function(model, X)
    contributions, references, remainders = explain(model, X)  # exported with contributions=True
"""

import json

import numpy as np

ROWS_PER_BLOCK = 1024


def load(path):
    """Read a model; nothing in the file is run."""
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def predict(model, X):
    """Class labels of dense rows, or the values that a regressor predicts."""
    scores = decision_function(model, X)
    if "classes" not in model:
        return scores
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


def _clip(x):
    return np.clip(x, 0, 1)


def _matrix(x, matrix, shift):
    return x @ matrix + shift


def _norm(x, order):
    order = {"l1": 1, "l2": 2, "max": np.inf}[order]
    length = np.linalg.norm(x, ord=order, axis=1, keepdims=True)
    return x / np.where(length > 0, length, 1)


def _sorted(x, n_columns):
    return np.sort(x.reshape(len(x), -1, n_columns), axis=2).reshape(x.shape)


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
    "latent": _latent, "sorted": _sorted, "clip": _clip,
}  # fmt: skip


# ---- explanations ----------------------------------------------------------------------------


def explain(model, X):
    """What each feature adds to the scores of dense rows, relative to the references kept.

    Returns contributions ``(n_rows, n_columns, n_features)``, the mean scores of the references
    ``(n_columns,)``, and remainders ``(n_rows, n_columns)``: all three add up to the scores.
    """
    facts = _with_arrays(json.loads(str(model["facts"])), model)
    if "paths" not in facts:
        raise ValueError("the model was exported without contributions; give contributions=True.")
    paths, X = facts["paths"], np.asarray(X, np.float64)
    scores = decision_function(model, X).reshape(len(X), -1).astype(np.float64)
    pieces = paths["pieces"]
    passed = X[:, pieces["columns"]] * pieces["factors"] + pieces["shifts"]
    X = np.hstack([X, np.clip(passed, 0, 1)])
    parts = np.zeros((*scores.shape, X.shape[1]))
    for share, start in zip(paths["shares"], paths["references"], strict=True):
        weights = sum(_line_weights(level, start, X, paths) for level in paths["levels"])
        parts += share * weights * (X - start)[:, None]
    found = parts[..., : paths["n_features"]].copy()
    for piece, feature in enumerate(pieces["columns"], paths["n_features"]):
        found[..., feature] += parts[..., piece]
    return found, paths["reference_scores"], scores - paths["reference_scores"] - found.sum(axis=2)


def _line_weights(level, start, X, paths):
    """Gradients of one level's scores, averaged on the way from a reference to rows."""
    line = _Line(level, start, X, paths)
    averages, total, stays = line.averages(paths["coarse"])
    before, after = line.scores_at(0.0), line.scores_at(1.0)
    error = np.abs(after - before - total)
    rough = stays & (error > paths["tolerance"] * (np.abs(before) + np.abs(after))).any(axis=1)
    if rough.any():
        finer, _, _ = _Line(level, start, X[rough], paths).averages(paths["fine"])
        averages[rough] = finer
    return averages


class _Line:
    """The way from one reference to rows: logits are linear in t, scores of second degree."""

    def __init__(self, level, start, X, paths):
        self.level, self.paths = level, paths
        self.logits = start @ level["logits"] + level["logit_shift"]
        self.logit_change = (X - start) @ level["logits"]
        self.start = start @ paths["inner"] + paths["inner_shift"]
        self.change = (X - start) @ paths["inner"]
        self.first = _slopes(level, self.start[None])
        self.bend = _slopes(level, self.change) - level["slopes"]
        self.start_scores = 0.5 * (self.first[0] + level["slopes"]) @ self.start
        self.start_scores = self.start_scores + level["intercept"]
        self.linear = np.einsum("jcv,nv->njc", self.first[0], self.change)
        self.curved = 0.5 * np.einsum("njcv,nv->njc", self.bend, self.change)

    def gate(self, t):
        """Weights of the local models, and which of them are active."""
        logits = self.logits + t * self.logit_change
        least = np.sort(logits, axis=1)[:, -self.level["n_active"], None]
        active = logits >= least
        weights = np.where(active, np.exp(logits - logits.max(axis=1, keepdims=True)), 0)
        if not self.level["factor"]:
            return weights / weights.sum(axis=1, keepdims=True), active
        return self.level["factor"] * weights / np.linalg.norm(weights, axis=1)[:, None], active

    def lengths(self, t):
        """``1/‖[φ, B]‖``, ``u``, and half the slope of ``‖φ‖²`` with respect to it."""
        u = self.start + t * self.change
        if not self.paths["lengths"]:
            return np.ones(len(u)), u, np.zeros_like(u)
        alpha, beta, n_paired, bias = self.paths["lengths"]
        paired = (u[:, : int(n_paired)] ** 2).sum(axis=1)
        square = alpha * (u * u).sum(axis=1) + beta * paired**2 + bias**2
        half = alpha * u
        half[:, : int(n_paired)] += 2 * beta * paired[:, None] * u[:, : int(n_paired)]
        inverse = np.divide(1, square, out=np.zeros_like(square), where=square > 0)
        return np.sqrt(inverse), u, half * inverse[:, None]

    def models(self, t):
        """Scores of the local models."""
        return self.start_scores + t * (self.linear + t * self.curved)

    def scores_at(self, t):
        """Scores of the level, ``(n_rows, n_columns)``."""
        scale = self.lengths(t)[0][:, None]
        return scale * np.einsum("nj,njc->nc", self.gate(t)[0], self.models(t))

    def averages(self, rule):
        """Weights of features, their sums over the differences, and where no anchor changed."""
        weights, total, stays, first = 0, 0, True, None
        for t, share in rule.T:
            gate, active = self.gate(t)
            first = active if first is None else first
            stays = stays & (active == first).all(axis=1)
            scale, _, shrink = self.lengths(t)
            models = self.models(t)
            mean = np.einsum("nj,njc->nc", gate, models)
            squared = self.level["factor"] ** 2
            own = gate / squared if squared else np.ones_like(gate)
            on_logits = gate[:, :, None] * (models - own[:, :, None] * mean[:, None])
            on_inner = np.einsum("nj,njcv->ncv", gate, self.first + t * self.bend)
            on_inner = on_inner - mean[:, :, None] * shrink[:, None]
            step = on_inner @ self.paths["inner"].T
            step = step + np.einsum("njc,dj->ncd", on_logits, self.level["logits"])
            along = np.einsum("ncv,nv->nc", on_inner, self.change)
            along = along + np.einsum("njc,nj->nc", on_logits, self.logit_change)
            weights = weights + (share * scale)[:, None, None] * step
            total = total + (share * scale)[:, None] * along
        return weights, total, stays


def _slopes(level, u):
    """Gradients of the local models' scores with respect to ``u``, ``(n, m, n_columns, e)``."""
    n_paired = level["curvature"].shape[2]
    slopes = np.repeat(level["slopes"][None], len(u), axis=0)
    bent = np.einsum("jcvw,nv->njcw", level["curvature"], u[:, :n_paired])
    slopes[..., :n_paired] += bent
    return slopes
