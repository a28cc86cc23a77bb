"""LSVM, LASVM and MEGM: how accurate, which of the paper's claims hold, how fast.

``accuracy`` measures the local SVMs on standard splits, kept models beside them, and the learned
metric on two-fold cross-validation. ``claims`` varies the size of neighbourhoods and the width of
the kernel over ten sets. ``race`` runs the same algorithm written as a loop over scikit-learn's
NearestNeighbors and SVC. ``approximate`` asks all three searches for the neighbours in many rows.
Nothing is chosen on any test set: all settings are the defaults or the
paper's, and ``k`` is shown for several values.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.svm import SVC

from hyperlocal import NeighborhoodSVC
from hyperlocal.neighbors.base import without_self
from hyperlocal.neighbors.exact import ExactSearch
from hyperlocal.neighbors.megm_descent import loss_and_gradient
from hyperlocal.papers import AdaptiveNeighborhoodSVC
from hyperlocal.preprocessing import MEGM
from hyperlocal.runtime.threads import Workers

from .common import (
    Row,
    argument_parser,
    environment,
    print_table,
    rounded,
    timed,
    timed_in_turns,
    write_result,
)
from .parts.neighborhood_splits import Split, drawn, log_size, score, standard_split, two_folds

C = 10.0
FACTORS = (1, 2, 3, 5, 10)
CROSS_VALIDATED = (
    "balance-scale", "glass", "hayes-roth", "sonar", "hepatitis", "monks-3", "segment",
    "tic-tac-toe",
)  # fmt: skip
LEARNED = ("balance-scale", "tic-tac-toe", "segment", "hayes-roth")


# ---- accuracy ------------------------------------------------------------------------------------


def accuracy(seed: int, repeats: int, quick: bool) -> list[Row]:
    """Each method on its sets, at several sizes of neighbourhoods."""
    rows = []

    def record(name: str, method: str, accuracy: float, **facts: object) -> None:
        rows.append(rounded({"set": name, "method": method, **facts, "accuracy %": accuracy}))
        print_table(rows[-1:])

    for name in ("usps", "letter"):
        split = standard_split(name, quick=quick)
        for k in (3, 5, 10):
            record(name, "LSVM", score(NeighborhoodSVC(log_size(k), n_jobs=-1), split), k=k)
            kept = NeighborhoodSVC(log_size(k), cache_neighborhoods=True, n_jobs=-1)
            record(name, "LSVM, kept models", score(kept, split), k=k, centres=len(kept.centers_))
        sizes = [round(k * math.log2(len(split.X))) for k in FACTORS]
        chosen = NeighborhoodSVC(sizes, random_state=seed, n_jobs=-1)
        found = score(chosen, split)
        k = FACTORS[sizes.index(chosen.n_neighbors_)]
        record(name, "SVM-KNN (k by leave-one-out)", found, k=k)
    split = standard_split("mnist", n_test=2000, quick=quick)
    record(
        "mnist, 2000 test rows", "LSVM", score(NeighborhoodSVC(log_size(5), n_jobs=-1), split), k=5
    )
    splits = list(drawn("orl_faces", 5, 5, 2 if quick else 10, seed, standardise=False))
    for k in (3, 5, 10):
        found = [score(NeighborhoodSVC(log_size(k)), split) for split in splits]
        record("orl_faces", "LSVM", float(np.mean(found)), k=k)
    for name in ("monks-3", *LEARNED):
        splits = list(two_folds(name, repeats, seed))
        nearest = [score(KNeighborsClassifier(1), split) for split in splits]
        record(name, "1-NN", float(np.mean(nearest)))
        for k in (3, 10):
            found = [score(NeighborhoodSVC(log_size(k)), split) for split in splits]
            record(name, "LSVM", float(np.mean(found)), k=k)
        if name in LEARNED:
            found = [score(AdaptiveNeighborhoodSVC(random_state=seed), split) for split in splits]
            record(name, "LASVM", float(np.mean(found)), k=3)
            mapped = [
                split.mapped(MEGM(random_state=seed).fit(split.X, split.y)) for split in splits
            ]
            found = [score(KNeighborsClassifier(1), split) for split in mapped]
            record(name, "MEGM + 1-NN", float(np.mean(found)))
    return rows


# ---- claims --------------------------------------------------------------------------------------


def claims(seed: int, repeats: int, quick: bool) -> list[Row]:
    """Accuracy of LSVM and LASVM over k, for σ = 1 and σ local."""
    rows = []
    for name in CROSS_VALIDATED[:2] if quick else (*CROSS_VALIDATED, "orl_faces", "usps"):
        found: dict[tuple[str, str, int], list[float]] = {}
        for split in claimed_splits(name, repeats, seed):
            learned = split.mapped(MEGM(random_state=seed).fit(split.X, split.y))
            for method, part in (("LSVM", split), ("LASVM", learned)):
                for sigma, gamma in ((1.0, 0.5), ("local", "local")):
                    for k in FACTORS:
                        model = NeighborhoodSVC(log_size(k), gamma=gamma, C=C, n_jobs=-1)
                        found.setdefault((method, str(sigma), k), []).append(score(model, part))
        for method, sigma in (
            ("LSVM", "1.0"),
            ("LASVM", "1.0"),
            ("LSVM", "local"),
            ("LASVM", "local"),
        ):
            row: Row = {"set": name, "method": method, "sigma": sigma.removesuffix(".0")}
            row |= {f"k={k}": float(np.mean(found[method, sigma, k])) for k in FACTORS}
            rows.append(rounded(row))
        print_table(rows[-4:])
    return rows


def claimed_splits(name: str, repeats: int, seed: int) -> Iterator[Split]:
    """Two-fold cross-validation for the small sets, the paper's draws for the images."""
    if name == "orl_faces":
        return drawn(name, 5, 5, repeats, seed, standardise=True)
    if name == "usps":
        return drawn(name, 20, 10, repeats, seed, standardise=True)
    return two_folds(name, repeats, seed)


