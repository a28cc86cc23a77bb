"""Are explanations true? Noise, importances, deletion and stability, beside SHAP's explainers.

Measures, each of exact contributions of this library's models and of what users have today:
TreeSHAP on LightGBM, coefficients of LogisticRegression, KernelExplainer on the same model.

- ``noise``: families of rows with known effects; the share of ``|contribution|`` on features that
  have none, and the rank correlation of mean ``|contribution|`` with the true effects.
- ``balanced``, ``rare``, ``few`` and ``values``: the same of families that no rule was chosen on.
- ``example``: one of these families, feature by feature: the former and the present definition,
  SHAP's values and the permutation importance of the same models; ``credit``: the same of a
  made-up table of credit cards.
- ``tables``: rank correlation of mean ``|contribution|`` with the permutation importance of the
  same model.
- ``deletion``: the score's change as the features of the largest contributions are set to the
  background, mean over all steps (larger is better), beside KernelExplainer.
- ``stability``: contributions of a row and of a near copy differ by at most a multiple of the
  difference of their scores' change.
- ``definitions``: the candidates among which the definition was chosen.
- ``speed``: times beside predictions and shap's explainers, and the error of these against exact
  values.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from hyperlocal import LocallyLinearSVC, LocallyLinearSVR, explain
from hyperlocal.preprocessing import TableEncoder

from .common import (
    Row,
    argument_parser,
    environment,
    light_gbm,
    print_table,
    rounded,
    write_result,
)
from .parts.attributions import (
    N_TEST,
    N_TRAIN,
    centered,
    coefficients,
    exact,
    exact_shapley,
    fixed_gate,
    kernel_shap,
    make_credit,
    make_example,
    make_family,
    path_from_mean,
    sampled_shap,
    shapley,
    tree_shap,
    weights_times_values,
)
from .parts.deletion import instability, score_change
from .parts.noise import noise_of, noise_share
from .parts.other_families import FAMILIES as OTHER_FAMILIES
from .parts.other_families import make_other
from .parts.shap_times import measure_shap

FAMILIES = ("linear", "squared", "product", "local")
# Of families that no rule was chosen on: positive rows, or values, and the number of rows.
OTHER_ROWS = {
    "balanced": ("50 %", 4_000), "rare": ("3 %", 4_000), "few": ("50 %", 600),
    "values": ("value", 2_000),
}  # fmt: skip
TABLES = {"credit": "Status", "telco_churn": "churn", "caravan": "Purchase"}


# ---- explainers: fitted model and rows → contributions (n_rows, n_features) ----------------------


MODELS: dict[str, tuple[Callable[[int], Any], Callable[..., np.ndarray]]] = {
    "LocallyLinearSVC": (lambda seed: LocallyLinearSVC(random_state=seed), exact),
    "LocallyLinearSVC(relevance=None)": (
        lambda seed: LocallyLinearSVC(relevance=None, random_state=seed),
        exact,
    ),
    "LocallyLinearSVC(relevance='gradient')": (
        lambda seed: LocallyLinearSVC(relevance="gradient", random_state=seed),
        exact,
    ),
    "LocallyLinearSVC(C=1)": (
        lambda seed: LocallyLinearSVC(C=1.0, relevance=None, random_state=seed),
        exact,
    ),
    "SVC": (lambda seed: SVC(), exact),
    "SVC, KernelExplainer": (lambda seed: SVC(), sampled_shap),
    "LightGBM, TreeSHAP": (light_gbm, tree_shap),
    "LogisticRegression, coefficients": (lambda seed: LogisticRegression(), coefficients),
}
OTHERS = {
    name: MODELS[name]
    for name in ("LocallyLinearSVC", "LocallyLinearSVC(relevance=None)", "LightGBM, TreeSHAP")
}
REGRESSIONS: dict[str, tuple[Callable[[int], Any], Callable[..., np.ndarray]]] = {
    "LocallyLinearSVR": (lambda seed: LocallyLinearSVR(random_state=seed), exact),
    "LocallyLinearSVR(relevance=None)": (
        lambda seed: LocallyLinearSVR(relevance=None, random_state=seed),
        exact,
    ),
    "LightGBM, TreeSHAP": (partial(light_gbm, regression=True), tree_shap),
}


# ---- measures ------------------------------------------------------------------------------------


def measure_noise(seeds: list[int]) -> list[Row]:
    """The shares of noise and the ranks, over families and seeds."""
    rows: list[Row] = []
    cases = [(name, rare) for name in FAMILIES for rare in (False, True)] + [("example", True)]
    for name, rare in cases:
        make_rows = make_example if name == "example" else partial(make_family, name, rare)
        for method, model in MODELS.items():
            found = noise_of(*model, ((seed, make_rows(seed)) for seed in seeds))
            positive = "3.6 %" if rare else "50 %"
            rows.append(
                {"measure": "noise", "rows": name, "positive": positive, "method": method} | found
            )
            print(rows[-1], flush=True)
    return rows


def measure_others(kind: str, n_train: int, seeds: list[int]) -> list[Row]:
    """The same of families that no rule was chosen on: of classes, or of values."""
    rows: list[Row] = []
    for name in OTHER_FAMILIES:
        for method, model in (REGRESSIONS if kind == "value" else OTHERS).items():
            families = ((seed, make_other(name, kind, n_train, seed)) for seed in seeds)
            row = {"measure": "others", "rows": name, "kind": kind, "n": n_train, "method": method}
            rows.append(row | noise_of(*model, families))
            print(rows[-1], flush=True)
    return rows


def measure_example(
    seeds: list[int],
    make: Callable[[int], Any] = make_example,
    names: tuple[str, ...] = ("x0", "noise", "binary noise"),
) -> list[Row]:
    """Each feature's share of the mean ``|contribution|``, by former and present definitions."""
    definitions: dict[str, dict[str, Callable[..., np.ndarray]]] = {
        "LocallyLinearSVC": {"weights times values": weights_times_values, "present": exact},
        "LightGBM, TreeSHAP": {"TreeSHAP": tree_shap},
        "LogisticRegression, coefficients": {"centered coefficients": coefficients},
    }
    definitions["LocallyLinearSVC(C=1)"] = definitions["LocallyLinearSVC"]
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    for seed in seeds:
        X, y, _ = make(seed)
        train, test = slice(0, len(X) - N_TEST), slice(len(X) - N_TEST, None)
        for method, contributions_of in definitions.items():
            model = MODELS[method][0](seed).fit(X[train], y[train])
            sizes = {
                name: np.abs(function(model, X[test])).mean(axis=0)
                for name, function in contributions_of.items()
            }
            if isinstance(model, LocallyLinearSVC):
                values = kernel_shap(model, X[test], X[:100])
                sizes["KernelExplainer, 100 rows"] = np.abs(values).mean(axis=0)
                values = exact_shapley(model, X[test], X[:100])
                sizes["Shapley values, 100 rows, all orders"] = np.abs(values).mean(axis=0)
                of_100 = explain(model, X[test], X[:100]).contributions[:, 0]
                sizes["present, 100 rows"] = np.abs(of_100).mean(axis=0)
            importance = permutation_importance(
                model, X[test], y[test], scoring="roc_auc", n_repeats=20, random_state=seed
            ).importances_mean
            sizes["permutation importance"] = np.maximum(importance, 0)
            for name, one in sizes.items():
                found.setdefault((method.split(",")[0], name), []).append(one / one.sum())
    return [
        {
            "measure": "example", "model": model, "definition": name,
            **dict(zip(names, np.mean(shares, axis=0), strict=True)),
        }
        for (model, name), shares in found.items()
    ]  # fmt: skip


