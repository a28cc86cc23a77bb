"""The methods by name: one registry for the comparison, its page, the command line and benchmarks.

:data:`METHODS` maps the key of each classifier to a :class:`Method`, and :data:`REGRESSORS` that of
each regressor; what is the same method has the same key. Every method is made with default
parameters; ``set_params`` changes them. To add one, add an entry: every command, the page and the
plans of the benchmarks then know its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from ..datasets.tables import close_to
from ..estimators.adaptive_neighborhood import AdaptiveNeighborhoodSVC
from ..estimators.clustered import ClusteredSVC
from ..estimators.kernel_pegasos import KernelPegasosSVC
from ..estimators.landmark import LandmarkSVC
from ..estimators.latent import LatentLocallyLinearSVC
from ..estimators.local_coding import LocalCodingSVC
from ..estimators.local_deep import LocalDeepSVC
from ..estimators.locally_linear import LocallyLinearSVC
from ..estimators.locally_linear_cv import LocallyLinearSVCCV
from ..estimators.locally_linear_svr import LocallyLinearSVR
from ..estimators.locally_linear_svr_cv import LocallyLinearSVRCV
from ..estimators.neighborhood import NeighborhoodSVC
from ..estimators.neighborhood_svr import NeighborhoodSVR
from ..estimators.pegasos import PegasosSVC
from ..estimators.pegasos_regressor import PegasosRegressor
from ..estimators.profile import ProfileSVC
from ..estimators.sdca import SDCASVC
from ..estimators.second_look import SecondLookSVC
from ..estimators.supervised_anchors import SupervisedAnchorSVC
from ..estimators.supervised_anchors_svr import SupervisedAnchorSVR
from ..neighbors.megm import MEGM
from .targets import CLASSIFICATION, REGRESSION

#: Returns an unfitted estimator for a seed and a number of threads (-1: all cores).
Make = Callable[[int, int | None], Any]
KERNEL_CACHE = 1000  # megabytes, for LIBSVM


@dataclass(frozen=True)
class Package:
    """What must be installed for a method."""

    name: str  #: as pip calls it
    module: str  #: as Python imports it

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported."""
        return find_spec(self.module) is not None


HYPERLOCAL = Package("hyperlocal", "hyperlocal")
SCIKIT_LEARN = Package("scikit-learn", "sklearn")
LIGHTGBM = Package("lightgbm", "lightgbm")


@dataclass(frozen=True)
class Method:
    """A classifier or regressor, and what one must know to run it."""

    key: str  #: short name, for the command line and for plans
    label: str  #: name in tables
    make: Make  #: an unfitted estimator, of a seed and a number of threads
    package: Package = HYPERLOCAL  #: what must be installed for it
    max_rows: int | None = None  #: training rows above which its time is predicted first
    growth: float = 1.1  #: power of the number of rows with which the time of a fit grows
    #: Power of the number of training rows with which the time of a prediction grows.
    query_growth: float = 0.0
    needs_dense: bool = False  #: whether sparse rows must be made dense for it
    is_random: bool = True  #: whether another seed gives another model of the same rows
    can_be_stored: bool = True  #: whether a model file may hold its parts

    @property
    def help(self) -> str:
        """What it does, in a line."""
        return HELP[self.key]

    @property
    def is_ours(self) -> bool:
        """Whether this library implements it."""
        return self.package == HYPERLOCAL


def pick_methods(keys: Iterable[str], known: Mapping[str, Method] | None = None) -> list[Method]:
    """Return the methods with these keys, in the order of the keys, once each.

    Parameters
    ----------
    keys : iterable of str
        Keys of the methods.
    known : mapping of str to Method, optional
        Where to look; default: :data:`METHODS`.

    Returns
    -------
    list of Method
        The methods, in that order.

    Examples
    --------
    >>> from hyperlocal.compare import pick_methods
    >>> [method.label for method in pick_methods(["svc", "linear-svc"])]
    ['RBF SVM', 'linear SVM']
    """
    known, keys = METHODS if known is None else known, list(dict.fromkeys(keys))
    unknown = [key for key in keys if key not in known]
    if unknown:
        raise ValueError(
            f"unknown methods {', '.join(unknown)}{close_to(unknown[0], list(known))}; known are: "
            f"{', '.join(known)}"
        )
    return [known[key] for key in keys]


