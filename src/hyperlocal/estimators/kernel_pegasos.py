"""KernelPegasosSVC: the kernel SVM by Pegasos."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data.arguments import check_choice, check_flag, check_number, make_generator
from ..data.checks import warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..data.rows import take_rows
from ..kernels import NEEDS_HISTOGRAMS, Kernel, check_kernel, check_precomputed, make_kernel
from ..model.multiclass import column_targets, n_columns
from ..runtime.progress import EpochMonitor
from ..runtime.threads import Workers
from ..solvers import kernel_pegasos
from ..solvers.kernel_pegasos import KernelResult, KernelSource, MatrixKernel, RowKernel
from ..solvers.visits import SAMPLINGS
from .base import LabelledFitting, check_common
from .kernel_expansion import KernelExpansionClassifier
from .pegasos_base import penalty_of

MEGABYTE = 1e6


@dataclass(eq=False, repr=False)
class KernelPegasosSVC(LabelledFitting, KernelExpansionClassifier):
    """Kernel support vector classifier, trained by Pegasos.

    Minimizes ``λ/2‖w‖² + (1/N) Σ_i hinge(y_i w·φ(x_i))``, ``λ = 1/(CN)``, where ``φ`` is known by
    its products ``k(x, x')`` alone. Visits in random order count how often each row violated its
    margin; rows that never did play no part in the model. Several classes are trained one against
    the rest, sharing the kernel values.

    Parameters
    ----------
    C : float, default=1.0
        Strength of the loss, as in scikit-learn's ``SVC``: ``λ = 1/(C Σ_i s_i)`` for sample weights
        ``s_i``. The default is 1 because that is ``SVC``'s. The larger, the more epochs are needed.
    kernel : {"rbf", "linear", "poly", "chi2", "intersection", "precomputed"} or callable, \
default="rbf"
        ``exp(−γ‖x − x'‖²)``; ``x·x'``; ``(γ x·x' + coef0)^degree``;
        ``exp(−γ Σ_v (x_v − x'_v)²/(x_v + x'_v))`` and ``Σ_v min(x_v, x'_v)`` for histograms; a
        given matrix of values between training rows; or a function of two sets of rows that
        returns the matrix of their values.
    gamma : float, "scale" or "auto", default="scale"
        "scale" is one over the number of features times their variance (1 for "chi2"), "auto" one
        over the number of features; a Gaussian of standard deviation σ has ``1/(2σ²)``. The default
        is "scale", because that is ``SVC``'s.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    sampling : {"permutation", "fixed_permutation", "replacement"}, default="permutation"
        Rows in a new random order every epoch, in the same one, or drawn one by one.
    average : bool, default=True
        Return an average of the iterates in which iterate ``t`` weighs ``t³``, instead of the last.
    max_iter : int, default=100
        The most epochs; few, because an epoch computes kernel values with the whole support.
    tol : float, default=0.1
        Duality gap at which to stop, relative to the objective; large, because Pegasos halves its
        gap by doubling the epochs, and predictions settle long before it is small.
    intercept_scaling : float, default=1.0
        The constant feature; the intercept is penalized like the weights. 0: no intercept.
    cache_size : float, default=500
        Megabytes of kernel values to keep.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of visits.
    verbose : int, default=0
        1 writes a line to stderr now and then, 2 every epoch.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Training rows that violated a margin. (Of equal rows of a class, the first stands for all.)
    support_vectors_ : {ndarray, CSR} of shape (n_support, n_features)
        Those rows; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (n_columns, n_support)
        ``f_c(x) = Σ_j dual_coef_cj k(x, x_j) + intercept_c``; a column per class, or one for two.
    intercept_ : ndarray of shape (n_columns,)
    objective_, dual_objective_, duality_gap_ : float
        ``λ/2‖w‖² + (1/N) Σ_i ℓ_i``, a lower bound of its optimum, and their difference.
    penalty_ : float
        ``λ``.
    gamma_ : float
        The value of ``gamma`` that was used.
    n_iter_ : int
        Epochs run.
    t_ : int
        Rows visited.
    history_ : list of (epoch, objective, duality gap)
    classes_ : ndarray of shape (n_classes,)
    n_samples_fit_ : int
        Rows of the training data.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    PegasosSVC : The linear case, without kernel values.
    LocallyLinearSVC : About as accurate, and much faster on many rows.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter. Pegasos: primal estimated sub-gradient
    solver for SVM. Mathematical Programming 127, 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal.linear import KernelPegasosSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = KernelPegasosSVC(random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    """

    C: float = 1.0
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 1.0
    sampling: str = "permutation"
    average: bool = True
    max_iter: int = 100
    tol: float = 0.1
    intercept_scaling: float = 1.0
    cache_size: float = 500
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _fit_rows(self, data: LabelledRows) -> None:
        if hasattr(self, "classes_"):
            del self.classes_  # an interrupted fit must not leave the last model with other rows
        data, kernel, source = self._source(data)
        n_classes = len(data.classes)
        weight = float(data.sample_weight.sum())
        penalty = penalty_of(self.C, weight)
        with (
            Workers(self.n_jobs) as workers,
            EpochMonitor(self, self.max_iter, self.verbose) as monitor,
        ):
            result = kernel_pegasos.solve(
                source, column_targets(data.target, n_classes),
                data.sample_weight * (source.n_rows / weight), n_columns(n_classes),
                lambda_=penalty, sampling=self.sampling, average=bool(self.average), tol=self.tol,
                max_iter=self.max_iter, cache_bytes=self.cache_size * MEGABYTE,
                rng=make_generator(self.random_state), workers=workers, monitor=monitor,
            )  # fmt: skip
        self._kernel, self.gamma_, self.penalty_ = kernel, kernel.gamma, penalty
        self.n_samples_fit_ = data.X.shape[0] if data.origin is None else len(data.origin.row)
        self._take(result, data)
        if not self._is_precomputed:
            self._keep_background(data)
        if self.kernel in NEEDS_HISTOGRAMS:
            self._background = self._background.nonnegative()

    def _check_arguments(self) -> None:
        check_number("C", self.C)
        check_kernel(self.kernel, self.gamma, self.degree, self.coef0)
        check_choice("sampling", self.sampling, SAMPLINGS)
        check_flag("average", self.average)
        check_number("max_iter", self.max_iter, integer=True, above=1, inclusive=True)
        check_number("tol", self.tol, inclusive=True)
        check_number("intercept_scaling", self.intercept_scaling, inclusive=True)
        check_number("cache_size", self.cache_size, inclusive=True)
        check_common(self)

    def _source(self, data: LabelledRows) -> tuple[LabelledRows, Kernel, KernelSource]:
        """Distinct rows, their kernel, and where its values between training rows come from."""
        constant = float(self.intercept_scaling) ** 2
        if not self._is_precomputed:
            if self.kernel == "rbf":
                warn_about_scales(data.X, "The Gaussian kernel depends on distances")
            data = merge_equal_rows(data)
            kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0, data.X)
            return data, kernel, RowKernel(kernel, data.X, constant)
        K = data.X if data.origin is None else data.X[:, data.given_rows()]
        check_precomputed(K)
        return data, Kernel("precomputed"), MatrixKernel(np.ascontiguousarray(K), constant)

    def _take(self, result: KernelResult, data: LabelledRows) -> None:
        dtype = data.X.dtype
        self.support_ = data.given_rows()[result.support]
        self.support_vectors_ = (
            np.empty((0, data.X.shape[1]), dtype)
            if self._is_precomputed
            else take_rows(data.X, result.support)
        )
        self.dual_coef_ = np.ascontiguousarray(result.coefficients.T.astype(dtype))
        constant = float(self.intercept_scaling) ** 2
        self.intercept_ = (constant * result.coefficients.sum(axis=0)).astype(dtype)
        self.n_iter_, self.t_ = result.n_iter, result.steps
        self.objective_, self.duality_gap_ = result.objective, result.duality_gap
        self.history_ = result.history
        self.classes_ = data.classes
        if not (result.converged or result.stopped):
            share = result.duality_gap / result.objective if result.objective else np.nan
            warnings.warn(
                f"Pegasos was stopped after {result.n_iter} epochs at a relative duality gap of "
                f"{share:.1e}, above tol={self.tol:g}; raise max_iter or tol, or lower C.",
                ConvergenceWarning,
                stacklevel=3,
            )
