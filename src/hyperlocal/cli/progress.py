"""Progress on stderr: a bar on a terminal, lines elsewhere, nothing with ``--quiet``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .options import say


@contextmanager
def steps(
    total: int, *, quiet: bool, verb: str = "fitting", lines: bool = True
) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with the name of each step as it begins.

    Parameters
    ----------
    total : int
        Number of steps; a single one has no known length, so that its bar only moves.
    quiet : bool
    verb : str
        What happens in a step, for the lines.
    lines : bool
        Whether to write a line per step where there is no bar.
    """
    if quiet:
        yield lambda name: None
        return
    bar = _rich_progress() if sys.stderr.isatty() else None
    if bar is None:
        yield lambda name: say(f"{verb} {name} …", quiet=not lines)
        return
    with bar:
        task = bar.add_task("", total=total if total > 1 else None)
        n_begun = 0

        def begin(name: str) -> None:
            nonlocal n_begun
            bar.update(task, description=name, completed=n_begun)
            n_begun += 1

        yield begin


def _rich_progress() -> Any:
    """Return a progress bar on stderr, or None without rich."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    return Progress(console=Console(stderr=True), transient=True)
