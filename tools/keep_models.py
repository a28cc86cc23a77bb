"""Writes a small model file of every estimator, for the tests that later versions still read them.

    python tools/keep_models.py           # write tests/models/VERSION; VERSION is not released yet
    python tools/keep_models.py --force   # replace the files of this version

The files of a released version are never written again: a later version must read them as they are.
Beside them, ``answers.npz`` has the rows and what each model computed of them.
"""

from __future__ import annotations

import argparse
import pickle
import shutil
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import skops.io

from hyperlocal import LocallyLinearSVC, NeighborhoodSVC
from hyperlocal.datasets import make_banana
from hyperlocal.export.trusted import PUBLIC_ESTIMATORS
from hyperlocal.runtime.versions import package_version

FOLDER = Path(__file__).parent.parent / "tests" / "models"
METHODS = ("decision_function", "predict", "transform")
N_ROWS = 40
FEW: dict[str, Any] = {"n_anchors": 3, "n_neighbors": 2}
# What makes the files small; after a hyphen, a second model of an estimator.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "LocallyLinearSVC": FEW,
    "LocallyLinearSVC-llc": {"coding": "llc", "feature_map": "quadratic", **FEW},
    "LocallyLinearSVC-log": {"loss": "log", "feature_map": None, **FEW},
    "LocallyLinearSVC-pieces": {"feature_map": "piecewise_quadratic", "scale": "standard", **FEW},
    "LocallyLinearSVC-levels": {"n_anchors": (1, 3), "relevance": "gradient"},
    "LocallyLinearSVCCV": {"n_anchors": (1, 3), "Cs": (3.0,)},
    "LocallyLinearSVR": FEW,
    "LocallyLinearSVRCV": {"n_anchors": (1, 3), "Cs": (3.0,)},
    "LocallyLinearSVR-quantiles": {"loss": "quantile", "quantiles": (0.1, 0.9), **FEW},
    "SupervisedAnchorSVC": {"anchor_epochs": 1, **FEW},
    "SupervisedAnchorSVR": {"anchor_epochs": 1, **FEW},
    "SecondLookSVC": {
        "first_look": LocallyLinearSVC(**FEW, random_state=0), "second_look": NeighborhoodSVC(9),
        "low_margin": 0.5,
    },
    "NeighborhoodSVC": {"n_neighbors": 9},
    "NeighborhoodSVC-cached": {"n_neighbors": 9, "cache_neighborhoods": True},
    "NeighborhoodSVR": {"n_neighbors": 9},
    "NeighborhoodSVR-cached": {"n_neighbors": 9, "cache_neighborhoods": True},
    "LocalCodingSVC": FEW,
    "LandmarkSVC": {"n_anchors": 3},
    "ClusteredSVC": {"n_anchors": 3},
    "ProfileSVC": {"n_anchors": 3},
    "LocalDeepSVC": {"depth": 2, "C": 10.0, "max_iter": 2},
    "LatentLocallyLinearSVC": {"n_anchors": 3, "C": 10.0, "max_iter": 2},
    "PegasosSVC": {"max_iter": 2, "tol": None},
    "PegasosRegressor": {"max_iter": 2, "tol": None},
    "LocalCoder": FEW,
    "MEGM": {"max_iter": 2},
}  # fmt: skip


def make(name: str) -> Any:
    """An estimator with a seed, if it takes one."""
    kind = PUBLIC_ESTIMATORS[name.split("-")[0]]
    seed = {"random_state": 0} if "random_state" in kind().get_params() else {}
    return kind(**ARGUMENTS.get(name, {}), **seed)


ESTIMATORS = {name: make(name) for name in dict.fromkeys([*PUBLIC_ESTIMATORS, *ARGUMENTS])}


def fitted_models() -> tuple[np.ndarray, dict[str, Any]]:
    """Rows, and every estimator fitted to them."""
    X, y = make_banana(N_ROWS, random_state=0)
    return X, {name: estimator.fit(X, y) for name, estimator in ESTIMATORS.items()}


def answers(model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    """What a model computes of rows, by the method's name."""
    found = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
    return {name: np.asarray(_dense(values)) for name, values in found.items()}


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else values


def write(folder: Path) -> None:
    """Write all models, each as skops, together as joblib, one as a pickle; and their answers."""
    folder.mkdir(parents=True)
    X, models = fitted_models()
    expected: dict[str, np.ndarray] = {"rows": X}
    for name, model in models.items():
        skops.io.dump(model, folder / f"{name}.skops", compression=zipfile.ZIP_DEFLATED)
        for method, values in answers(model, X).items():
            expected[f"{name}.{method}"] = values
    with open(folder / "LocallyLinearSVC.pickle", "wb") as file:
        pickle.dump(models["LocallyLinearSVC"], file)
    joblib.dump(models, folder / "all.joblib", compress=3)
    np.savez_compressed(folder / "answers.npz", **expected)  # type: ignore[arg-type]


def main() -> None:
    """Write the models of this version."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--force", action="store_true", help="replace files of this version")
    folder = FOLDER / (package_version("hyperlocal") or "unknown")
    if parser.parse_args().force:
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise SystemExit(f"{folder} exists; --force replaces it, if it is not released yet")
    write(folder)


if __name__ == "__main__":
    main()
