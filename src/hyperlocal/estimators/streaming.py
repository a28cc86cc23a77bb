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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..data.arguments import check_number, make_generator
from ..data.checks import warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..data.row_store import working_folder
from ..data.stream import StoredRows, StoredValues, collect_stream
from ..gates.anchors import rows_to_sample
from ..maps.quadratic import ROWS_FOR_PRINCIPAL_AXES
from ..model.chain_settings import ChainSettings
from ..model.local_model import LocalModel
from ..model.target_scale import TargetScale
from ..runtime.progress import EpochMonitor, with_callbacks
from ..runtime.threads import Workers
from ..solvers.result import SolverResult
from ..solvers.stored import StoredProblem
from ..solvers.training import Training
from .chain import FitCall
from .tasks import Target, scales_itself

# From a folder to what stores rows there.
Store = Callable[[Path], StoredRows]


class StreamKeeping(BaseEstimator):
    """How a fit to a stream ends, for a ChainFitting, which comes after it."""

    def _fit_to_stream(self, stream: Any, store: Store, block_rows: Any, folder: Any) -> Any:
        settings, training = self._checked_arguments()
        self._forget()
        found = fit_to_stream(
            self, settings, self._chosen, training, stream, store,
            block_rows=block_rows, folder=folder,
        )  # fmt: skip
        size = (found.n_rows, found.total_weight)
        self._keep(found.chain, found.training, found.result, found.target, *size)
        return self


class StreamFitting(StreamKeeping):
    """``fit_stream`` of classifiers."""

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
        store = partial(StoredRows, classes=classes, class_weight=self.class_weight)
        return self._fit_to_stream(stream, store, block_rows, folder)


class ValueStreamFitting(StreamKeeping):
    """``fit_stream`` of regressors."""

    @with_callbacks
    def fit_stream(
        self, stream: Iterable[Any], *, block_rows: Any = "auto", folder: Any = None
    ) -> Any:
        """Fit to rows that come in blocks, with little more in memory than one block.

        As :meth:`LocallyLinearSVC.fit_stream`; values are centered and scaled by those of the whole
        stream.

        Parameters
        ----------
        stream : iterable of (X, y) or (X, y, sample_weight)
            Blocks of rows, of any sizes. It is read once.
        block_rows : int or "auto", default="auto"
            Rows in memory at a time. "auto" is what takes about 128 MB.
        folder : path, default=None
            Where to create the working folder, which is removed at the end.

        Returns
        -------
        self
            ``n_iter_`` counts passes over the rows; ``warm_start`` has no effect.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal import LocallyLinearSVR
        >>> def blocks():
        ...     rng = np.random.default_rng(0)
        ...     for _ in range(5):
        ...         X = rng.standard_normal((200, 2))
        ...         yield X, X[:, 0] * X[:, 1]
        >>> model = LocallyLinearSVR(random_state=0).fit_stream(blocks())
        >>> bool(model.predict([[1.0, 1.0]])[0] > 0.9)
        True
        """
        return self._fit_to_stream(stream, StoredValues, block_rows, folder)


@dataclass(frozen=True)
class StreamedFit:
    """The result of a fit to a stream."""

    chain: LocalModel
    training: Training
    result: SolverResult
    target: Target
    n_rows: int
    total_weight: float


def fit_to_stream(
    estimator: Any,
    settings: ChainSettings,
    choice: Callable[..., tuple[ChainSettings, Training]],
    training: Training,
    stream: Iterable[Any],
    store: Store,
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
        From settings and a call with a sample of rows to those with everything chosen, and C.
    training : Training
    stream, block_rows, folder
        As in :meth:`StreamFitting.fit_stream`.
    store : callable
        From a folder to what stores rows there: :class:`StoredRows` or :class:`StoredValues`.
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
        rows = stack.enter_context(store(working))
        collect_stream(estimator, stream, rows)
        workers = stack.enter_context(Workers(estimator.n_jobs))
        n_wanted = rows_to_sample(settings.n_anchors, sample_rows)
        sample = _sample(rows, n_wanted, sample_rng)
        if not scales_itself(estimator):
            warn_about_scales(sample.X)
        # Blocks of rows are visited by dual descent: no Newton steps.
        call = FitCall(training, sample, choice_rng, workers)
        settings, training = choice(settings, call, by_newton=False)
        chain = settings.fit(sample, rng, workers)
        del sample, call  # not needed in memory any more
        problem = stack.enter_context(StoredProblem(chain, training, rows, block_rows, workers))
        problem.prepare()
        monitor = EpochMonitor(estimator, training.max_iter, estimator.verbose, task="pass")
        result = problem.solve(rng, stack.enter_context(monitor))
    return StreamedFit(chain, training, result, _target(rows), rows.n_rows, rows.total_weight)


def _target(rows: StoredRows) -> Target:
    """What is kept of ``y``."""
    if isinstance(rows, StoredValues):
        return TargetScale(rows.center, rows.scale, rows.shape)
    return rows.classes


def _sample(rows: StoredRows, n_wanted: int, rng: np.random.Generator) -> LabelledRows:
    """The rows that the gate is fitted to; merged as in ``fit`` if they are all rows."""
    sample = rows.sample(n_wanted, rng)
    return merge_equal_rows(sample) if sample.population is None else sample