def verdicts(rows: list[Row]) -> list[Row]:
    """How often each of the paper's claims holds."""
    records = []
    for sigma in ("1", "local"):
        curves = {
            (row["set"], row["method"]): np.array([row[f"k={k}"] for k in FACTORS])
            for row in rows
            if row["sigma"] == sigma
        }
        names = sorted({name for name, _ in curves})
        plain = [curves[name, "LSVM"] for name in names]
        learned = [curves[name, "LASVM"] for name in names]
        best = [b.max() >= a.max() for a, b in zip(plain, learned, strict=True)]
        at_3 = FACTORS.index(3)
        third = [b[at_3] >= a[at_3] for a, b in zip(plain, learned, strict=True)]
        records.append(
            {
                "sigma": sigma,
                "sets": len(names),
                "LASVM >= LSVM (k=3)": int(np.sum(third)),
                "LASVM >= LSVM (best k)": int(np.sum(best)),
                "LSVM better at k=10 than at k=1": int(sum(a[-1] > a[0] for a in plain)),
                "mean spread of LSVM over k": float(np.mean([np.ptp(a) for a in plain])),
                "mean spread of LASVM over k": float(np.mean([np.ptp(b) for b in learned])),
                "largest spread of LASVM": float(np.max([np.ptp(b) for b in learned])),
            }
        )
    return [rounded(row, 3) for row in records]


# ---- speed ---------------------------------------------------------------------------------------


