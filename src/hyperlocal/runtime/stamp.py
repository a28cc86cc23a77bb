"""The stamp of a saved model: its format and the version that wrote it.

Every estimator has it in its state, so pickles, joblib files and skops files carry it alike. A
model of the same or of an older format is read; one of a newer format is refused with what to do.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from .versions import package_version

#: The format of fitted attributes. It grows by one with each change by which an earlier version
#: would read a model wrongly; ``stamped`` then brings states of earlier formats up to date.
MODEL_FORMAT = 1
STAMP = "_hyperlocal"

Estimator = TypeVar("Estimator")


@cache
def _version() -> str:
    return package_version("hyperlocal") or "unknown"


def stamp() -> dict[str, Any]:
    """The format, and the version of the library."""
    return {"format": MODEL_FORMAT, "version": _version()}


def check_stamp(found: dict[str, Any]) -> None:
    """Raise where a model is of a format that this version does not know.

    Examples
    --------
    >>> from hyperlocal.runtime.stamp import check_stamp, stamp
    >>> check_stamp(stamp())
    """
    if found["format"] > MODEL_FORMAT:
        raise ValueError(
            f"this model was written by hyperlocal {found['version']} in format "
            f"{found['format']}, and this version reads formats up to {MODEL_FORMAT}; install "
            f"hyperlocal>={found['version']}, or fit the model again."
        )


def stamped(kind: type[Estimator]) -> type[Estimator]:
    """A class decorator: the state of instances carries the stamp, which is checked when read."""

    def getstate(self: Any) -> dict[str, Any]:
        return {**super(kind, self).__getstate__(), STAMP: stamp()}

    def setstate(self: Any, state: dict[str, Any]) -> None:
        if STAMP in state:
            check_stamp(state[STAMP])
        kept = {name: value for name, value in state.items() if name != STAMP}
        super(kind, self).__setstate__(kept)

    setattr(kind, "__getstate__", getstate)  # noqa: B010
    setattr(kind, "__setstate__", setstate)  # noqa: B010
    return kind
