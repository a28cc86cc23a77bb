"""The methods of the tables, ours and peers: one small adapter each.

An adapter turns the settings of a table (plain numbers and words) into an unfitted estimator that
uses one thread, so that seconds of different methods can be compared. Three settings are common to
all: ``standardized`` scales the features before the estimator, ``components`` puts so many
principal components before it (both count as part of its time), and ``gamma_times_scale`` gives a
kernel's γ in units of scikit-learn's "scale".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from ..estimators.adaptive_neighborhood import AdaptiveNeighborhoodSVC
from ..estimators.clustered import ClusteredSVC
from ..estimators.kernel_pegasos import KernelPegasosSVC
from ..estimators.landmark import LandmarkSVC
from ..estimators.latent import LatentLocallyLinearSVC
from ..estimators.local_coding import LocalCodingSVC
from ..estimators.local_deep import LocalDeepSVC
from ..estimators.locally_linear import LocallyLinearSVC
from ..estimators.locally_linear_cv import LocallyLinearSVCCV
from ..estimators.neighborhood import NeighborhoodSVC
from ..estimators.profile import ProfileSVC
from ..estimators.second_look import SecondLookSVC
from ..estimators.supervised_anchors import SupervisedAnchorSVC
from ..neighbors.megm import MEGM

Settings = dict[str, Any]
KERNEL_CACHE = 1000  # megabytes, for LIBSVM


@dataclass(frozen=True)
class Method:
    """How to make an estimator from settings."""

    make: Callable[[Settings, int], Any]  #: settings and seed to an unfitted estimator
    ours: bool = False
    module: str = "hyperlocal"  #: what must be importable
    package: str = "hyperlocal"  #: the distribution that has it
    is_random: bool = True  #: whether another seed gives another model of the same rows

    @property
    def is_installed(self) -> bool:
        """Whether its package is there."""
        return find_spec(self.module) is not None


def make_estimator(method: Method, settings: Settings, X: np.ndarray, seed: int) -> Any:
    """Return the estimator that these settings mean for these training rows."""
    settings = dict(settings)
    n_components = settings.pop("components", None)
    steps: list[Any] = [StandardScaler()] if settings.pop("standardized", False) else []
    if n_components is not None:
        steps.append(PCA(n_components, svd_solver="covariance_eigh", random_state=seed))
    if "gamma_times_scale" in settings:
        # Principal components keep nearly all of the variance, but on fewer features.
        width = n_components or X.shape[1]
        variance = X.var() * X.shape[1] / width
        settings["gamma"] = float(settings.pop("gamma_times_scale") / (width * variance))
    return make_pipeline(*steps, method.make(settings, seed))


def _ours(kind: Callable[..., Any], *, is_random: bool = True) -> Method:
    def make(settings: Settings, seed: int) -> Any:
        return kind(n_jobs=1, random_state=seed, **settings)

    return Method(make, ours=True, is_random=is_random)


def _scikit_learn(make: Callable[[Settings, int], Any], *, is_random: bool) -> Method:
    return Method(make, module="sklearn", package="scikit-learn", is_random=is_random)


def _nystroem(settings: Settings, seed: int) -> Any:
    kernel = {name: settings[name] for name in ("gamma", "n_components") if name in settings}
    linear = {name: value for name, value in settings.items() if name not in kernel}
    # scikit-learn advises the primal form for more rows than features.
    model = LinearSVC(random_state=seed, dual=False, **linear)
    return make_pipeline(Nystroem(random_state=seed, **kernel), model)


def times_log2(k: float, n_rows: int) -> float:
    """The papers' size of a neighborhood, ``k log2 N``."""
    return k * math.log2(n_rows)


def _neighborhood(kind: Callable[..., Any]) -> Callable[..., Any]:
    """The estimator by the papers' settings: ``k``, and the width ``sigma`` of a Gaussian."""

    def make(k: float = 3, sigma: Any = "local", **settings: Any) -> Any:
        gamma = sigma if sigma == "local" else 1 / (2 * sigma**2)
        return kind(partial(times_log2, k), gamma=gamma, **settings)

    return make


def _second_look(settings: Settings, seed: int) -> Any:
    """Locally linear SVMs; rows on which their margin is low get SVMs of their own."""
    names = {"local_C": "C", "local_tol": "tol", "k": "k", "sigma": "sigma"}
    local = {names[key]: value for key, value in settings.items() if key in names}
    quick = {key: value for key, value in settings.items() if key not in names}
    low_margin = quick.pop("clear_lead", "auto")
    return SecondLookSVC(
        LocallyLinearSVC(n_jobs=1, random_state=seed, **quick),
        _neighborhood(NeighborhoodSVC)(n_jobs=1, random_state=seed, **local),
        low_margin=low_margin, n_jobs=1, random_state=seed,
    )  # fmt: skip


def _nearest_in_learned_metric(settings: Settings, seed: int) -> Any:
    metric = MEGM(n_jobs=1, random_state=seed, **settings)
    return make_pipeline(metric, KNeighborsClassifier(1, n_jobs=1))


def _intelex_svc(settings: Settings, seed: int) -> Any:
    from sklearnex.svm import SVC as IntelexSVC

    return IntelexSVC(cache_size=KERNEL_CACHE, **settings)


def _lightgbm(settings: Settings, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1, **settings)


def _liblinear_multicore(settings: Settings, seed: int) -> Any:
    from .multicore import MulticoreLinearSVC

    return MulticoreLinearSVC(**settings)


METHODS: dict[str, Method] = {
    "locally-linear": _ours(LocallyLinearSVC),
    "locally-linear-search": _ours(LocallyLinearSVCCV),
    "supervised-anchors": _ours(SupervisedAnchorSVC),
    "local-coding": _ours(LocalCodingSVC),
    "landmark": _ours(LandmarkSVC),
    "clustered": _ours(ClusteredSVC),
    "profile": _ours(ProfileSVC),
    "local-deep": _ours(LocalDeepSVC),
    "latent": _ours(LatentLocallyLinearSVC),
    "neighborhood": _ours(_neighborhood(NeighborhoodSVC), is_random=False),
    "second-look": Method(_second_look, ours=True),
    "adaptive-neighborhood": _ours(_neighborhood(AdaptiveNeighborhoodSVC)),
    "megm": Method(_nearest_in_learned_metric, ours=True),
    "kernel-pegasos": _ours(KernelPegasosSVC),
    "svc": _scikit_learn(
        lambda settings, seed: SVC(cache_size=KERNEL_CACHE, **settings), is_random=False
    ),
    "linear-svc": _scikit_learn(
        lambda settings, seed: LinearSVC(random_state=seed, **settings), is_random=False
    ),
    "sgd": _scikit_learn(
        lambda settings, seed: SGDClassifier(n_jobs=1, random_state=seed, **settings),
        is_random=True,
    ),
    "nystroem": _scikit_learn(_nystroem, is_random=True),
    "nearest-neighbors": _scikit_learn(
        lambda settings, seed: KNeighborsClassifier(n_jobs=1, **settings), is_random=False
    ),
    "boosting": _scikit_learn(
        lambda settings, seed: HistGradientBoostingClassifier(random_state=seed, **settings),
        is_random=True,
    ),
    "intelex-svc": Method(
        _intelex_svc, module="sklearnex", package="scikit-learn-intelex", is_random=False
    ),
    "lightgbm": Method(_lightgbm, module="lightgbm", package="lightgbm", is_random=False),
    "liblinear-multicore": Method(
        _liblinear_multicore, module="liblinear", package="liblinear-multicore", is_random=False
    ),
}
