"""Training on a Dask cluster: rounds, bytes, and time against one thread on one machine.

rounds   How many rounds until the duality gap is 1 % and 0.1 %, with eight partitions, from rows in
         their order and sorted by class?
fit      Two workers of one thread each against one thread: objective and time.
cost     A model of the cost of a round, its parameters from runs on 1, 2 and 4 partitions, and what
         it says of 10, 100 and 1000 workers.

The large set is made here: rows about forty centres in twenty dimensions, labels by sums of waves
with 2 % of them wrong; `--spread` adds rows about one centre, where neighbourhoods have no borders.
"""

from __future__ import annotations

import time
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from hyperlocal import LocallyLinearSVC
from hyperlocal.dask import KEEP_MEMORY, DaskLocallyLinearSVC
from hyperlocal.data.checks import check_labelled_rows
from hyperlocal.datasets import load_dataset
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import dual

from .common import Row, argument_parser, environment, print_table, rounded, write_result
from .scaling import make_rows

N_COMPONENTS = 50
N_CENTRES, N_DIMENSIONS = 40, 20
LABEL_NOISE = 0.02
N_PARTITIONS = 8


# ---- data ----------------------------------------------------------------------------------------


def real_rows(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training rows, standardised, or MNIST's principal components in units of their spread."""
    data = load_dataset(name)
    if name != "mnist":
        return StandardScaler().fit_transform(data.X_train).astype(np.float32), data.y_train
    X = PCA(N_COMPONENTS, random_state=seed).fit_transform(data.X_train.astype(np.float32))
    return (X / X.std()).astype(np.float32), data.y_train


def clustered_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows about centres; the class is the sign of a sum of waves, with some labels wrong."""
    rng = np.random.default_rng(seed)
    centres = 2 * rng.standard_normal((N_CENTRES, N_DIMENSIONS)).astype(np.float32)
    X = centres[rng.integers(N_CENTRES, size=n_rows)]
    X += rng.standard_normal(X.shape, np.float32)
    scores = np.zeros(n_rows, np.float32)
    for _ in range(3):
        direction = rng.standard_normal(N_DIMENSIONS).astype(np.float32)
        scores += np.cos(X @ direction + rng.uniform(0, 2 * np.pi))
    wrong = rng.random(n_rows) < LABEL_NOISE
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.ascontiguousarray(X), ((scores > 0) ^ wrong).astype(np.int64)


def lazily(X: np.ndarray, y: np.ndarray, n_parts: int) -> tuple[Any, Any]:
    """Rows on the workers already, in equal parts."""
    size = -(-len(y) // n_parts)
    lazy = da.from_array(X, chunks=(size, X.shape[1])), da.from_array(y, chunks=size)
    kept = tuple(values.persist() for values in lazy)
    for values in kept:
        values.sum().compute()
    return kept


# ---- questions -----------------------------------------------------------------------------------


def count_rounds(client: Client, seed: int, quick: bool) -> list[Row]:
    """Rounds to 1 % and 0.1 %."""
    rows = []
    for name in ("ijcnn1",) if quick else ("ijcnn1", "mnist"):
        X, y = real_rows(name, seed)
        for order in ("given", "sorted by class"):
            if order != "given":
                place = np.argsort(y, kind="stable")
                X, y = np.ascontiguousarray(X[place]), y[place]
            row: Row = {"set": name, "rows": len(y), "order": order, "partitions": N_PARTITIONS}
            for tol in (1e-2, 1e-3):
                model = DaskLocallyLinearSVC(
                    client, n_partitions=N_PARTITIONS, tol=tol, random_state=seed
                ).fit(*lazily(X, y, N_PARTITIONS))
                row[f"rounds to {tol:.1%}"] = model.n_iter_
            row["KB sent a round"] = model.bytes_per_round_["sent"] / 1e3
            row["KB received a round"] = model.bytes_per_round_["received"] / 1e3
            rows.append(row)
    return rows


def against_one_thread(client: Client, seed: int, quick: bool, spread: bool) -> list[Row]:
    """Objective and time of two workers against one thread."""
    n_rows = 100_000 if quick else 2_000_000
    makers = {"clustered": lambda: clustered_rows(n_rows, seed)}
    if not quick:
        makers["mnist"] = lambda: real_rows("mnist", seed)
    if spread:
        makers["spread"] = lambda: make_rows(n_rows, 2, seed)
    rows = []
    for name, make in makers.items():
        X, y = make()
        lazy = lazily(X, y, 8)
        begin = time.perf_counter()
        model = DaskLocallyLinearSVC(client, random_state=seed).fit(*lazy)
        cluster_seconds = time.perf_counter() - begin
        del lazy
        begin = time.perf_counter()
        local = LocallyLinearSVC(random_state=seed, n_jobs=1).fit(X, y)
        local_seconds = time.perf_counter() - begin
        optimum = objective_of_gate(model, X, y, seed)
        rows.append({
            "set": name, "rows": len(y), "features": X.shape[1], "classes": len(model.classes_),
            "partitions": model.n_partitions_, "rounds": model.n_iter_,
            "local epochs": local.n_iter_,
            "cluster s": cluster_seconds, "one thread s": local_seconds,
            "times faster": local_seconds / cluster_seconds,
            "objective above local": model.objective_ / optimum - 1,
            "MB sent a round": model.bytes_per_round_["sent"] / 1e6,
            "MB received a round": model.bytes_per_round_["received"] / 1e6,
        })  # fmt: skip
    return rows


def objective_of_gate(model: Any, X: np.ndarray, y: np.ndarray, seed: int) -> float:
    """What one process reaches with the same anchors and feature map, at the same tolerance."""
    local = model.to_local()
    data = check_labelled_rows(local, X, y)
    with Workers(2) as workers:
        problem = local.model_.problem(data, local.C, local.loss, workers=workers)
        rng = np.random.default_rng(seed)
        return dual.solve(problem, tol=model.tol, max_iter=1000, rng=rng).objective


def cost_of_rounds(client: Client, seed: int, quick: bool) -> list[Row]:
    """Seconds of a fit on 1, 2 and 4 partitions, and what a model of them says of more.

    A fit takes ``start + rounds · (rows/P · epochs · a + P · b + bytes/bandwidth)``: `a` seconds a
    row and epoch, `b` seconds of the driver's work for each partition. Both come from the runs on 1
    and 4 partitions; the run on 2 checks them. Bytes a round are those of the weights,
    ``m · c · (p + 1) · 4``, sent once (workers pass them on) and received from each partition for
    the anchors it knows; bandwidth is assumed to be 1 GB/s, rounds to grow as between the runs on 2
    and on 8 partitions, and not beyond the square root of P.
    """
    n_rows = 100_000 if quick else 1_000_000
    X, y = clustered_rows(n_rows, seed)
    lazy = lazily(X, y, 4)
    rows: list[Row] = []
    for n_partitions in (1, 2, 4):
        stamps: list[float] = []
        model = _Stamped(stamps, client, n_partitions, seed).fit(*lazy)
        per_round = float(np.median(np.diff(stamps)))
        rows.append({
            "workers": min(2, n_partitions), "partitions": n_partitions, "rows": n_rows,
            "rounds": model.n_iter_, "s a round": per_round,
            "MB sent a round": model.bytes_per_round_["sent"] / 1e6,
            "MB received a round": model.bytes_per_round_["received"] / 1e6,
            "from": "measured",
        })  # fmt: skip
    return rows + modelled(rows, n_rows)


class _Stamped:
    """A fit that notes when each round ended."""

    def __init__(self, stamps: list[float], client: Client, n_partitions: int, seed: int):
        self.stamps = stamps
        self.model = DaskLocallyLinearSVC(
            client, n_partitions=n_partitions, epochs_per_round=1, random_state=seed
        )

    def fit(self, X: Any, y: Any) -> DaskLocallyLinearSVC:
        """Fit, with every round's end in ``stamps``."""
        from hyperlocal.solvers import team

        decide = team.Coordinator.decide

        def decide_and_note(coordinator: Any) -> None:
            decide(coordinator)
            self.stamps.append(time.perf_counter())

        team.Coordinator.decide = decide_and_note  # type: ignore[method-assign]
        try:
            return self.model.fit(X, y)
        finally:
            team.Coordinator.decide = decide  # type: ignore[method-assign]


def modelled(measured: list[Row], n_rows: int) -> list[Row]:
    """Rounds of the model beside the measured ones, and beyond them."""
    one, two, four = (float(row["s a round"]) for row in measured)
    # Two cores: one partition runs alone, two side by side, four in two turns.
    # one = rows·a + b, four = rows/2·a + 4b.
    per_partition = max(0.0, (four - one / 2) / 3.5)
    per_row = (one - per_partition) / n_rows
    weights = float(measured[1]["MB sent a round"]) / 2 / 1e3  # GB, to one worker
    rounds = float(measured[-1]["rounds"])
    rows: list[Row] = [{
        "workers": 2, "partitions": 2, "rows": n_rows, "rounds": measured[1]["rounds"],
        "s a round": n_rows / 2 * per_row + 2 * per_partition, "from": "model",
        "measured": two,
    }]  # fmt: skip
    for workers in (10, 100, 1000):
        # The same rows per worker: a cluster is bought for more data.
        seconds = n_rows / 2 * per_row + workers * per_partition + 2 * weights
        rows.append({
            "workers": workers, "partitions": workers, "rows": workers * n_rows // 2,
            "rounds": round(rounds * np.sqrt(workers / 4)),
            "s a round": seconds, "from": "model",
        })  # fmt: skip
    return rows


def main() -> None:
    """Answer one of the questions."""
    parser = argument_parser(__doc__, repeats=1)
    parser.add_argument("question", choices=["rounds", "fit", "cost"])
    parser.add_argument("--spread", action="store_true", help="with the set without borders")
    options = parser.parse_args()
    with (
        dask.config.set(KEEP_MEMORY),
        Client(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as client,
    ):
        if options.question == "rounds":
            rows = count_rounds(client, options.seed, options.quick)
        elif options.question == "fit":
            rows = against_one_thread(client, options.seed, options.quick, options.spread)
        else:
            rows = cost_of_rounds(client, options.seed, options.quick)
    print_table(rows)
    write_result(
        f"clusters_{options.question}",
        environment(options.seed, ["dask", "distributed"]),
        [rounded(row) for row in rows],
        tracked=not options.quick,
    )


if __name__ == "__main__":
    main()
