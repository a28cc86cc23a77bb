"""Models as plain numpy arrays, for predicting where nothing but numpy is installed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from . import numpy_predict
from .plain import plain_model

#: The module that predicts from exported arrays; copy it wherever there is numpy.
NUMPY_PREDICTOR = Path(numpy_predict.__file__)


def to_numpy(estimator: Any) -> dict[str, np.ndarray]:
    """A fitted model as a dict of arrays, none of which holds objects.

    Parameters
    ----------
    estimator : classifier of this library with local models, or Pipeline that ends in one
        The pipeline's other steps may be scalers, Normalizer, PCA, TruncatedSVD or MEGM.

    Returns
    -------
    dict of str to ndarray
        What ``hyperlocal.export.numpy_predict`` reads.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.export import numpy_predict, to_numpy
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocallyLinearSVC(random_state=0).fit(X, y)
    >>> arrays = to_numpy(model)
    >>> bool((numpy_predict.predict(arrays, X) == model.predict(X)).all())
    True
    """
    plain = plain_model(estimator)
    arrays = {name: np.ascontiguousarray(array) for name, array in plain.arrays.items()}
    for chain, steps in plain.chains.items():
        for number, step in enumerate(steps):
            arrays |= {f"{chain}.{number}.{name}": part for name, part in step.parts.items()}
    chains = {chain: [step.kind for step in steps] for chain, steps in plain.chains.items()}
    arrays["facts"] = np.array(json.dumps(plain.facts | chains))
    classes = plain.classes
    arrays["classes"] = classes.astype(str) if classes.dtype.hasobject else classes
    return arrays


def save_numpy(estimator: Any, path: Any, *, with_module: bool = False) -> None:
    """Write a model's arrays to a ``.npz`` file.

    Parameters
    ----------
    estimator : as in :func:`to_numpy`
    path : str or Path
        ``.npz`` is appended if missing.
    with_module : bool, default=False
        Write ``numpy_predict.py`` beside it, the one file that is needed to predict.
    """
    path = Path(path)
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    np.savez_compressed(path, **to_numpy(estimator))  # type: ignore[arg-type]
    if with_module:
        shutil.copyfile(NUMPY_PREDICTOR, path.with_name(NUMPY_PREDICTOR.name))
