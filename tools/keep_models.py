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

from hyperlocal import (
    LocallyLinearSVC,
    LocallyLinearSVCCV,
    LocallyLinearSVR,
    LocallyLinearSVRCV,
    NeighborhoodSVC,
    SecondLookSVC,
    SupervisedAnchorSVC,
)
from hyperlocal.datasets import make_banana
from hyperlocal.linear import SDCASVC, KernelPegasosSVC, PegasosRegressor, PegasosSVC
from hyperlocal.papers import (
    AdaptiveNeighborhoodSVC,
    ClusteredSVC,
    LandmarkSVC,
    LatentLocallyLinearSVC,
    LocalCodingSVC,
    LocalDeepSVC,
    ProfileSVC,
)
from hyperlocal.preprocessing import MEGM, LocalCoder, RelevanceScaler, TableEncoder
from hyperlocal.runtime.versions import package_version

FOLDER = Path(__file__).parent.parent / "tests" / "models"
METHODS = ("decision_function", "predict", "transform")
N_ROWS = 40
FEW: dict[str, Any] = {"n_anchors": 3, "n_neighbors": 2, "random_state": 0}
ESTIMATORS: dict[str, Any] = {
    "LocallyLinearSVC": LocallyLinearSVC(**FEW),
    "LocallyLinearSVC-llc": LocallyLinearSVC(coding="llc", feature_map="quadratic", **FEW),
    "LocallyLinearSVC-log": LocallyLinearSVC(loss="log", feature_map=None, **FEW),
    "LocallyLinearSVCCV": LocallyLinearSVCCV((1, 3), Cs=(3.0,), random_state=0),
    "LocallyLinearSVR": LocallyLinearSVR(**FEW),
    "LocallyLinearSVR-quantiles": LocallyLinearSVR(loss="quantile", quantiles=(0.1, 0.9), **FEW),
    "LocallyLinearSVRCV": LocallyLinearSVRCV((1, 3), Cs=(3.0,), random_state=0),
    "SupervisedAnchorSVC": SupervisedAnchorSVC(anchor_epochs=1, **FEW),
    "SecondLookSVC": SecondLookSVC(
        LocallyLinearSVC(**FEW), NeighborhoodSVC(9), low_margin=0.5, random_state=0
    ),
    "NeighborhoodSVC": NeighborhoodSVC(9),
    "NeighborhoodSVC-cached": NeighborhoodSVC(9, cache_neighborhoods=True),
    "AdaptiveNeighborhoodSVC": AdaptiveNeighborhoodSVC(random_state=0),
    "LocalCodingSVC": LocalCodingSVC(**FEW),
    "LandmarkSVC": LandmarkSVC(3, random_state=0),
    "ClusteredSVC": ClusteredSVC(3, random_state=0),
    "ProfileSVC": ProfileSVC(3, random_state=0),
    "LocalDeepSVC": LocalDeepSVC(2, C=10.0, max_iter=2, random_state=0),
    "LatentLocallyLinearSVC": LatentLocallyLinearSVC(3, C=10.0, max_iter=2, random_state=0),
    "SDCASVC": SDCASVC(random_state=0),
    "PegasosSVC": PegasosSVC(max_iter=2, tol=None, random_state=0),
    "PegasosRegressor": PegasosRegressor(max_iter=2, tol=None, random_state=0),
    "KernelPegasosSVC": KernelPegasosSVC(random_state=0),
    "LocalCoder": LocalCoder(**FEW),
    "RelevanceScaler": RelevanceScaler(random_state=0),
    "MEGM": MEGM(max_iter=2),
    "TableEncoder": TableEncoder(),
}


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
