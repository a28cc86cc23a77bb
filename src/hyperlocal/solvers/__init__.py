"""Solvers: from lifted rows, or from plain ones, to weights.

One problem
-----------
Most solvers minimize the same function (:class:`hyperlocal.model.problem.Problem`)::

    ½‖W‖² + Σ_i C s_i ℓ_i(W)

over lifted rows. A lifted row ``z_i`` holds a row's features once for each of its active anchors,
times the anchor's weight, so that a locally linear model is a linear model of ``z_i``. It is never
stored: :class:`hyperlocal.model.lifting.LiftedRows` has anchors, weights and features, and the
compiled core multiplies by them.

- :mod:`~hyperlocal.solvers.dual`, the default, is coordinate descent on the dual variables ``α``,
  of which the weights are ``W = Σ_i α_i y_i z_i``. It skips variables that stay at a bound, and
  stops by the duality gap. Read this one first; four solvers build on its
  ``Descent``.
- :mod:`~hyperlocal.solvers.newton` takes over where coordinate descent has run for as many epochs
  as Newton's steps cost: soon where rows are narrow or few, later where systems are solved by
  products with the lifted rows (:mod:`~hyperlocal.solvers.newton_rows`), or losses have corners.
- :mod:`~hyperlocal.solvers.blocks` runs the same descent over rows that do not fit in memory, one
  block at a time, and :mod:`~hyperlocal.solvers.team` over rows that are divided among workers,
  each of which is a :class:`~hyperlocal.solvers.member.Member`.
- :mod:`~hyperlocal.solvers.sgd` takes stochastic gradient steps, as the paper's Algorithm 1 and
  ``partial_fit`` do. It leaves the intercept without penalty by default.
- :mod:`~hyperlocal.solvers.qp` hands the problem to an interior-point method: for small data, and
  as the reference of the tests.
- :mod:`~hyperlocal.solvers.anchor_descent` and :mod:`~hyperlocal.solvers.anchor_sgd` move the
  anchors while they train the weights (LLC-SAPL).

Other problems
--------------
- :mod:`~hyperlocal.solvers.pegasos` and :mod:`~hyperlocal.solvers.kernel_pegasos`: linear and
  kernel SVMs by sub-gradient steps.
- :mod:`~hyperlocal.solvers.trees` and :mod:`~hyperlocal.solvers.latent`: models whose gates are
  learned with the weights, trees of gates (LDKL) and latent ones (ML3).
- :mod:`~hyperlocal.solvers.small_svms` and :mod:`~hyperlocal.solvers.libsvm`: kernel SVMs of the
  neighbors of a query, many small ones at once, or larger ones one by one.

One loop
--------
The core compiles one epoch; the loop around it is Python, so that stopping, progress, callbacks and
Ctrl-C need no C++. All iterative solvers share :mod:`~hyperlocal.solvers.loop`::

    epochs = Epochs(max_iter, monitor)
    for number in epochs.until_converged(state):
        state.run_epoch()                  # compiled
        epochs.report(**state.facts())     # calls the monitor, which may request to stop
        if state.needs_check() or epochs.ended:
            state.check(number)            # exact, expensive; decides about convergence

``monitor`` is a :class:`hyperlocal.runtime.progress.Monitor`: a callable of the epoch's number and
facts. A run that is cut short, by ``max_iter`` or by the monitor, returns weights with their exact
objective: stochastic solvers those of their best epoch, Newton's steps those they have reached.
:mod:`~hyperlocal.solvers.visits` makes the orders in which rows are visited, from the estimator's
random generator alone: results are the same bits for any number of threads.

A new solver is a module with a ``solve`` that takes the problem and ``tol``, ``max_iter``, ``rng``
and ``monitor`` by keyword, and returns a :class:`~hyperlocal.solvers.result.SolverResult`.
"""

from ..model.problem import Problem
from .result import SolverResult

__all__ = ["Problem", "SolverResult"]