def measure_definitions(seed: int) -> list[Row]:
    """The candidates on one model of each family: distance to Shapley values of 64 rows."""
    rows: list[Row] = []
    candidates = {
        "weights times values": weights_times_values,
        "centered weights": centered,
        "path averages, gate fixed": fixed_gate,
        "path averages from the mean": path_from_mean,
        "path averages from 8 rows": exact,
    }
    for name in FAMILIES:
        for rare in (False, True):
            X, y, truth = make_family(name, rare, seed)
            model = LocallyLinearSVC(C=1.0, relevance=None, random_state=seed).fit(
                X[:N_TRAIN], y[:N_TRAIN]
            )
            test = X[-100:]
            values = shapley(model, test, X[:64])
            background = model.background
            starts = {
                "weights times values": 0.0,
                "centered weights": model.decision_function(background.mean[None])[0],
                "path averages from the mean": model.decision_function(background.mean[None])[0],
                "Shapley values": model.decision_function(X[:64]).mean(),
            }
            for method, contributions_of in {**candidates, "Shapley values": None}.items():
                found = values if contributions_of is None else contributions_of(model, test)
                start = starts.get(method, model.decision_function(background.rows).mean())
                change = model.decision_function(test) - start
                left = np.abs(change - found.sum(axis=1)).mean() / np.abs(change).mean()
                rows.append(
                    {
                        "measure": "definitions", "rows": name,
                        "positive": "3.6 %" if rare else "50 %", "method": method,
                        "noise share": noise_share(found, truth), "not attributed": left,
                        "distance to Shapley values": np.linalg.norm(found - values)
                        / np.linalg.norm(values),
                    }
                )  # fmt: skip
                print(rows[-1], flush=True)
    return rows


