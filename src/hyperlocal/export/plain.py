"""A fitted model or pipeline as one chain of plain steps: what every export is made from.

Each part states its own steps (``hyperlocal.maps.plain``); here they are joined. The last step
turns rows into scores. ``numpy_predict.py`` reads this form, ``onnx.py`` turns it into tensor
operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..maps.plain import NotPlain, Step, plain_steps
from ..model.through import fitted_parts

__all__ = ["NotPlain", "PlainModel", "Step", "n_foreign_steps", "plain_model"]


@dataclass(frozen=True)
class PlainModel:
    """A model in plain form.

    Attributes
    ----------
    steps : list of Step
        From rows to scores; all arrays of floats have the same precision.
    classes : ndarray
        Empty for a regressor or a transformer: the steps give values, or features.
    n_features_in : int
    dtype : dtype
        Precision of all floats.
    link : {"ovr", "multinomial"} or None
        How scores become probabilities, where the model has some.
    """

    steps: list[Step]
    classes: np.ndarray
    n_features_in: int
    dtype: np.dtype
    link: str | None = None

    @property
    def labels(self) -> np.ndarray:
        """The classes as text (of type object), 64-bit integers, or numbers as they are."""
        if self.classes.dtype.kind in "OUS":
            return self.classes.astype(str).astype(object)
        return self.classes.astype(np.int64) if self.classes.dtype.kind in "iu" else self.classes


def plain_model(estimator: Any, *, skip: int = 0, transformers: bool = False) -> PlainModel:
    """The plain form of a fitted model or pipeline; ``NotPlain`` gives the reason for none.

    Parameters
    ----------
    estimator : classifier of this library, or Pipeline or search (``best_estimator_``) of one
    skip : int, default=0
        Leave out so many of the steps before the classifier.
    transformers : bool, default=False
        Whether transformers are taken too.

    Returns
    -------
    PlainModel
    """
    check_is_fitted(estimator)
    steps, last = fitted_parts(estimator)
    own, dtype = _own_steps(last)
    classes = getattr(last, "classes_", np.empty(0))
    if not (transformers or hasattr(last, "predict")):
        raise NotPlain(f"{type(last).__name__} is a transformer; only to_onnx can export it.")
    chain = [one for step in steps[skip:] for one in plain_steps(step)]
    chain = _in_precision([*chain, *own], dtype)
    n_features = next(p.n_features_in_ for p in [*steps, last] if hasattr(p, "n_features_in_"))
    return PlainModel(chain, classes, n_features, dtype, _link(last))


def _own_steps(last: Any) -> tuple[list[Step], np.dtype]:
    """The steps of the last part, and its precision."""
    model = getattr(last, "model_", None)
    if model is not None and hasattr(model, "plain"):
        return [model.plain(), *_after(last)], model.dtype
    if hasattr(last, "plain") and hasattr(last, "transform"):
        steps = plain_steps(last)
        arrays = [part for step in steps for part in step.parts.values() if np.ndim(part)]
        return steps, np.result_type(*arrays)
    raise NotPlain(
        f"{type(last).__name__} cannot be exported: only local linear models can, without kernels."
    )


def _after(last: Any) -> list[Step]:
    """What follows the scores: several quantiles are sorted."""
    quantiles = getattr(last, "quantiles_", None)
    n_quantiles = 1 if quantiles is None else quantiles.size
    return [Step("sorted", {"n_columns": n_quantiles})] if n_quantiles > 1 else []


def _link(last: Any) -> str | None:
    if not hasattr(last, "predict_proba"):
        return None
    return "multinomial" if last.get_params().get("multi_class") == "multinomial" else "ovr"


def n_foreign_steps(steps: list[Any]) -> int:
    """How many of the first steps it takes to include all that have no plain form."""
    return max((number for number, step in enumerate(steps, 1) if not _is_plain(step)), default=0)


def _is_plain(step: Any) -> bool:
    try:
        plain_steps(step)
    except NotPlain:
        return False
    return True


def _in_precision(part: Any, dtype: np.dtype) -> Any:
    """Steps and parts with all floats in one precision."""
    if isinstance(part, Step):
        return Step(part.kind, {name: _in_precision(p, dtype) for name, p in part.parts.items()})
    if isinstance(part, list):
        return [_in_precision(one, dtype) for one in part]
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part, dtype if part.dtype.kind == "f" else None)
    return part