def loop_predict(split: Split, n_neighbors: int) -> np.ndarray:
    """The same algorithm in plain scikit-learn: one SVC after the other for each query."""
    search = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute", n_jobs=-1).fit(split.X)
    distances, indices = search.kneighbors(split.X_test)
    predicted = np.empty(len(split.X_test), split.y.dtype)
    for i, (near, distance) in enumerate(zip(indices, distances, strict=True)):
        labels = split.y[near]
        present = np.unique(labels)
        if len(present) == 1:
            predicted[i] = present[0]
            continue
        rows, query = split.X[near], split.X_test[i : i + 1]
        gamma = 1 / (2 * np.mean(distance.astype(np.float64) ** 2))
        # Two classes need one machine.
        positive = present if len(present) > 2 else present[1:]
        scores = [
            SVC(C=C, gamma=gamma).fit(rows, labels == label).decision_function(query)[0]
            for label in positive
        ]
        best = int(np.argmax(scores)) if len(present) > 2 else int(scores[0] > 0)
        predicted[i] = present[best]
    return predicted


def race(seed: int, repeats: int, quick: bool) -> list[Row]:
    """Seconds of predictions, from rows to labels: neighbour search and SVMs; and of ``fit``."""
    rows: list[Row] = []
    for name, n_test in (("usps", None), ("mnist", 2000), ("mnist", None)):
        split = standard_split(name, n_test=n_test, quick=quick)
        models = {threads: NeighborhoodSVC(log_size(5), n_jobs=threads) for threads in (1, 2)}
        fits = {
            threads: timed(lambda model=model, split=split: model.fit(split.X, split.y), 2).best
            for threads, model in models.items()
        }
        n_neighbors = models[1].n_neighbors_
        contenders = {
            "loop": lambda split=split, k=n_neighbors: loop_predict(split, k),
            1: lambda split=split, model=models[1]: model.predict(split.X_test),
            2: lambda split=split, model=models[2]: model.predict(split.X_test),
        }
        if name == "mnist" and n_test is None:  # the loop takes a minute: once is enough
            times = {who: timed(run, 1 if who == "loop" else 3) for who, run in contenders.items()}
        else:
            times = timed_in_turns(contenders, repeats)
        agree = 100 * float(np.mean(times["loop"].value == times[2].value))
        for contender, timing in times.items():
            rows.append(
                rounded(
                    {
                        "set": name,
                        "what": f"predict {len(split.X_test)} rows",
                        "how": contender if contender == "loop" else f"{contender} threads",
                        "best s": timing.best,
                        "median s": timing.median,
                        "times faster": times["loop"].best / timing.best,
                        "fit s": fits.get(contender),
                        "times faster with fit": times["loop"].best
                        / (timing.best + fits.get(contender, 0.0)),
                        "same labels %": agree,
                        "accuracy %": 100 * float(np.mean(timing.value == split.y_test)),
                    }
                )
            )
        print_table(rows[-3:])
    rows.extend(kept_rows(repeats, quick))
    rows.extend(gradient_rows(repeats, quick))
    print_table(rows[-6:])
    return rows


def kept_rows(repeats: int, quick: bool) -> Iterator[Row]:
    """Prediction by kept models, beside one SVM per query."""
    for name in ("usps", "letter"):
        split = standard_split(name, quick=quick)
        own = NeighborhoodSVC(log_size(5), n_jobs=2).fit(split.X, split.y)
        kept = NeighborhoodSVC(log_size(5), n_jobs=2, cache_neighborhoods=True)
        fit = timed(lambda kept=kept, split=split: kept.fit(split.X, split.y))
        times = timed_in_turns(
            {
                "one SVM per query": lambda own=own, split=split: own.predict(split.X_test),
                "kept models": lambda kept=kept, split=split: kept.predict(split.X_test),
            },
            repeats,
        )
        for how, timing in times.items():
            row = {"set": name, "what": f"predict {len(split.X_test)} rows"}
            row |= {"how": f"{how}, 2 threads", "best s": timing.best, "median s": timing.median}
            if how == "kept models":
                row["times faster"] = times["one SVM per query"].best / timing.best
                row |= {"fit s": fit.best, "centres": len(kept.centers_)}
            yield rounded(row)