def measure_tables(seeds: list[int], most_rows: int) -> list[Row]:
    """Ranks by contributions and by permutation importance, on tables."""
    rows: list[Row] = []
    for name, method in product(TABLES, ("LocallyLinearSVC", "LightGBM, TreeSHAP")):
        make, contributions_of = MODELS[method]
        ranks, scores = [], []
        for seed in seeds:
            table, y = _table(name, most_rows, seed)
            half = len(table) // 2
            Z = TableEncoder().fit(table[:half], y[:half]).transform(table)
            model = make(seed).fit(Z[:half], y[:half])
            found = contributions_of(model, Z[half : half + 500])
            importance = permutation_importance(
                model, Z[half:], y[half:], scoring="roc_auc", n_repeats=5, random_state=seed
            ).importances_mean
            ranks.append(spearmanr(np.abs(found).mean(axis=0), importance).statistic)
            scores.append(model.score(Z[half:], y[half:]))
        rows.append(
            {
                "measure": "tables", "rows": name, "method": method,
                "rank correlation": np.mean(ranks), "lowest": min(ranks), "highest": max(ranks),
                "accuracy": np.mean(scores),
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def _table(name: str, most_rows: int, seed: int) -> tuple[Any, np.ndarray]:
    """Some rows of a table, and whether they are of the rarer class."""
    import pandas

    table = pandas.read_csv(Path(os.environ["HYPERLOCAL_DATA"]) / "tables" / f"{name}.csv.gz")
    table = table.dropna(subset=[TABLES[name]])
    table = table.sample(min(most_rows, len(table)), random_state=seed)
    target = table.pop(TABLES[name]).astype(str)
    return table, (target != target.mode()[0]).to_numpy().astype(int)


def measure_deletion(seed: int, n_rows: int) -> list[Row]:
    """How fast the score falls as the largest contributions are removed, and near copies."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    rows: list[Row] = []
    for name, model in {
        "LocallyLinearSVC": LocallyLinearSVC(random_state=seed),
        "SVC": SVC(),
    }.items():
        model.fit(X[:400], y[:400])
        test = X[400 : 400 + n_rows]
        background = X[:8] - X[:8].mean(axis=0) + X[:400].mean(axis=0)
        found = {
            "exact": explain(model, test, background).contributions[:, 0],
            "KernelExplainer": kernel_shap(model, test, background),
        }
        for method, contributions in found.items():
            rows.append(
                {
                    "measure": "deletion", "rows": "breast cancer", "model": name,
                    "method": method,
                    "deletion": score_change(model, test, contributions, background),
                    "insertion": score_change(model, test, -contributions, background),
                    "instability": instability(model, test, background, method, seed),
                }
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def measure_speed(seed: int, repeats: int) -> list[Row]:
    """A thousand rows of 30 features: explanations beside predictions."""
    from hyperlocal.linear import SDCASVC
    from hyperlocal.papers import ClusteredSVC, LocalDeepSVC

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4_000, 30))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    rows: list[Row] = []
    models = {
        "LocallyLinearSVC": LocallyLinearSVC(C=1.0, relevance=None, random_state=seed),
        "LocallyLinearSVC, linear map": LocallyLinearSVC(
            C=1.0, feature_map=None, relevance=None, random_state=seed
        ),
        "ClusteredSVC": ClusteredSVC(random_state=seed),
        "LocalDeepSVC": LocalDeepSVC(random_state=seed),
        "SDCASVC": SDCASVC(random_state=seed),
        "SVC": SVC(),
    }
    for name, model in models.items():
        model.fit(X[:3_000], y[:3_000])
        test = X[3_000:]
        # As many of both: on a busy machine the shortest of few runs is not the shortest.
        explained, predicted = _processor_seconds(
            (partial(explain, model, test), partial(model.decision_function, test)), 5 * repeats
        )
        rows.append(
            {
                "measure": "speed", "model": name, "explain, CPU ms": 1e3 * explained,
                "predict, CPU ms": 1e3 * predicted, "ratio": explained / predicted,
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    return rows + measure_shap(seed, X, y, 2 * repeats)


def _processor_seconds(runs: Sequence[Callable[[], Any]], repeats: int) -> np.ndarray:
    """The shortest of several runs of each on one thread: other processes do not count."""
    seconds = np.empty((repeats, len(runs)))
    for repeat, place in np.ndindex(*seconds.shape):
        start = time.process_time()
        runs[place]()
        seconds[repeat, place] = time.process_time() - start
    return seconds.min(axis=0)


def main() -> None:
    """Measure and track, one result per measure."""
    parser = argument_parser(__doc__, repeats=5)
    measures = (
        "definitions", "noise", *OTHER_ROWS, "example", "credit", "tables", "deletion", "speed"
    )  # fmt: skip
    parser.add_argument("measures", nargs="*", default=measures, help=", ".join(measures))
    arguments = parser.parse_args()
    quick, seed = arguments.quick, arguments.seed
    runs: dict[str, Callable[[], list[Row]]] = {
        "definitions": lambda: measure_definitions(seed),
        "noise": lambda: measure_noise([seed] if quick else [seed, seed + 1, seed + 2]),
        "example": lambda: measure_example([seed] if quick else [seed, seed + 1, seed + 2]),
        "credit": lambda: measure_example(
            [seed] if quick else [seed, seed + 1, seed + 2],
            make_credit,
            ("balance", "income", "student"),
        ),
        "tables": lambda: measure_tables(
            [seed] if quick else [seed, seed + 1, seed + 2], 1_000 if quick else 6_000
        ),
        "deletion": lambda: measure_deletion(seed, 3 if quick else 20),
        "speed": lambda: measure_speed(seed, arguments.repeats),
    }
    for name, (kind, n_train) in OTHER_ROWS.items():
        others = [100] if quick else [100, 101, 102]
        runs[name] = partial(measure_others, kind, n_train, others)
    for measure in arguments.measures:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = [rounded(row) for row in runs[measure]()]
        print_table(rows)
        write_result(
            f"explanations_{measure}", environment(seed, ["shap", "lightgbm"]), rows,
            tracked=not quick,
        )  # fmt: skip


if __name__ == "__main__":
    main()