# How methods are made -----------------------------------------------------------------------------


def _ours(key: str, label: str, kind: Callable[..., Any], **facts: Any) -> Method:
    def make(seed: int, n_jobs: int | None) -> Any:
        return kind(n_jobs=n_jobs, random_state=seed)

    return Method(key, label, make, **facts)


def _linear_local_models(**common: Any) -> LocallyLinearSVC:
    return LocallyLinearSVC(feature_map="identity", **common)


def _linear_local_regressors(**common: Any) -> LocallyLinearSVR:
    return LocallyLinearSVR(feature_map="identity", **common)


def _second_look(**common: Any) -> SecondLookSVC:
    return SecondLookSVC(LocallyLinearSVC(**common), NeighborhoodSVC(**common), **common)


def _nearest_in_learned_metric(n_jobs: int | None, random_state: int) -> Any:
    metric = MEGM(n_jobs=n_jobs, random_state=random_state)
    return make_pipeline(metric, KNeighborsClassifier(1, n_jobs=n_jobs))


def _scikit_learn(
    key: str, label: str, kind: Callable[..., Any], takes: Sequence[str], **facts: Any
) -> Method:
    """A method of scikit-learn that takes a random state, a number of threads, both or none."""

    def make(seed: int, n_jobs: int | None) -> Any:
        common = {"random_state": seed, "n_jobs": n_jobs}
        return kind(**{name: common[name] for name in takes})

    return Method(key, label, make, SCIKIT_LEARN, **facts)


def _svc() -> SVC:
    return SVC(C=10, cache_size=KERNEL_CACHE)


def _svr() -> TransformedTargetRegressor:
    # Its tube has the width 0.1, which means something in standard deviations only.
    return TransformedTargetRegressor(
        SVR(C=10, cache_size=KERNEL_CACHE), transformer=StandardScaler()
    )


def _linear_svr(random_state: int) -> TransformedTargetRegressor:
    return TransformedTargetRegressor(
        LinearSVR(random_state=random_state), transformer=StandardScaler()
    )


def _logistic_regression(random_state: int) -> LogisticRegression:
    return LogisticRegression(max_iter=1000, random_state=random_state)


def _nystroem(random_state: int) -> Any:
    # scikit-learn advises the primal form for more rows than features.
    linear = LinearSVC(random_state=random_state, dual=False)
    return make_pipeline(Nystroem(random_state=random_state), linear)


def _intelex_svc(seed: int, n_jobs: int | None) -> Any:
    from sklearnex.svm import SVC as IntelexSVC

    return IntelexSVC(C=10, cache_size=KERNEL_CACHE)


def _lightgbm(seed: int, n_jobs: int | None) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=n_jobs, random_state=seed, verbose=-1)


def _lightgbm_regressor(seed: int, n_jobs: int | None) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=n_jobs, random_state=seed, verbose=-1)


# The registry -------------------------------------------------------------------------------------

SLOW = {"max_rows": 20_000}
SOMEWHAT_SLOW = {"max_rows": 50_000}
DENSE = {"needs_dense": True}
SAME = {"is_random": False}
QUADRATIC = {"growth": 2.0}  # kernel matrices
PER_QUERY = {"query_growth": 1.0}  # a prediction looks at many or all training rows
UNSTORED = {"can_be_stored": False}  # parts of types that skops does not trust
SEED, JOBS, BOTH = ["random_state"], ["n_jobs"], ["random_state", "n_jobs"]