def gradient_rows(repeats: int, quick: bool) -> Iterator[Row]:
    """One gradient of MEGM, exact and over 50 neighbours."""
    split = standard_split("usps", quick=quick)
    X = split.X.astype(np.float64)
    classes, target = np.unique(split.y, return_inverse=True)
    one_hot, target = np.eye(len(classes))[target], target.astype(np.int32)
    with Workers(2) as workers:
        A = MEGM()._start(X, np.random.default_rng(0), workers)
        found = ExactSearch(X @ A.T).query(X @ A.T, 51, workers)
        near = without_self(found, np.arange(len(X))).indices
        for how, lists in (("all pairs", None), ("50 neighbours", near)):
            timing = timed(
                lambda lists=lists: loss_and_gradient(A, X, target, one_hot, workers, lists),
                repeats,
            )
            yield rounded(
                {
                    "set": "usps",
                    "what": f"MEGM gradient, {len(X)} × {X.shape[1]}",
                    "how": f"{how}, 2 threads",
                    "best s": timing.best,
                    "median s": timing.median,
                }
            )


# ---- many rows -----------------------------------------------------------------------------------

MANY_ROWS, FEW_FEATURES, MANY_CLASSES = (200_000, 1_000_000), 20, 8
QUERIES, COMPARED = 2_000, 200  # queries to answer, and to compare the neighbours of


def approximate(seed: int, repeats: int, quick: bool) -> list[Row]:
    """Seconds to index and to ask, how many of the nearest rows are found, and accuracy.

    Rows are drawn about 50 centres per class.
    """
    rows = []
    for n_rows in (20_000,) if quick else MANY_ROWS:
        split = Split(*make_blobs(n_rows, seed))
        nearest = None
        for algorithm in ("exact", "tree", "approximate"):
            if algorithm == "tree" and n_rows > MANY_ROWS[0]:
                continue  # minutes
            model = NeighborhoodSVC(log_size(5), algorithm=algorithm, n_jobs=2, random_state=seed)
            fit = timed(lambda model=model, split=split: model.fit(split.X, split.y))
            prediction = timed(
                lambda model=model, split=split: model.predict(split.X_test), repeats
            )
            with Workers(2) as workers:
                k = model.n_neighbors_
                found = model.model_.search.query(split.X_test[:COMPARED], k, workers).indices
            nearest = found if nearest is None else nearest
            shared = [np.isin(*pair).mean() for pair in zip(found, nearest, strict=True)]
            row = {
                "rows": n_rows,
                "features": FEW_FEATURES,
                "algorithm": algorithm,
                "neighbours": k,
                "fit s": fit.best,
                f"predict {QUERIES} rows s": prediction.best,
                "recall %": 100 * float(np.mean(shared)),
                "accuracy %": 100 * float(np.mean(prediction.value == split.y_test)),
            }
            rows.append(rounded(row))
            print_table(rows[-1:])
    return rows


def make_blobs(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training rows and queries about 50 centres per class, with their labels."""
    rng = np.random.default_rng(seed)
    centres = 1.5 * rng.standard_normal((50 * MANY_CLASSES, FEW_FEATURES))
    origin = rng.integers(len(centres), size=n_rows + QUERIES)
    X = (centres[origin] + rng.standard_normal((len(origin), FEW_FEATURES))).astype(np.float32)
    y = origin % MANY_CLASSES
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def main() -> None:
    """Run what was asked for."""
    parser = argument_parser(__doc__, repeats=5)
    parser.add_argument("what", choices=["accuracy", "claims", "race", "approximate"])
    arguments = parser.parse_args()
    warnings.simplefilter("error", ConvergenceWarning)
    record = environment(arguments.seed)
    parts = {"accuracy": accuracy, "claims": claims, "race": race, "approximate": approximate}
    run = parts[arguments.what]
    rows = run(arguments.seed, arguments.repeats, arguments.quick)
    if arguments.what == "claims":
        record["verdicts"] = verdicts(rows)
        print_table(record["verdicts"], "What holds")
    write_result(f"neighborhood_{arguments.what}", record, rows, tracked=not arguments.quick)


if __name__ == "__main__":
    main()
