"""Pareto fronts of balance: against the k-means cost, and against the normalised cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter, validate_data

from skfair._groups.arguments import FitArguments
from skfair._groups.groups import balances_and_data_balance, smallest_share_ratios
from skfair._utils.api import Axes, MatrixLike
from skfair._utils.checks import check_choice, join_names, resolve_name, warn
from skfair._utils.fit import fitted_feature_attributes, single_threaded_blas, store_fit
from skfair._utils.parameters import validate_params
from skfair.cluster._base import (
    GROUP_SHARE_PARAMETERS,
    ROUNDING,
    Route,
    front_points,
    status_attributes,
    warn_of_duplicates,
)
from skfair.cluster.kmeans._fair_kmeans import FairKMeans, check_input
from skfair.cluster.kmeans._front import MAX_SEARCHED_SAMPLES
from skfair.cluster.kmeans._homotopy import Homotopy
from skfair.cluster.kmeans._rounds import RunSettings, make_run_settings
from skfair.cluster.literature._alternating import AlternatingFront
from skfair.cluster.spectral._fair_spectral import FairSpectralClustering
from skfair.cluster.spectral._problem import make_spectral_problem
from skfair.cluster.spectral._rounding import ncut_path
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import hypervolume
from skfair.plotting import ParetoFrontDisplay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from sklearn.base import BaseEstimator

    from skfair.cluster._base import FairClusterer
    from skfair.cluster.kmeans._fair_kmeans import KMeansInput
    from skfair.cluster.spectral._problem import SpectralProblem


# Pareto fronts of clusterings: the cost of each degree of balance.


BALANCE_METRICS = ("balance", "share_ratio")
"""What may rise along a front; `ClusterRequirements` has fields with these names."""

_MEASURED = ("balance", "relative_balance", "share_ratio")
"""What is measured of each point of a front."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ParetoFront:
    """Clusterings of which none is both cheaper and more balanced than another.

    Made by `cluster_front`. Points are sorted by cost, so that the
    metric, balance or the ratio of shares, rises along the front: point 0 is the cheapest, the
    last point is the most balanced. The other of the two is reported as well, and may fall on the
    way.

    Read more in the :ref:`guide <fair_clustering>`.

    Attributes
    ----------
    cost : ndarray of shape (n_points,)
        Cost of each clustering: the squared distance to its centre of an average sample (f1), or
        the normalised cut.
    balance : ndarray of shape (n_points,)
        Balance of each clustering: the minimum ratio, over its clusters, of the smallest to the
        largest group (f2, in [0, 1]).
    relative_balance : ndarray of shape (n_points,)
        The same as a share of the data's own balance; of several attributes the minimum over them.
    share_ratio : ndarray of shape (n_points,)
        Minimum ratio of two groups' shares in a cluster, of each clustering: from 0.8 on the
        four-fifths rule is kept.
    data_balance : float
        The balance of the data as a whole, which no clustering exceeds; its ratio of shares is 1.
    cost_name : str
        What the cost is, in words: the label of an axis.
    metric : {"balance", "relative_balance", "share_ratio"}
        What rises along the front: of several attributes the balance relative to the data.

    Examples
    --------
    >>> from skfair.cluster import FairKMeans, cluster_front
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> groups = ["a", "a", "b", "b", "b", "a"]
    >>> front = cluster_front(FairKMeans(2, random_state=0), X, sensitive_features=groups)
    >>> front.balance.tolist()
    [0.5, 1.0]
    >>> front.labels(front.select(min_balance=0.5)).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    cost: np.ndarray
    balance: np.ndarray
    relative_balance: np.ndarray
    share_ratio: np.ndarray
    data_balance: float
    cost_name: str
    metric: str
    _routes: tuple
    _positions: np.ndarray  # (n_points, 2): route, number of its moves
    _build: Callable  # labels -> fitted estimator

    @classmethod
    def _from_routes(
        cls,
        routes: Sequence[Route],
        measure: Callable,
        build: Callable,
        data_balance: float,
        cost_name: str,
        metric: str = "balance",
    ) -> Self:
        """The non-dominated points of all prefixes of the routes.

        ``measure(route, n_moves)`` returns the columns of `_MEASURED`, (3, n_points), after numbers
        of moves, and ``build(labels)`` a fitted estimator.
        """
        cost, ratio, positions = front_points(routes)  # type: ignore[arg-type]
        measured = np.empty((len(_MEASURED), len(cost)))
        for r in np.unique(positions[:, 0]):
            points = positions[:, 0] == r
            measured[:, points] = measure(routes[r], positions[points, 1])
        columns = dict(zip(_MEASURED, measured, strict=True))
        return cls(
            cost=cost,
            **(columns | {metric: ratio}),
            data_balance=data_balance,
            cost_name=cost_name,
            metric=metric,
            _routes=tuple(routes),
            _positions=positions,
            _build=build,
        )

    def __len__(self) -> int:
        return len(self.cost)

    def __repr__(self) -> str:
        lowest, highest = getattr(self, self.metric)[[0, -1]]
        of_data = f" of {self.data_balance:.3g}" if self.metric == "balance" else ""
        return (
            f"ParetoFront({len(self)} points, cost {self.cost[0]:.4g} to {self.cost[-1]:.4g}, "
            f"{self.metric} {lowest:.3g} to {highest:.3g}{of_data})"
        )

    def labels(self, i: int) -> np.ndarray:
        """Cluster of each sample at point ``i``.

        Parameters
        ----------
        i : int
            Position on the front; negative positions count from its end.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
        """
        position, n_moves = self._positions[i]
        return self._routes[position].labels_after(n_moves)

    def centers(self, i: int) -> np.ndarray:
        """Means of the clusters at point ``i``, (n_clusters, n_features); of k-means only.

        Parameters
        ----------
        i : int
            Position on the front; negative positions count from its end.
        """
        return self.to_estimator(i).cluster_centers_

    def to_estimator(self, i: int) -> FairKMeans | FairSpectralClustering:
        """A fitted estimator whose clustering is that of point ``i``.

        Parameters
        ----------
        i : int
            Position on the front; negative positions count from its end.

        Returns
        -------
        estimator : FairKMeans or FairSpectralClustering
        """
        return self._build(self.labels(i))

    def select(self, *, min_balance: float = 0.0, min_share_ratio: float = 0.0) -> int:
        """Position of the cheapest point with at least the given balance, or ratio of shares.

        Parameters
        ----------
        min_balance : float in [0, 1], default=0.0
            Relative to the data's own balance, as in `FairKMeans`.
        min_share_ratio : float in [0, 1], default=0.0
            Minimum ratio of two groups' shares in a cluster, as in `FairKMeans`.

        Returns
        -------
        i : int
            If no point reaches both, the nearest one, with an `InfeasibleConstraintWarning`.

        Raises
        ------
        ValueError
            If one of them is outside [0, 1].
        """
        for name, least in {"min_balance": min_balance, "min_share_ratio": min_share_ratio}.items():
            if not isinstance(least, Real) or not 0 <= least <= 1:
                raise ValueError(
                    f"{name} must be a share in [0, 1], got {least!r}; 0.8 is four fifths."
                )
        # How far each point misses; points ascend in cost, so that the first one that misses
        # nothing wins.
        lacking = np.maximum(
            min_balance - self.relative_balance * (1 + 1e-12),
            min_share_ratio - self.share_ratio * (1 + 1e-12),
        )
        if (lacking > 0).all():
            nearest = int(np.argmin(lacking))
            warn(
                _explain_unreachable(self, nearest, min_balance, min_share_ratio),
                InfeasibleConstraintWarning,
            )
            return nearest
        return int(np.argmax(lacking <= 0))

    def hypervolume(self, *, reference: tuple[float, float]) -> float:
        """Hypervolume: area between the front and the reference point that the front dominates.

        Parameters
        ----------
        reference : tuple of (cost, metric)
            The worst corner.
        """
        return hypervolume(self.cost, getattr(self, self.metric), reference=reference)

    def plot(
        self, *, selected: int | None = None, name: str | None = None, ax: Axes | None = None
    ) -> ParetoFrontDisplay:
        """Draw the front.

        Parameters
        ----------
        selected : int, default=None
            Position of the point to mark, such as ``front.select(min_balance=0.8)``.
        name : str, default=None
            Name of the front in the legend.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on, perhaps those of another front. None makes a new figure.

        Returns
        -------
        display : skfair.plotting.ParetoFrontDisplay
            The drawn display, with ``ax_``, ``figure_`` and ``line_``.
        """
        display = ParetoFrontDisplay(
            self.to_frame(), selected=selected, name=name, metric=self.metric
        ).plot(ax, bound=self.data_balance if self.metric == "balance" else None)
        display.ax_.set_ylabel(self.cost_name)
        return display

    def to_frame(self) -> pd.DataFrame:
        """The front as a table.

        Returns
        -------
        frame : pandas.DataFrame
            Columns cost, balance, relative_balance, share_ratio, and extra_cost: the cost on top of
            that of the cheapest point, as a share of the latter.
        """
        cheapest = self.cost[0]
        extra = self.cost - cheapest
        relative = extra / cheapest if cheapest > 0 else np.where(extra > 0, np.inf, 0)
        columns = {name: getattr(self, name) for name in ("cost", *_MEASURED)}
        return pd.DataFrame(columns | {"extra_cost": relative})


def _explain_unreachable(
    front: ParetoFront, i: int, min_balance: float, min_share_ratio: float
) -> str:
    """A message that no point reaches the required ratios, of which point ``i`` is nearest."""
    required, reached = [], []
    if min_balance > 0:
        required.append(f"min_balance={min_balance}")
        reached.append(f"{front.relative_balance[i]:.4f} of the data's balance")
    if min_share_ratio > 0:
        required.append(f"min_share_ratio={min_share_ratio}")
        reached.append(f"a ratio of shares of {front.share_ratio[i]:.4f}")
    advice = "Samples cannot always be split evenly: ask for less, or use fewer clusters."
    if min_share_ratio > 0 and front.metric != "share_ratio":
        advice = "This front is one of balances: ask for one with metric='share_ratio'."
    return (
        f"No point of the front reaches {' and '.join(required)}; the nearest has "
        f"{' and '.join(reached)} and is selected. {advice}"
    )


def cluster_front(
    estimator: FairKMeans | FairSpectralClustering,
    X: MatrixLike,
    *,
    sensitive_features: MatrixLike,
    n_levels: int | None = None,
    metric: str = "balance",
    algorithm: str | Homotopy | AlternatingFront = "homotopy",
    sample_weight: ArrayLike | None = None,
) -> ParetoFront:
    r"""Compute the front of clusterings, which shows what every degree of balance costs.

    The cost is that of the estimator: the mean squared distance to the means of the clusters (f1),
    or the normalised cut. What rises is the minimum balance of a cluster (f2), or else the minimum
    ratio of the shares of two groups that are in a cluster,

    .. math::
        \min_{k, j, j'} \; \frac{n_{kj} / N_j}{n_{kj'} / N_{j'}},

    which also bounds how common a group becomes. Other bounds of the estimator, such as those on
    sizes, are kept by every clustering.

    Parameters
    ----------
    estimator : FairKMeans or FairSpectralClustering
        Not fitted, and not changed. Its ``min_balance`` and ``min_share_ratio`` are not used, as
        they are what the front varies. ``n_init="auto"`` is ten starts.
    X : array-like of shape (n_samples, n_features)
        Samples, or what the affinity of the estimator takes. Sparse ones are not made dense.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample, as in :meth:`FairKMeans.fit`.
    n_levels : int or None, default=None
        Number of balances at which a fair clustering is computed; single moves of samples fill the
        gaps between them in k-means. None is 20, and 30 of k-means of up to 1,000 samples. Not used
        by the alternating algorithm.
    metric : {"balance", "share_ratio"}, default="balance"
        What rises along the front, as ``min_balance`` and ``min_share_ratio`` of
        :class:`FairKMeans` bound it. The alternating algorithm knows balance alone.
    algorithm : {"homotopy", "alternating"}, Homotopy or AlternatingFront, default="homotopy"
        Of k-means; "alternating" is Algorithm 3 of [1]_, which takes no bounds on shares and sizes.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of k-means; samples of weight 0 count as absent.

    Returns
    -------
    front : ParetoFront
        Cost, balance, ratio of shares and labels of every clustering, sorted by cost.

    Raises
    ------
    ValueError
        If a parameter or the data is invalid; the message says what must hold.
    TypeError
        If the estimator is another one, ``sensitive_features`` is sparse, or X where ``algorithm``
        is "alternating".
    MemoryError
        As in :meth:`FairSpectralClustering.fit`.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, arXiv:2105.14172.

    Examples
    --------
    >>> from skfair.cluster import FairKMeans, cluster_front
    >>> from skfair.datasets import make_fair_blobs
    >>> X, _, groups = make_fair_blobs(300, centers=2, random_state=0)
    >>> kmeans = FairKMeans(2, random_state=0)
    >>> front = cluster_front(kmeans, X, sensitive_features=groups)
    >>> model = front.to_estimator(front.select(min_balance=0.9))
    >>> print(f"{model.relative_balance_:.2f}")
    0.91

    What the four-fifths rule costs:

    >>> front = cluster_front(kmeans, X, sensitive_features=groups, metric="share_ratio")
    >>> i = front.select(min_share_ratio=0.8)
    >>> extra_cost = front.to_frame()["extra_cost"][i]
    >>> print(f"{front.share_ratio[i]:.2f}, {extra_cost:.0%} above the cheapest point")
    0.81, 50% above the cheapest point
    """
    # Of a class of estimators: check of its input, routes of its front, and name of its cost.
    kinds = {
        FairKMeans: (check_input, _kmeans_routes, "cost (mean squared distance to centre)"),
        FairSpectralClustering: (make_spectral_problem, _spectral_routes, "normalised cut"),
    }
    if type(estimator) not in kinds:
        raise TypeError(
            f"estimator must be one of {join_names(f'{one.__name__}()' for one in kinds)}; got "
            f"{estimator!r}."
        )
    algorithm = resolve_name(
        FRONT_ALGORITHMS, algorithm, "algorithm", tuple(FRONT_ALGORITHMS.values())
    )
    if metric == "share_ratio" and isinstance(algorithm, AlternatingFront):
        raise ValueError(
            "algorithm='alternating' does not control ratios of shares, so metric must be "
            "'balance', got 'share_ratio'. Use algorithm='homotopy' for it."
        )
    bounds = [f"{name}={getattr(estimator, name)}" for name in BOUNDS if _has(estimator, name)]
    if bounds and isinstance(algorithm, AlternatingFront):
        raise ValueError(
            f"algorithm='alternating' does not keep bounds on sizes and shares, got "
            f"{join_names(bounds)}. Use algorithm='homotopy' with them."
        )
    if getattr(estimator, "max_iter", None) == 0:
        raise ValueError("max_iter must be at least 1 in a front, got 0: its centres move.")
    for name in BOUNDS[:2]:
        if np.ndim(getattr(estimator, name, None) or 0) > 0:
            raise ValueError(
                f"{name} must be one bound for all clusters in a front, got "
                f"{getattr(estimator, name)}: a front starts from centres of its own."
            )
    if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(f"{type(estimator).__name__} takes no sample_weight; leave it out.")
    if _has(estimator, "n_landmarks"):
        raise ValueError(
            f"n_landmarks must be None in a front, got {estimator.n_landmarks}: its search needs "
            "the affinity of all pairs. Pass a subsample, or fit the estimator at one min_balance."
        )
    # The front draws from the random state of the estimator, which a clone copies.
    varied = {"min_balance": None, "min_share_ratio": None}
    estimator = clone(estimator).set_params(**varied, random_state=estimator.random_state)
    kind = algorithm, *kinds[type(estimator)]
    arguments = FitArguments(
        X=X, sensitive_features=sensitive_features, sample_weight=sample_weight
    )
    with single_threaded_blas():
        return _compute_front(estimator, arguments, n_levels, kind, metric)


def _has(estimator: FairClusterer, name: str) -> bool:
    """Whether the estimator has a value of a parameter, other than None."""
    return getattr(estimator, name, None) is not None


BOUNDS = ("min_cluster_size", "max_cluster_size", *GROUP_SHARE_PARAMETERS)
"""Parameters of `FairKMeans` that every clustering of a front keeps."""


FRONT_ALGORITHMS = {"homotopy": Homotopy, "alternating": AlternatingFront}
"""An algorithm of fronts is a parameter record with a method ``front``, see `Homotopy`."""


def _compute_front(
    estimator: BaseEstimator,
    arguments: FitArguments,
    n_levels: int | None,
    kind: tuple,
    metric: str,
) -> ParetoFront:
    """The Pareto front of a clusterer's cost and balance, or ratio of shares.

    The clusterer requires no balance itself. The kind has the algorithm, the check of the input,
    ``make_routes(algorithm, estimator, data, n_levels, random_state, metric)``, which returns the
    routes of the front, whose points can become fitted clones of the estimator, and the name of the
    cost.
    """
    algorithm, check, make_routes, cost_name = kind
    check_choice("metric", metric, BALANCE_METRICS)
    if n_levels is not None and (not isinstance(n_levels, Integral) or n_levels < 1):
        raise ValueError(f"n_levels must be a positive int, got {n_levels!r}.")
    validate_params(estimator)
    if arguments.is_partitioned:
        raise TypeError(
            "A front moves single samples, which must be in memory, but the data are partitioned: "
            "pass a subsample, or fit FairKMeans to all at one min_balance."
        )
    random_state = check_random_state(estimator.random_state)
    fit_input = check(estimator, arguments)
    if len(fit_input.groups.labels) == len(fit_input.requirements.attribute_slices):
        lacks = "=None" if arguments.sensitive_features is None else " of one group"
        warn(
            f"The front of cost and balance got sensitive_features{lacks}: all samples are one "
            "group, every clustering is balanced, and the front is one plain clustering. Pass the "
            "group of each sample, of two groups or more.",
            MissingSensitiveFeaturesWarning,
        )
    validate_data(estimator, arguments.X, skip_check_array=True)  # number and names of features
    # What all clusterings share is prepared once; routes start from it.
    fit_input = (
        fit_input.embed(estimator, random_state) if hasattr(fit_input, "embed") else fit_input
    )
    is_relative = metric == "balance" and len(fit_input.requirements.attribute_slices) > 1
    return ParetoFront._from_routes(
        make_routes(algorithm, estimator, fit_input, n_levels, random_state, metric),
        partial(_measure_ratios, fit_input, estimator.n_clusters),
        partial(_build_estimator, estimator, fit_input, metric),
        data_balance=fit_input.data_balance,
        cost_name=cost_name,
        metric="relative_balance" if is_relative else metric,
    )


def _measure_ratios(
    fit_input: KMeansInput | SpectralProblem, n_clusters: int, route: Route, n_moves: np.ndarray
) -> list[np.ndarray]:
    """Balances, absolute and relative, and ratios of shares of a route after numbers of moves."""
    # Count once, and let every move take the counts of its sample to another cluster. The moves
    # between two points are added to those of the second.
    counts = fit_input.counts(route.labels, n_clusters)
    ends, of_point = np.unique(n_moves, return_inverse=True)
    numbers = np.arange(ends[-1])
    first_point = np.searchsorted(ends, numbers, "right")
    moved = fit_input.sample_counts(route.samples[numbers])
    changes = np.zeros((len(ends), *counts.shape))
    np.subtract.at(changes, (first_point, route.sources()[numbers]), moved)
    np.add.at(changes, (first_point, route.clusters[numbers]), moved)
    tables = (counts + np.cumsum(changes, axis=0))[of_point]
    tables[tables < ROUNDING * counts.sum()] = 0.0
    # Ratios do not depend on how often all samples are counted: the clusters of all points at once.
    counts = tables.reshape(-1, counts.shape[1])
    tables = [counts[:, groups] for groups in fit_input.requirements.attribute_slices]
    ratios = *balances_and_data_balance(tables)[:2], smallest_share_ratios(tables)
    return [ratio.reshape(-1, n_clusters).min(axis=1) for ratio in ratios]


def _build_estimator(
    estimator: FairClusterer,
    fit_input: KMeansInput | SpectralProblem,
    metric: str,
    labels: np.ndarray,
) -> FairClusterer:
    """A fitted clone whose clustering is the given one: a point of a front."""
    point = clone(estimator)
    fitted = fit_input.label_attributes(point, labels)
    fitted |= status_attributes(fitted, "feasible", False) | fitted_feature_attributes(estimator)
    store_fit(point, fitted | {"n_iter_": 0})
    if metric == "balance":
        return point.set_params(min_balance=min(1.0, point.relative_balance_))
    return point.set_params(min_share_ratio=min(1.0, point.share_ratio_))


# Routes of both kinds of clusterings.


def _kmeans_routes(algorithm, estimator, fit_input, n_levels, random_state, metric):
    """The clusterings of an algorithm, with labels for the rows without weight too."""
    runs = make_run_settings(estimator, fit_input, n_auto=10)
    problem = fit_input.problem
    n_distinct = problem.count_distinct_rows(runs.n_clusters)
    if n_distinct < runs.n_clusters:
        warn_of_duplicates(n_distinct, runs.n_clusters)
    # The levels rise to a ratio of 1 in the scales of the metric.
    requirements = fit_input.requirements._replace(**{metric: 1.0})
    limits = requirements.limits(problem.group_weights, problem.limits.intersections)
    problem = replace(problem, limits=limits)
    # Of few samples a move is a large step of the balance: they have more levels.
    n_levels = n_levels or (30 if problem.n_samples <= MAX_SEARCHED_SAMPLES else 20)
    routes = algorithm._front(problem, runs, n_levels, random_state)
    return [_complete_route(route, fit_input, runs.n_clusters) for route in routes]


def _complete_route(route: Route, fit_input: KMeansInput, n_clusters: int) -> Route:
    """The route with labels and row numbers of all rows."""
    centers = fit_input.problem.clustering_from_labels(route.labels, n_clusters).centers
    labels = fit_input.complete_labels(route.labels.astype(np.int32), centers)
    labels = labels.astype(route.labels.dtype, copy=False)
    return route._replace(labels=labels, samples=fit_input.positive_weight_samples[route.samples])  # type: ignore[index]


def _spectral_routes(
    algorithm: Homotopy,
    estimator: FairSpectralClustering,
    problem: SpectralProblem,
    n_levels: int,
    random_state: np.random.RandomState,
    metric: str,
) -> list[Route]:
    """Clusterings at every level, as routes of one point each."""
    inaccuracy = problem.explain_early_stop(estimator)
    if inaccuracy is not None:
        warn(inaccuracy, ConvergenceWarning)
    runs = RunSettings(estimator.n_clusters, n_init=estimator.n_init)
    embedding = problem.embedding.embedding  # type: ignore[union-attr]
    searches = ncut_path(problem, embedding, runs, random_state, n_levels or 20)
    limits = problem.requirements._replace(**{metric: 1.0}).limits(problem.groups.counts)  # type: ignore[arg-type]
    routes = []
    for search in searches:
        # Each keeps the ratio that it has reached.
        reached = limits._replace(level=search.scaled_balance(limits))
        search = search.search_within(reached).iterate_within(reached, problem, random_state)
        ratio = search.scaled_balance(limits)
        routes.append(Route.from_labels(search.labels, search.ncut, ratio))
    return routes