#: Predict without looking at the features; what they are compared with.
BASELINES = ("majority", "mean")
#: What a comparison of classifiers runs unasked, in the order of its table.
DEFAULT_METHODS = (
    _ours("locally-linear-identity", "locally linear (linear)", _linear_local_models),
    # Of sparse rows its map would be the identity.
    _ours("locally-linear", "locally linear (default)", LocallyLinearSVC, **DENSE),
    _ours("locally-linear-cv", "locally linear (tuned)", LocallyLinearSVCCV, **SLOW, **DENSE),
    _ours("supervised-anchors", "supervised anchors", SupervisedAnchorSVC, **SOMEWHAT_SLOW),
    _ours("second-look", "locally linear, second look", _second_look, **SOMEWHAT_SLOW, **DENSE),
    _ours("local-coding", "linear SVM on codes", LocalCodingSVC),
    _ours("landmark", "landmarks (L3)", LandmarkSVC, **SLOW),
    _ours("clustered", "clustered (CSVM)", ClusteredSVC, **SLOW),
    _ours("profile", "profiles (PSVM)", ProfileSVC, **SLOW),
    _ours("local-deep", "tree of gates (LDKL)", LocalDeepSVC, **SLOW),
    _ours("latent", "latent mixes (ML3)", LatentLocallyLinearSVC, **SLOW),
    _ours("neighborhood", "SVM per query (LSVM)", NeighborhoodSVC, **SLOW, **PER_QUERY, **SAME),
    _scikit_learn("majority", "majority class", DummyClassifier, [], **SAME),
    _scikit_learn("linear-svc", "linear SVM", LinearSVC, SEED, **SAME),
    _scikit_learn("svc", "RBF SVM", _svc, [], **SOMEWHAT_SLOW, **QUADRATIC, **PER_QUERY, **SAME),
    _scikit_learn(
        "boosting", "gradient boosting", HistGradientBoostingClassifier, SEED, **DENSE, **UNSTORED
    ),
)
#: What it runs only where its key is given.
OTHER_METHODS = (
    _ours("adaptive-neighborhood", "SVM per query (LASVM)", AdaptiveNeighborhoodSVC, **DENSE),
    _ours("megm", "nearest neighbor (MEGM)", _nearest_in_learned_metric, **DENSE, **UNSTORED),
    _ours("sdca", "linear SVM (SDCA)", SDCASVC),
    _ours("pegasos", "linear SVM (Pegasos)", PegasosSVC),
    _ours("kernel-pegasos", "RBF SVM (Pegasos)", KernelPegasosSVC),
    _scikit_learn("logistic-regression", "logistic regression", _logistic_regression, SEED, **SAME),
    _scikit_learn("sgd", "linear SVM (SGD)", SGDClassifier, BOTH),
    _scikit_learn("nystroem", "linear SVM (Nyström)", _nystroem, SEED),
    _scikit_learn(
        "nearest-neighbors", "nearest neighbors", KNeighborsClassifier, JOBS, **SAME, **UNSTORED
    ),
    Method("lightgbm", "LightGBM", _lightgbm, LIGHTGBM, **SAME, **UNSTORED),
    Method(
        "intelex-svc",
        "RBF SVM (scikit-learn-intelex)",
        _intelex_svc,
        Package("scikit-learn-intelex", "sklearnex"),
        **SAME,
        **UNSTORED,
    ),
)

