"""DaskLocallyLinearSVC: the locally linear SVM over the machines of a cluster."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from ..estimators.locally_linear import LocallyLinearSVC
from .classifier import DaskClassifier


@dataclass(eq=False, repr=False)
class DaskLocallyLinearSVC(DaskClassifier):
    """Locally linear support vector classifier, trained on a Dask cluster.

    The same model as :class:`hyperlocal.LocallyLinearSVC`, and the same optimum. Anchors are fitted
    to a sample; rows are shuffled once, so that near rows are in the same partition; each partition
    runs dual epochs on its own rows. Only weights are sent between rounds. Training stops by the
    duality gap over all rows.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        None is the client in use, or else a ``LocalCluster`` for the time of the fit.
    partitioning : {"anchors", "random", "given"}, default="anchors"
        "anchors" groups rows by their nearest anchors: fewest rounds. "random" shuffles them.
        "given" trains on the partitions as they are, for data that must not be moved; a warning is
        given if they seem to be sorted by class.
    n_partitions : int or None, default=None
        Groups of rows that are trained in parallel; None is one per worker thread.
    epochs_per_round : float or "auto", default="auto"
        Epochs over a partition's rows between two exchanges of weights; 0.5 is a random half of the
        rows. "auto" is 8 for partitions below 20,000 rows, 4 below 50,000, 2 below 200,000, and 1
        above: more epochs save rounds, fewer save work.
    n_anchors, n_neighbors, beta, anchors, feature_map, code_on, normalize : as on one machine
        They are those of :class:`hyperlocal.LocallyLinearSVC`.
    C : float, default=3.0
        Weight of the losses; a number, because a search would need all rows several times.
    max_iter : int, default=500
        The most rounds; fewer than epochs elsewhere, because a round has several epochs.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    intercept_scaling, random_state, verbose, loss, multi_class : as on one machine
        They are those of :class:`hyperlocal.LocallyLinearSVC`.
    class_weight, global_intercept, coding : as on one machine
        They are those of :class:`hyperlocal.LocallyLinearSVC`.

    Attributes
    ----------
    classes_, anchors_, beta_, coef_, intercept_, objective_, duality_gap_, n_features_in_, \
feature_names_in_
        As in :class:`hyperlocal.LocallyLinearSVC`.
    n_iter_ : int
        Rounds.
    history_ : list of (round, objective, duality gap)
    n_partitions_ : int
        Partitions that had rows.
    n_restarts_ : int
        How often partitions were created again, because their worker was lost.
    bytes_per_round_ : dict
        Bytes of weights "sent" to the workers and "received" from them, on average.

    See Also
    --------
    hyperlocal.LocallyLinearSVC : The same on one machine; ``to_local()`` returns one.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal.dask import DaskLocallyLinearSVC
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> X, y = da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500)
    >>> with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"):
    ...     model = DaskLocallyLinearSVC(random_state=0).fit(X, y)
    ...     bool(model.score(X, y) > 0.99)
    True
    """

    _local_class = LocallyLinearSVC

    _: KW_ONLY
    global_intercept: bool = True
    coding: str = "soft"
