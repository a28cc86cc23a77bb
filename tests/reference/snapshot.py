"""Results of every kernel on fixed data: ``python -m reference.snapshot FILE`` saves them.

The tests run it once per build of the core and compare the files.
"""

import sys
from dataclasses import replace

import numpy as np

from hyperlocal import _core
from hyperlocal.data.rows import core_rows
from hyperlocal.gates.codes import CODINGS, encode
from hyperlocal.gates.gate import Gate
from hyperlocal.kernels import Kernel
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.neighbors.exact import ExactSearch
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import anchor_descent, anchor_sgd, dual, latent, pegasos, sgd
from hyperlocal.solvers import trees as local_deep
from hyperlocal.solvers.small_svms import NeighborhoodSolver, SvmOptions

from .problems import DTYPES, STORAGES, make_lifted, make_problem, make_rows


def snapshot():
    """Arrays by name."""
    results = {"instruction_set": np.array(_core.INSTRUCTION_SET)}
    for dtype in DTYPES:
        for storage in STORAGES:
            for quadratic in (False, True):
                kind = f"{dtype} {storage} {'quadratic' if quadratic else 'plain'}"
                for name, array in _kernels(dtype, storage, quadratic).items():
                    results[f"{kind}: {name}"] = array
    return results


def _kernels(dtype, storage, quadratic):
    X = make_rows(dtype, storage, n_rows=60, n_features=9)
    rows = core_rows(X, quadratic=quadratic)
    phi = np.empty((60, rows.width), dtype)
    rows.gather(np.arange(60), phi)
    sums, masses = np.zeros((3, rows.width)), np.zeros(3)
    rows.group_sums(np.arange(60, dtype=np.int32) % 3, np.ones(60), sums, masses)
    lifted = make_lifted(X, quadratic=quadratic, normalize=True, n_neighbors=5)
    weights = np.random.default_rng(0).standard_normal((6, 3, rows.width + 1)).astype(dtype)
    found = {"phi": phi, "group sums": sums, "scores": lifted.scores(weights)}
    lifted.add(found["scores"], weights)
    found |= {"added": weights, "norms": lifted.squared_norms()}
    for coding in CODINGS:
        codes = encode(X, np.eye(7, 9, dtype=dtype), 4, coding, Workers(1))
        found |= {f"{coding} weights": codes.weights, "distances": codes.distances}
    if not quadratic:
        found |= _pegasos(X) | _learned_gates(X)
    return found | _solutions(lifted) | _learned_anchors(X, rows, lifted) | _local_svms(X)


def _local_svms(X):
    options = SvmOptions(Kernel("rbf"), has_local_gamma=True, tol=1e-8, max_iter=10**6)
    target, workers = np.arange(60, dtype=np.int32) % 3, Workers(1)
    solver = NeighborhoodSolver(X, target, np.ones(60), 3, options)
    near = ExactSearch(X).query(X, 12, workers)
    models, _ = solver.train(X, near, workers)
    centers = np.arange(60, dtype=np.int32)[::-1]
    return {
        "neighbor distances": near.distances,
        "dual of local SVMs": solver.scores(X, near, workers)[0],
        "dual of cached SVMs": solver.center_scores(models, X, centers, workers),
    }


def _pegasos(X):
    target = (np.arange(X.shape[0]) % 3).astype(np.int32)
    problem = pegasos.PegasosProblem(
        X=X, costs=np.ones(X.shape[0], X.dtype), lambda_=0.1, bias=1.0, n_columns=3, target=target,
        coupling="multinomial", loss="log", workers=Workers(1),
    )  # fmt: skip
    state = pegasos.PegasosState.start(problem, average=True)
    pegasos.run_epoch(problem, state, np.arange(X.shape[0]), batch_size=4, project=True)
    return {"pegasos": state.weights}


def _learned_gates(X):
    target, costs = np.arange(60, dtype=np.int32) % 3, np.ones(60, X.dtype)
    options = {"alpha": 1e-3, "n_epochs": 2}
    trees = local_deep.solve(
        local_deep.TreeProblem(X, target, costs, 3), depth=2, rng=np.random.default_rng(0),
        workers=Workers(1), **options,
    )  # fmt: skip
    models = latent.solve(
        latent.LatentProblem(X, target, costs, 3, 3.0), n_models=5, rng=np.random.default_rng(0),
        **options,
    )  # fmt: skip
    return {"trees": trees.nodes, "latent": models.weights}


def _solutions(lifted):
    found = {}
    for loss, joint in [("hinge", 0), ("squared_hinge", 0), ("log", 0), ("squared_hinge", 1)]:
        problem = make_problem(lifted, loss=loss, crammer_singer=bool(joint))
        # A generator each: rounding may cost the dual an epoch, and with it draws.
        rng = np.random.default_rng(0)
        found[f"dual {loss} {joint}"] = dual.solve(problem, tol=1e-4, max_iter=500, rng=rng).weights
        rng = np.random.default_rng(0)
        found[f"sgd {loss} {joint}"] = sgd.solve(problem, tol=0, max_iter=3, rng=rng).weights
    return found


def _learned_anchors(X, rows, lifted):
    gate, first = Gate(np.eye(6, 9, dtype=X.dtype), 4, "soft", 0.5), make_problem(lifted)

    def problem_of(gate):
        codes = gate.encode(X, Workers(1))
        return replace(first, lifted=LiftedRows(rows, codes, 6, 1.0, True, Workers(1)))

    def pass_over(gate):
        return anchor_descent.FullPass(problem_of(gate), gate.encode(X, Workers(1), 2).reserves)

    rng = np.random.default_rng(0)
    by_dual = anchor_descent.learn_by_dual(X, gate, pass_over, step=0.05, n_epochs=1, rng=rng)
    weights = np.random.default_rng(1).standard_normal((6, 3, rows.width + 1)).astype(X.dtype)
    state = sgd.SgdState(weights, weights, 0, 0.5, 200.0)
    options = {"state": state, "skip": 4, "penalize_intercept": True, "rng": rng}
    by_sgd = anchor_sgd.learn_by_sgd(X, gate, problem_of, n_epochs=2, **options)
    return {"anchors by dual": by_dual.gate.anchors, "anchors by sgd": by_sgd.gate.anchors}


if __name__ == "__main__":
    np.savez(sys.argv[1], **snapshot())
