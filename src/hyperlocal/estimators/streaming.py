"""Fitting to a stream of row blocks: the chain for data larger than memory.

    blocks → files → sample → anchors, gate, feature map → codes → files → blocks in turn → weights

The stream is read once. Its rows are stored in a working folder in binary form. Gate and map are
fitted to a uniform sample of them; then each row is encoded once, and training visits blocks that
are drawn from the files at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..data.arguments import check_number, make_generator
from ..data.checks import warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..data.row_store import working_folder
from ..data.stream import StoredRows, collect_stream
from ..gates.anchors import rows_to_sample
from ..maps.quadratic import ROWS_FOR_PRINCIPAL_AXES
from ..model.local_model import ChainSettings, LocalModel
from ..runtime.progress import EpochMonitor, with_callbacks
from ..runtime.threads import Workers
from ..solvers.result import SolverResult
from ..solvers.stored import StoredProblem
from ..solvers.training import Training


class StreamFitting(BaseEstimator):
    """``fit_stream`` of classifiers; for a ChainFitting, which comes after it."""

    @with_callbacks
    def fit_stream(
        self,
        stream: Iterable[Any],
        classes: Any = None,
        *,
        block_rows: Any = "auto",
        folder: Any = None,
    ) -> Any:
        """Fit to rows that come in blocks, with little more in memory than one block.

        The problem and its solution are those of :meth:`fit`, except that anchors, gate and feature
        map are fitted to a uniform sample of 20,000 rows (64 per anchor, if that is more). Up to
        16,384 rows the gate is the same.

        Parameters
        ----------
        stream : iterable of (X, y) or (X, y, sample_weight)
            Blocks of rows, of any sizes, such as :func:`hyperlocal.datasets.stream` reads from a
            file, or any list or generator. It is read once.
        classes : array-like, default=None
            All possible labels; by default those of the stream.
        block_rows : int or "auto", default="auto"
            Rows in memory at a time. "auto" is what takes about 128 MB.
        folder : path, default=None
            Where to create the working folder, which is removed at the end. It needs disk space for
            the rows in binary form, two numbers per row and active anchor, and one per row and
            class. By default among the temporary files of the system.

        Returns
        -------
        self
            ``n_iter_`` counts passes over the rows; ``warm_start`` has no effect.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal import LocallyLinearSVC
        >>> def blocks():
        ...     rng = np.random.default_rng(0)
        ...     for _ in range(5):
        ...         X = rng.standard_normal((200, 2))
        ...         yield X, X[:, 0] * X[:, 1] > 0
        >>> model = LocallyLinearSVC(random_state=0).fit_stream(blocks())
        >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
        array([ True, False])
        """
        settings, training = self._checked_arguments()
        self._forget()
        found = fit_to_stream(
            self, settings, self._chosen, training, stream, classes,
            block_rows=block_rows, folder=folder,
        )  # fmt: skip
        size = (found.n_rows, found.total_weight)
        self._keep(found.chain, found.training, found.result, found.classes, *size)
        return self


@dataclass(frozen=True)
class StreamedFit:
    """The result of a fit to a stream."""

    chain: LocalModel
    training: Training
    result: SolverResult
    classes: np.ndarray
    n_rows: int
    total_weight: float


def fit_to_stream(
    estimator: Any,
    settings: ChainSettings,
    choice: Callable[..., tuple[ChainSettings, Training]],
    training: Training,
    stream: Iterable[Any],
    classes: Any,
    *,
    block_rows: Any = "auto",
    folder: Any = None,
    sample_rows: int = ROWS_FOR_PRINCIPAL_AXES,
) -> StreamedFit:
    """Fit a chain to the blocks of a stream.

    Parameters
    ----------
    estimator : estimator
        Its number and names of features are set; progress is reported in its name.
    settings : ChainSettings
    choice : callable
        From settings, training and a sample of rows to those with everything chosen.
    training : Training
    stream, classes, block_rows, folder
        As in :meth:`StreamFitting.fit_stream`.
    sample_rows : int
        The gate is fitted to this many rows, or to 64 per anchor if that is more.
    """
    if training.solver == "qp":
        raise ValueError("solver='qp' needs all rows at once; use solver='dual' or 'sgd'.")
    if block_rows != "auto":
        check_number("block_rows", block_rows, integer=True, above=1, inclusive=True)
    rng = make_generator(estimator.random_state)
    choice_rng, sample_rng = rng.spawn(2)  # choice and gate get the same numbers as in fit
    with ExitStack() as stack:
        working = stack.enter_context(working_folder(folder))
        rows = stack.enter_context(StoredRows(working, classes))
        collect_stream(estimator, stream, rows, estimator.class_weight)
        workers = stack.enter_context(Workers(estimator.n_jobs))
        n_wanted = rows_to_sample(settings.n_anchors, sample_rows)
        sample = _sample(rows, n_wanted, sample_rng)
        # Blocks of rows are visited by dual descent: no Newton steps.
        settings, training = choice(
            settings, training, sample, choice_rng, workers, by_newton=False
        )
        chain = settings.fit(sample, rng, workers)
        problem = stack.enter_context(StoredProblem(chain, training, rows, block_rows, workers))
        problem.prepare()
        monitor = EpochMonitor(estimator, training.max_iter, estimator.verbose, task="pass")
        result = problem.solve(rng, stack.enter_context(monitor))
    return StreamedFit(chain, training, result, rows.classes, rows.n_rows, rows.total_weight)


def _sample(rows: StoredRows, n_wanted: int, rng: np.random.Generator) -> LabelledRows:
    """The rows that the gate is fitted to; merged as in ``fit`` if they are all rows."""
    sample = rows.sample(n_wanted, rng)
    warn_about_scales(sample.X)
    return merge_equal_rows(sample) if sample.population is None else sample