#: What each does, in a line; of values and of classes alike.
HELP = {
    "locally-linear-identity": "local models that are linear in the features",
    "locally-linear": "the default: map, anchors and C chosen on held-out training rows",
    "locally-linear-cv": "the default with more choices, by cross-validation",
    "supervised-anchors": "local models whose anchors are learned from the target",
    "second-look": "the default, and small kernel SVMs for rows where its margin is low",
    "local-coding": "a linear SVM on the weights of the anchors near a row",
    "landmark": "a linear model for each cluster, on similarities to shared landmarks",
    "clustered": "a linear model for each cluster, near a common one",
    "profile": "an SVM for each cluster of rows of several classes",
    "local-deep": "linear models along a tree that is learned with them",
    "latent": "each class has several linear models and scores a row by their best mix",
    "neighborhood": "a small SVM for each query, of its nearest training rows",
    "majority": "always the most frequent class, to compare with",
    "linear-svc": "scikit-learn's LinearSVC",
    "svc": "scikit-learn's SVC, an RBF kernel with C=10",
    "boosting": "scikit-learn's HistGradientBoosting, trees",
    "adaptive-neighborhood": "a small SVM for each query, in a learned metric",
    "megm": "the class of the nearest row in a learned metric",
    "sdca": "a linear SVM by stochastic dual coordinate ascent",
    "pegasos": "a linear SVM by stochastic subgradient descent",
    "kernel-pegasos": "a kernel SVM by stochastic subgradient descent",
    "logistic-regression": "scikit-learn's LogisticRegression",
    "sgd": "scikit-learn's SGDClassifier",
    "nystroem": "scikit-learn's Nystroem with 100 rows, and LinearSVC",
    "nearest-neighbors": "scikit-learn's five nearest neighbors",
    "lightgbm": "LightGBM's boosted trees",
    "intelex-svc": "scikit-learn-intelex's SVC",
    "mean": "always the mean, to compare with",
    "ridge": "scikit-learn's Ridge",
    "linear-svr": "scikit-learn's LinearSVR of standardized values",
    "svr": "scikit-learn's SVR of standardized values, an RBF kernel with C=10",
}

METHODS: dict[str, Method] = {method.key: method for method in (*DEFAULT_METHODS, *OTHER_METHODS)}

# Values instead of classes ------------------------------------------------------------------------

#: What a comparison of regressors runs unasked.
DEFAULT_REGRESSORS = (
    _ours("locally-linear-identity", "locally linear (linear)", _linear_local_regressors),
    _ours("locally-linear", "locally linear (default)", LocallyLinearSVR, **DENSE),
    _ours("locally-linear-cv", "locally linear (tuned)", LocallyLinearSVRCV, **SLOW, **DENSE),
    _ours("supervised-anchors", "supervised anchors", SupervisedAnchorSVR, **SOMEWHAT_SLOW),
    _ours("neighborhood", "SVR per query", NeighborhoodSVR, **SLOW, **SAME),
    _scikit_learn("mean", "mean", DummyRegressor, [], **SAME),
    _scikit_learn("ridge", "ridge regression", Ridge, [], **SAME),
    _scikit_learn("linear-svr", "linear SVR", _linear_svr, SEED, **SAME),
    _scikit_learn("svr", "RBF SVR", _svr, [], **SLOW, **QUADRATIC, **SAME),
    _scikit_learn(
        "boosting", "gradient boosting", HistGradientBoostingRegressor, SEED, **DENSE, **UNSTORED
    ),
)
OTHER_REGRESSORS = (
    _ours("pegasos", "linear SVR (Pegasos)", PegasosRegressor),
    _scikit_learn(
        "nearest-neighbors", "nearest neighbors", KNeighborsRegressor, JOBS, **SAME, **UNSTORED
    ),
    Method("lightgbm", "LightGBM", _lightgbm_regressor, LIGHTGBM, **SAME, **UNSTORED),
)
REGRESSORS: dict[str, Method] = {
    method.key: method for method in (*DEFAULT_REGRESSORS, *OTHER_REGRESSORS)
}


def methods_of(task: str) -> dict[str, Method]:
    """The methods of a task by key."""
    return {CLASSIFICATION: METHODS, REGRESSION: REGRESSORS}[task]


def default_methods(task: str) -> tuple[Method, ...]:
    """Those that a comparison runs unasked."""
    return {CLASSIFICATION: DEFAULT_METHODS, REGRESSION: DEFAULT_REGRESSORS}[task]
