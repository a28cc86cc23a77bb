"""Solvers of one problem, ``min ½‖W‖² + Σ_i C s_i ℓ_i`` over lifted rows.

- :mod:`hyperlocal.solvers.dual`: coordinate descent on the dual, with a duality gap (the default);
- :mod:`hyperlocal.solvers.sgd`: stochastic gradient, the paper's Algorithm 1, and ``partial_fit``;
- :mod:`hyperlocal.solvers.qp`: an interior-point method, for small data and as a reference.

Each compiles one epoch (or none); the loop around it is Python, so that stopping, progress,
callbacks and Ctrl-C need no C++.
"""

from ..model.problem import Problem
from .result import SolverResult

__all__ = ["Problem", "SolverResult"]
