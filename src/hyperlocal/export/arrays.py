"""Models as plain numpy arrays, for predicting where nothing but numpy is installed."""

from __future__ import annotations

import io
import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..runtime.files import replace_file
from . import numpy_predict
from .paths import plain_paths
from .plain import Step, plain_model

#: The module that predicts from exported arrays; copy it wherever there is numpy.
NUMPY_PREDICTOR = Path(numpy_predict.__file__)


def to_numpy(estimator: Any, *, contributions: bool = False) -> dict[str, np.ndarray]:
    """A fitted model as a dict of arrays, none of which holds objects.

    Parameters
    ----------
    estimator : classifier of this library with local models, or Pipeline that ends in one
        The pipeline's other steps may be scalers, Normalizer, PCA, TruncatedSVD or MEGM.
    contributions : bool, default=False
        Whether ``numpy_predict.explain`` shall work: with the references, which makes the file
        larger. For local models of linear, quadratic or piecewise maps and soft or hard gates,
        with linear steps before; an error says what is not.

    Returns
    -------
    dict of str to ndarray
        What ``numpy_predict`` reads: "classes" (not of a regressor), "facts" (JSON, in which
        ``{"array": name}`` stands for an array) and the arrays themselves.

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
    arrays: dict[str, np.ndarray] = {}
    facts = {"dtype": plain.dtype.name, "steps": _named(plain.steps, "steps", arrays)}
    if contributions:
        facts["paths"] = _named(plain_paths(estimator), "paths", arrays)
    if len(plain.classes):
        has_objects = plain.classes.dtype.hasobject
        arrays["classes"] = plain.classes.astype(str) if has_objects else plain.classes
    return {"facts": np.array(json.dumps(facts)), **arrays}


def _named(part: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """A part as JSON has it; arrays go to ``arrays``, equal ones once."""
    if isinstance(part, Step):
        parts = {key: _named(one, f"{name}.{key}", arrays) for key, one in part.parts.items()}
        return {"kind": part.kind, **parts}
    if is_dataclass(part):
        fields_of = {one.name: getattr(part, one.name) for one in fields(part)}
        return {key: _named(one, f"{name}.{key}", arrays) for key, one in fields_of.items()}
    if isinstance(part, list):
        return [_named(one, f"{name}.{number}", arrays) for number, one in enumerate(part)]
    if not isinstance(part, np.ndarray):
        return part
    equal = (key for key, known in arrays.items() if _are_equal(known, part))
    name = next(equal, name)
    arrays[name] = part
    return {"array": name}


def _are_equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other)


def save_numpy(
    estimator: Any, path: Any, *, with_module: bool = False, contributions: bool = False
) -> None:
    """Write a model's arrays to a ``.npz`` file.

    Parameters
    ----------
    estimator : as in :func:`to_numpy`
        A fitted model.
    path : str or Path
        ``.npz`` is appended if missing. A file that is there is replaced when the new one is
        complete.
    with_module : bool, default=False
        Write ``numpy_predict.py`` beside it, the one file that is needed to predict.
    contributions : bool, default=False
        As in :func:`to_numpy`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.export import numpy_predict, save_numpy
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocallyLinearSVC(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_numpy(model, Path(folder, "iris.npz"))
    ...     loaded = numpy_predict.load(Path(folder, "iris.npz"))
    >>> bool((numpy_predict.predict(loaded, X) == model.predict(X)).all())
    True
    """
    path = Path(path)
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    arrays = to_numpy(estimator, contributions=contributions)
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    replace_file(path, content.getvalue())
    if with_module:
        replace_file(path.with_name(NUMPY_PREDICTOR.name), NUMPY_PREDICTOR.read_bytes())
