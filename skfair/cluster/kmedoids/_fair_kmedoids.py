"""k-medoids whose clusters mirror the groups of the data, by any distances: the estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skfair._groups.arguments import FitArguments
from skfair._groups.groups import GroupSummary, count_table
from skfair._groups.samples import check_alignment
from skfair._kernels.limits import find_memberships, limits_at_counts, round_sizes
from skfair._utils.api import MatrixLike, RandomState
from skfair._utils.checks import argument_error, validate_data, warn
from skfair._utils.fit import restore_on_failure
from skfair._utils.parameters import (
    Array,
    NonNegative,
    OpenShare,
    PositiveInt,
    Share,
    Verbose,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import with_callbacks
from skfair.cluster._assignment import are_infeasible, find_types
from skfair.cluster._base import (
    ClusterRequirements,
    FairClusterer,
    RoundReporter,
    balance_attributes,
    check_rows,
    store_clusters,
)
from skfair.cluster._input import Households, LimitedSamples, bind_limits, encode_memberships
from skfair.cluster.kmedoids._sites import (
    MAX_COMPARED,
    MAX_SETS,
    SearchEnd,
    SearchEnds,
    SearchSettings,
    SearchStart,
    SiteProblem,
    build_sites,
    choose_set,
    draw_sites,
    find_ends,
    search_sites,
    solve_sites,
)
from skfair.cluster.kmedoids._zones import (
    check_connectivity,
    connect_zones,
    make_zone_problem,
)
from skfair.exceptions import InfeasibleConstraintWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scipy import sparse
    from sklearn.utils import Tags

    from skfair._groups.samples import Samples


FLOATS = [np.float64, np.float32]
N_STARTS = 4  # by default
MAX_SITES = 2000  # samples, above which sites are searched among so many of them
N_NEAR = 200  # samples near a site that may take its place


class SampledRows(NamedTuple):
    """Features of all rows, and samples among which sites are searched."""

    X: np.ndarray  # (n_rows, n_features)
    limited: LimitedSamples  # all samples of positive weight, and their limits
    compute_distances: Callable[[np.ndarray, np.ndarray], np.ndarray]  # of rows to sites


class MedoidsInput(NamedTuple):
    """Validated input of a fit: rows with a weight are clustered, others only get a label."""

    problem: SiteProblem
    all_costs: np.ndarray  # (n_rows, n_sites), of rows without a weight, too
    present: np.ndarray  # (n_samples,) rows of positive weight
    groups: GroupSummary
    requirements: ClusterRequirements
    lacks_groups: bool
    households: Households | None
    graph: sparse.csr_array | None  # (n_samples, n_samples) of neighbours
    sample: SampledRows | None = None  # of which the problem consists; None: of all samples
    site_rows: np.ndarray | None = None  # (n_sites,) rows of X that are sites; None: all sites

    @property
    def rounding_weight(self) -> float:
        return float(self.problem.member_weights.min())

    @property
    def largest_share(self) -> float:
        """Share of the heaviest sample in the weight of all; 0 where all weigh the same."""
        weights = self.problem.member_weights
        return float(weights.max() / weights.sum()) if np.ptp(weights) > 0 else 0.0

    def find_rows(self, sites: np.ndarray) -> np.ndarray:
        """Rows of X, or columns of precomputed distances, of positions of sites."""
        return sites if self.site_rows is None else self.site_rows[sites]

    def measure_all(self, sample: SampledRows, site_rows: np.ndarray) -> MedoidsInput:
        """The input of all samples, whose only sites are some rows."""
        limited = sample.limited
        costs = sample.compute_distances(sample.X, sample.X[site_rows])
        limits = round_sizes(limited.limits, find_unit(limited.weights))
        if len(limits.bounds) > 1:
            limits = limits._replace(bounds=limits.bounds[site_rows])
        problem = SiteProblem(
            np.ascontiguousarray(costs[self.present]),
            limited.weights,
            limited.codes,
            limits,
            np.ones(len(site_rows), dtype=bool),
        )
        return self._replace(problem=problem, all_costs=costs, sample=None, site_rows=site_rows)

    def is_shown_infeasible(self) -> bool:
        """Whether it is shown that no sites have clusters within the bounds."""
        problem = self.problem
        n_clusters = self.requirements.n_clusters
        if len(problem.limits.bounds) == 1:  # equal at all sites
            sets: Iterable[np.ndarray] = [problem.list_free_sites()[:n_clusters]]
        elif problem.count_sets(n_clusters) <= MAX_SETS:
            sets = problem.list_sets(n_clusters)
        else:
            return False
        types, _ = find_types(problem.codes, problem.weights)
        return all(
            are_infeasible(problem.limits_at(sites), self.rounding_weight, types, n_clusters)
            for sites in sets
        )

    def requirements_at(self, sites: np.ndarray) -> ClusterRequirements:
        """The requirements of the clusters of some sites, which may have sizes of their own."""
        required = self.requirements
        smallest, largest = (
            size[sites] if isinstance(size, np.ndarray) else size
            for size in (required.smallest, required.largest)
        )
        return required._replace(smallest=smallest, largest=largest)

    def attributes(self, sites: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
        """The fitted attributes of sites and of the labels of the samples."""
        problem = self.problem
        if self.sample is not None:
            full = self.measure_all(self.sample, self.find_rows(sites))
            solved = solve_sites(full.problem, np.arange(len(sites)))
            return full.attributes(solved.sites, solved.labels)
        order = np.argsort(sites)
        sites = sites[order]
        labels = np.argsort(order).astype(np.int32)[labels]
        n_codes = len(problem.limits.intersections)
        memberships = find_memberships(problem.limits)
        columns = self.requirements.group_positions
        factors = None if self.households is None else self.households.factors
        by_code, members = (
            count_table(labels, problem.codes, weights, len(sites), n_codes)
            for weights in (problem.weights, factors)
        )
        counts = by_code @ memberships
        costs = problem.costs[np.arange(len(labels)), sites[labels]]
        inertia = float(problem.weights @ costs)
        # The bound is that of the limits reached, which rounding may have relaxed.
        reached = problem._replace(
            costs=problem.costs[:, sites],
            limits=limits_at_counts(counts, problem.limits_at(sites)),
        )
        solved = solve_sites(reached, np.arange(len(sites)))
        return {
            "labels_": self._label_all(labels, sites),
            "medoid_indices_": self.find_rows(sites),
            "inertia_": inertia,
            "objective_": inertia / problem.total_weight,
            "assignment_lower_bound_": min(inertia, float(solved.value)),
            "offsets_": solved.dual.offsets[:, columns],
            "groups_": self.groups,
            "group_counts_": (members @ memberships)[:, columns],
            **balance_attributes(
                counts[:, columns],
                self.requirements_at(self.find_rows(sites)),
                self.rounding_weight,
            ),
        }

    def _label_all(self, labels: np.ndarray, sites: np.ndarray) -> np.ndarray:
        """Labels of all rows: those without weight go to the nearest site, with households."""
        costs = self.all_costs[:, sites]
        everyone = costs.argmin(axis=1).astype(np.int32)
        households = self.households
        if households is None:
            everyone[self.present] = labels
            return everyone
        is_absent = np.ones(len(everyone), dtype=bool)
        is_absent[self.present] = False
        everyone[is_absent] = households.label_absent(labels, costs[is_absent])
        everyone[self.present] = labels[households.of_rows]
        return everyone


@make_constructor
class FairKMedoids(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FairClusterer):
    r"""k-medoids, or p-median, with bounds on the groups in every cluster, and on its size.

    The centre of a cluster is one of the samples, or one of given sites, and distances are any
    numbers: travel times, which need not be symmetric, or any metric of scikit-learn. The fit looks
    for sites and an assignment of the smallest total cost that keeps all bounds:

    .. math::
        \min_{S, a} \; \sum_i w_i \, d(i, a(i)), \quad |S| = k, \; a(i) \in S.

    Bounds are those of :class:`FairKMeans`. At given sites the assignment is a linear program,
    whose dual is solved as there. Sites are exchanged one at a time, as in PAM [1]_, as long as
    that lowers the cost of the assignment. The dual bounds what an exchange could gain. With a
    balance, all sites are moved at once, too.

    Read more in the :ref:`guide <territories>`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of sites.
    metric : str or callable, default="euclidean"
        Any metric of :func:`sklearn.metrics.pairwise_distances`, between samples, of which each is
        a possible site. "precomputed": X holds the distances of samples to sites, in the shape
        (n_samples, n_sites), square or not; so a metric with further arguments is computed first.
    min_balance, min_share_ratio, min_group_share, max_group_share, attributes, handle_unknown
        Bounds on the groups of every cluster, as in :class:`FairKMeans`. ``min_balance`` is a
        float in [0, 1] or None, default=0.8.
    min_cluster_size, max_cluster_size : int, float in (0, 1), array-like or None, default=None
        Bounds on the size of every cluster: an int is a number of samples (or sum of weights), a
        float a share of all. An array has a bound for every site, (n_sites,), such as the
        capacities of schools.
    fixed_sites : array-like of int or None, default=None
        Positions of sites that stay, at most ``n_clusters``, such as schools that are not closed.
    init : {"build", "k-medoids++"} or array-like, default="build"
        First sites: "build" adds the cheapest one by one [1]_, "k-medoids++" draws samples by their
        distances, an array has the positions of sites, (n_clusters,).
    n_init : int or "auto", default="auto"
        Number of starts, of which all but the first of "build" are drawn. "auto" is 4. With a
        balance, up to 25 searches follow each start, from the best sites of which two are
        exchanged at random. They move all sites to the medoids of their clusters, in rounds. More
        starts may lower the cost where a balance is tight.
    max_iter : int, default=300
        Maximum number of rounds of exchanges of a start.
    tol : float, default=1e-6
        An exchange has to lower the cost by this share of it.
    random_state : int, RandomState instance or None, default=None
        Determines the drawn starts.
    verbose : int, default=0
        Print cost and balance after every round if positive.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each sample.
    medoid_indices_ : ndarray of shape (n_clusters,)
        Positions of the sites, in rising order: rows of X, or columns of precomputed distances.
    cluster_centers_ : ndarray of shape (n_clusters, n_features) or None
        These rows of X; None with precomputed distances.
    inertia_ : float
        Sum of weighted distances of samples to the sites of their own clusters.
    objective_ : float
        The same per unit of weight.
    assignment_lower_bound_ : float
        No assignment to these sites with as good a composition and such sizes has lower inertia.
    offsets_ : ndarray of shape (n_clusters, n_groups)
        Added to the distance of a group's members to a cluster: the dual solution.
    balance_, data_balance_, relative_balance_, share_ratio_ : float
        As in :class:`FairKMeans`, and so are all that follow.
    cluster_balances_, cluster_share_ratios_, cluster_sizes_ : ndarray of shape (n_clusters,)
        Balance, ratio of shares, and weight of the members of each cluster.
    group_weights_, group_counts_ : ndarray of shape (n_clusters, n_groups)
        Sum of weights, and number of samples with a weight, of each group in each cluster.
    constraint_violation_ : float or None
        Number of samples (sum of weights) by which a cluster misses the bound that is missed most;
        0 when all are kept, None if balanced clusters were required, but there are no two groups.
    violated_bound_ : str or None
        Parameter that this is about, as in :class:`FairKMeans`, or "X" for samples at an infinite
        distance.
    status_ : str
        One of "optimal", "feasible", "stopped", "max_iter", "not_found", "infeasible" and
        "unconstrained".
        "optimal": no exchange of one site lowers the cost of the assignment. "feasible": all bounds
        are kept, and not all exchanges that might gain were tried, or a balance is kept up to one
        sample, or sites were searched among a sample, or zones are connected. Others as in
        :class:`FairKMeans`.
    groups_ : GroupSummary
        Labels and counts of the groups, in the order of the columns of ``group_counts_``.
    n_iter_, n_features_in_ : int
        Number of rounds of all starts, and of features seen during fit.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of features seen during fit, if X has string column names.

    Warns
    -----
    MissingSensitiveFeaturesWarning
        If balance is required, but fit gets no ``sensitive_features`` or all samples are of one
        group.
    InfeasibleConstraintWarning
        If a required bound is not reached; the best fit found is stored.
    ConvergenceWarning
        If all bounds are kept, but ``max_iter`` ended the fit.

    See Also
    --------
    FairKMeans : Squared Euclidean distances to means.

    Notes
    -----
    With as many clusters as precomputed sites these are given, and samples are assigned to them.
    Where there are at most 100 sets of sites, all are compared.

    With more than 2,000 samples and any ``metric`` but "precomputed", sites are searched among
    2,000 samples with the same shares of groups, and then among samples near the sites that are
    found. The assignment is one of all samples. With ``together`` or ``connectivity`` all samples
    are possible sites.

    Sets of sites, and assignments to them, are compared by the weight by which they miss bounds
    first, and by cost second. A balance may be missed by one sample where no assignment to the
    sites was found that keeps it. An integer program assigns samples near a tie between sites, at
    most 600 pairs of a sample and a site.
    An infinite precomputed distance is a pair that is not allowed. Where a sample goes to such a
    site all the same, the fit is "not_found" and warns.

    With ``connectivity`` in :meth:`fit` all clusters are connected, whatever else they miss. The
    clusters of a fit without it grow along borders, exchange samples, and are joined and divided in
    pairs at edges of spanning trees [3]_, until 20 random divisions in a row gain nothing. The site
    of a zone need not lie in it. :meth:`predict` takes the nearest site: the clusters of other rows
    need not be connected.

    References
    ----------
    .. [1] L. Kaufman and P. J. Rousseeuw, "Finding groups in data", Wiley 1990.
    .. [2] E. Schubert and P. J. Rousseeuw, "Fast and eager k-medoids clustering", Information
       Systems 101, 2021.
    .. [3] D. DeFord, M. Duchin and J. Solomon, "Recombination: a family of Markov chains for
       redistricting", Harvard Data Science Review 3(1), 2021.

    Examples
    --------
    Two of three schools stay open. Each has 3 places, and takes children of both groups:

    >>> import numpy as np
    >>> from skfair.cluster import FairKMedoids
    >>> minutes = np.array([[1, 9, 5], [2, 9, 4], [9, 1, 5], [9, 2, 6], [8, 2, 4], [2, 8, 5]])
    >>> groups = ["a", "a", "b", "b", "a", "b"]
    >>> model = FairKMedoids(2, metric="precomputed", min_balance=0.5, max_cluster_size=3)
    >>> model = model.fit(minutes, sensitive_features=groups)
    >>> model.medoid_indices_.tolist(), model.labels_.tolist(), model.inertia_
    ([0, 1], [0, 0, 1, 1, 1, 0], 10.0)
    >>> model.predict([[4, 7, 1]]).tolist()
    [0]
    """

    __metadata_request__fit = {
        "sensitive_features": True,
        "together": True,
        "connectivity": UNUSED,
    }
    __metadata_request__predict = {"sensitive_features": True}

    n_clusters: PositiveInt = 8
    _: KW_ONLY
    metric: str | Callable = "euclidean"
    min_balance: Share | None = 0.8
    min_share_ratio: Share | None = None
    min_group_share: Share | dict | Array | None = None
    max_group_share: Share | dict | Array | None = None
    attributes: Literal["intersections", "each"] = "intersections"
    handle_unknown: Literal["error", "overall"] = "error"
    min_cluster_size: PositiveInt | OpenShare | Array | None = None
    max_cluster_size: PositiveInt | OpenShare | Array | None = None
    fixed_sites: Array | None = None
    init: Literal["build", "k-medoids++"] | Array = "build"
    n_init: PositiveInt | Literal["auto"] = "auto"
    max_iter: PositiveInt = 300
    tol: NonNegative = 1e-6
    random_state: RandomState = None
    verbose: Verbose = 0

    @restore_on_failure(one_blas_thread=True)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
        together: ArrayLike | None = None,
        connectivity: MatrixLike | None = None,
    ) -> Self:
        """Choose sites, and assign the rows of X to them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_sites)
            Rows to cluster; with ``metric="precomputed"`` the distance of every sample (row) to
            every site (column), at least 0. Distances are held in memory, n_samples times n_sites
            numbers, and of more than 2,000 rows with features those of a sample.
        y : Ignored
            Not used, present for API consistency.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Group of each sample. None makes one group of all samples, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; samples of weight 0 count as absent, and are no sites unless
            distances are precomputed.
        together : array-like of shape (n_samples,), default=None
            Id of the household of each sample, whose members go to one site, at the sum of their
            distances; see :meth:`FairKMeans.fit`.
        connectivity : array-like or sparse matrix of shape (n_samples, n_samples), default=None
            Graph of neighbours, such as districts with a border: entries other than 0 are edges, in
            both directions. Every cluster is then connected in it, as a zone on a map. All samples
            of positive weight must be connected, and members of a household count as neighbours.
            The entries name rows of this X: metadata routing does not pass them on.

        Returns
        -------
        self : FairKMedoids
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid; the message says what must hold.
        TypeError
            If X or ``sensitive_features`` is sparse.
        """
        validate_params(self)
        arguments = FitArguments(
            X=X,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            together=together,
        )
        fit_input = check_input(self, arguments, connectivity)
        random_state = check_random_state(self.random_state)
        rounds = RoundReporter(self, X, fit_input.lacks_groups)
        # Callbacks see, and may end, every round of exchanges.
        watch = partial(
            rounds.report_round, lambda end: fit_input.attributes(end.sites, end.labels)
        )
        starts = list_starts(self, fit_input.problem, random_state, fit_input.site_rows)
        settings = SearchSettings(self.max_iter, self.tol, watch)
        if fit_input.sample is None:
            end, n_iter = search_sites(fit_input.problem, self.n_clusters, starts, settings)
        else:
            ends = find_ends(fit_input.problem, starts, settings)
            n_iter = ends.n_rounds
            fit_input, end = assign_all(fit_input, fit_input.sample, ends)
        sites, labels, status = end.site_set.sites, end.assignment.labels, end.status
        if status == "optimal" and end.assignment.uses_slack:
            status = "feasible"
        if fit_input.graph is not None:
            zone_problem = make_zone_problem(fit_input.problem, fit_input.graph)
            # A fit that was stopped ends with the first connected zones.
            watch_zones = watch if status != "stopped" else lambda _: True
            zones, n_rounds, status = connect_zones(
                zone_problem, labels, sites, random_state, watch_zones
            )
            labels, sites = zones
            n_iter += n_rounds
        fitted = fit_input.attributes(sites, labels) | {
            "n_iter_": n_iter,
            "status_": status,
        }
        sites = fitted["medoid_indices_"]
        is_precomputed = self.metric == "precomputed"
        if is_precomputed:
            warn_of_infinite(fit_input, fitted)
        fit_input = fit_input._replace(requirements=fit_input.requirements_at(sites))
        fitted["cluster_centers_"] = None if is_precomputed else check_array(X, dtype=FLOATS)[sites]
        advice = "Ask for less balance or for fewer clusters, or pass more starts with n_init."
        cut_short = f"FairKMedoids stopped after max_iter={self.max_iter} rounds. Raise max_iter."
        return store_clusters(self, X, fit_input, fitted, rounds, advice, cut_short)

    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Cluster of each row: the nearest site, whatever the sizes and borders.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_sites)
            Rows to assign; precomputed: their distances to all sites of the fit.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            With groups a row goes to the cluster of least distance plus offset, which keeps
            clusters of new data balanced as long as they resemble the training data.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Position of each row's cluster in ``medoid_indices_``.

        Raises
        ------
        ValueError
            If a group was not seen during fit; the message lists the known ones.
        """
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        distances = self.transform(X)
        if sensitive_features is not None:
            members = encode_memberships(self, sensitive_features, len(distances))
            distances = distances + members @ self.offsets_.T
        return distances.argmin(axis=1).astype(np.int32)

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Distances to the sites of the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_sites)
            Rows to transform; precomputed: their distances to all sites of the fit.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        is_finite = self.metric != "precomputed"  # infinite distances: pairs that are not allowed
        X = validate_data(self, X, dtype=FLOATS, ensure_all_finite=is_finite, reset=False)
        if self.metric == "precomputed":
            return X[:, self.medoid_indices_]
        return compute_distances(self, X, self.cluster_centers_).astype(X.dtype, copy=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = [dtype.__name__ for dtype in FLOATS]
        return tags

    @property
    def _n_features_out(self) -> int:
        """Number of columns that `transform` returns."""
        return len(self.medoid_indices_)


def compute_distances(
    estimator: FairKMedoids, X: np.ndarray, sites: np.ndarray | None = None
) -> np.ndarray:
    """Distances of rows to sites, by the metric of an estimator; None: to one another."""
    if estimator.metric == "euclidean":  # products of features far from 0 would lose all digits
        return cdist(X, X if sites is None else sites)
    return pairwise_distances(X, sites, metric=estimator.metric)


def check_input(
    estimator: FairKMedoids, arguments: FitArguments, connectivity: MatrixLike | None = None
) -> MedoidsInput:
    """Validate the input of ``estimator.fit``.

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X, for rows that do not match, for negative weights or
        distances, for fewer rows of positive weight, or fewer sites, than clusters, for sizes that
        no clusters have.
    """
    is_precomputed = estimator.metric == "precomputed"
    accepted = {"dtype": FLOATS, "order": "C", "ensure_all_finite": not is_precomputed}
    X, samples, present, missing = check_rows(estimator, arguments, **accepted)
    if is_sampled(estimator, arguments, connectivity, len(present)):
        return sample_input(estimator, arguments, X, samples, present, missing)
    costs = X if is_precomputed else compute_distances(estimator, X)
    if np.isnan(costs).any():
        raise ValueError(
            "Distances must not be NaN, but some are missing; pass inf for pairs that are not "
            "allowed, and impute others."
        )
    if not (costs >= 0).all():
        raise ValueError(
            f"Distances must be at least 0, but the minimum is {costs.min():.6g}; shift or clip "
            "them."
        )
    n_sites = costs.shape[1]
    allowed = np.ones(n_sites, dtype=bool)
    if not is_precomputed:  # absent samples are no sites
        allowed[:] = False
        allowed[present] = True
    if n_sites < estimator.n_clusters:
        raise ValueError(
            f"X has distances to {n_sites} sites, but must have at least "
            f"n_clusters={estimator.n_clusters}; ask for fewer clusters."
        )
    if not isinstance(estimator.init, str):
        check_sites("init", estimator.init, n_sites, estimator.n_clusters)
    fixed = np.empty(0, dtype=np.intp)
    if estimator.fixed_sites is not None:
        fixed = check_sites("fixed_sites", estimator.fixed_sites, n_sites)
        check_fixed_sites(estimator, fixed, allowed)
    limited = bind_limits(estimator, arguments, samples, present, missing, len(X), n_sites)
    here = costs if len(present) == len(costs) else costs[present]
    households = limited.households
    graph = None
    if connectivity is not None:
        graph = check_connectivity(connectivity, len(X), present, households)
    here = replace_infinite(here, n_sites)
    sizes = None
    if households is not None:
        # Costs of a household by unit of its weight.
        here = households.sum_members(here) / households.factors[:, np.newaxis]
        sizes = households.sizes
    masses = limited.weights if sizes is None else limited.weights * sizes
    problem = SiteProblem(
        np.ascontiguousarray(here),
        limited.weights,
        limited.codes,
        round_sizes(limited.limits, find_unit(masses)),
        allowed,
        fixed,
        sizes,
    )
    return MedoidsInput(
        problem,
        costs,
        present,
        limited.groups,
        limited.requirements,
        limited.lacks_groups,
        households,
        graph,
    )


def is_sampled(
    estimator: FairKMedoids,
    arguments: FitArguments,
    connectivity: MatrixLike | None,
    n_samples: int,
) -> bool:
    """Whether sites are searched among a sample, as distances of all pairs would be too many."""
    is_small = n_samples <= MAX_SITES or estimator.metric == "precomputed"
    return not is_small and arguments.together is None and connectivity is None


def sample_input(
    estimator: FairKMedoids,
    arguments: FitArguments,
    X: np.ndarray,
    samples: Samples,
    present: np.ndarray,
    missing: str | None,
) -> MedoidsInput:
    """The input of a fit whose sites are searched among a sample of the rows of X.

    The sample has the same shares of intersections, and weighs as much as all samples.
    """
    n_rows = len(X)
    limited = bind_limits(estimator, arguments, samples, present, missing, n_rows, n_rows)
    # Every so many samples of a random order within intersections.
    random_keys = np.random.RandomState(0).uniform(size=len(present))
    order = np.lexsort((random_keys, limited.codes))
    chosen = np.sort(order[np.linspace(0, len(order) - 1, MAX_SITES).astype(np.intp)])
    fixed_rows = init_rows = np.empty(0, dtype=np.intp)
    if estimator.fixed_sites is not None:
        fixed_rows = check_sites("fixed_sites", estimator.fixed_sites, n_rows)
        check_fixed_sites(estimator, fixed_rows, np.isin(np.arange(n_rows), present))
    if not isinstance(estimator.init, str):
        init_rows = check_sites("init", estimator.init, n_rows, estimator.n_clusters)
    site_rows = np.unique(np.concatenate([present[chosen], fixed_rows, init_rows]))
    costs = compute_distances(estimator, X[present[chosen]], X[site_rows])
    weights = limited.weights[chosen]
    limits = round_sizes(limited.limits, find_unit(limited.weights))
    if len(limits.bounds) > 1:
        limits = limits._replace(bounds=limits.bounds[site_rows])
    problem = SiteProblem(
        np.ascontiguousarray(costs),
        weights * (limited.weights.sum() / weights.sum()),
        limited.codes[chosen],
        limits,
        np.isin(site_rows, present),
        np.searchsorted(site_rows, fixed_rows),
    )
    return MedoidsInput(
        problem,
        costs,
        present,
        limited.groups,
        limited.requirements,
        limited.lacks_groups,
        households=None,
        graph=None,
        sample=SampledRows(X, limited, partial(compute_distances, estimator)),
        site_rows=site_rows,
    )


def assign_all(
    fit_input: MedoidsInput, sample: SampledRows, ends: SearchEnds
) -> tuple[MedoidsInput, SearchEnd]:
    """The input of all samples at the best sites, and the assignment to them.

    ``ends`` are those of a search among a sample.
    """
    sets = [fit_input.find_rows(end.sites) for end in ends.site_sets[:MAX_COMPARED]]
    fixed_rows = fit_input.find_rows(fit_input.problem.fixed)
    sets.append(improve_sites(fit_input, sample, sets[0], fixed_rows))
    site_rows = np.unique(np.concatenate(sets))
    full = fit_input.measure_all(sample, site_rows)
    positions = [np.searchsorted(site_rows, rows) for rows in sets]
    best = choose_set(full.problem, [solve_sites(full.problem, sites) for sites in positions])
    status = ends.status if ends.status in ("stopped", "max_iter") else "feasible"
    return full, best._replace(status=status)


def improve_sites(
    fit_input: MedoidsInput, sample: SampledRows, site_rows: np.ndarray, fixed_rows: np.ndarray
) -> np.ndarray:
    """Rows of sites after two rounds of assignments and of the best site near each, of all rows."""
    rows = site_rows.copy()
    for _ in range(2):
        full = fit_input.measure_all(sample, rows)
        problem, present = full.problem, full.present
        labels = solve_sites(problem, np.arange(len(rows))).labels
        for k in np.flatnonzero(~np.isin(rows, fixed_rows)):
            members = np.flatnonzero(labels == k)
            near = members[np.argsort(problem.costs[members, k], kind="stable")[:N_NEAR]]
            candidates = np.setdiff1d(present[near], np.delete(rows, k))
            if len(candidates) == 0:
                continue
            X_members, X_near = sample.X[present[members]], sample.X[candidates]
            costs = problem.weights[members] @ sample.compute_distances(X_members, X_near)
            rows[k] = candidates[costs.argmin()]
    return rows


def find_unit(masses: np.ndarray) -> float:
    """The largest part of the smallest mass of which all are multiples; 0 if no twelfth is one."""
    for number in range(1, 13):
        multiples = number * (masses / masses.min())
        if (abs(multiples - np.round(multiples)) < 1e-9).all():
            return float(masses.min() / number)
    return 0.0


def list_starts(
    estimator: FairKMedoids,
    problem: SiteProblem,
    random_state: np.random.RandomState,
    site_rows: np.ndarray | None = None,
) -> Iterator[SearchStart]:
    """Yield the sites that the starts of an estimator begin from."""
    init, n_clusters = estimator.init, estimator.n_clusters
    site_rows = np.arange(problem.costs.shape[1]) if site_rows is None else site_rows
    # Starts of one seed are the first of those of more starts.
    n_init = N_STARTS if estimator.n_init == "auto" else estimator.n_init
    seeds = random_state.randint(np.iinfo(np.int32).max, size=n_init)
    for i, seed in enumerate(seeds):
        random_state = np.random.RandomState(seed)
        if not isinstance(init, str):
            sites = np.searchsorted(site_rows, np.asarray(init))
            yield SearchStart(sites.astype(np.intp), random_state)
            break
        if init == "build" and i == 0:
            yield SearchStart(build_sites(problem, n_clusters), random_state)
        else:
            yield SearchStart(draw_sites(problem, n_clusters, random_state), random_state)


def warn_of_infinite(fit_input: MedoidsInput, fitted: dict[str, Any]) -> None:
    """Warn of samples at sites that are not allowed, and count them as a violation."""
    rows = fit_input.present
    costs = fit_input.all_costs[rows, fitted["medoid_indices_"][fitted["labels_"][rows]]]
    n_broken = int(np.isinf(costs).sum())
    if n_broken == 0:
        return
    fitted |= {"inertia_": np.inf, "objective_": np.inf}
    if n_broken > fitted["constraint_violation_"]:
        fitted |= {"constraint_violation_": float(n_broken), "violated_bound_": "X"}
    warn(
        f"{n_broken} of {len(rows)} samples go to sites at an infinite distance: no assignment "
        "was found that keeps to the allowed pairs. Allow more pairs, or widen other bounds.",
        InfeasibleConstraintWarning,
    )


def replace_infinite(costs: np.ndarray, n_sites: int) -> np.ndarray:
    """The costs with a number above any sum of finite ones for pairs that are not allowed."""
    is_infinite = np.isinf(costs)
    if not is_infinite.any():
        return costs
    has_none = is_infinite.all(axis=1)
    if has_none.any():
        raise ValueError(
            f"Every sample must have a finite distance to one of {n_sites} sites, but sample "
            f"{int(np.argmax(has_none))} has none; allow one of its pairs, or leave it out."
        )
    largest = np.where(is_infinite, 0.0, costs).max(axis=1)
    return np.where(is_infinite, 1.0 + 2.0 * largest.sum(dtype=np.float64), costs)


def check_sites(
    name: str, positions: ArrayLike, n_sites: int, n_positions: int | None = None
) -> np.ndarray:
    """The positions of different sites; raises a ValueError for anything else."""
    sites = np.asarray(positions)
    is_valid = sites.ndim == 1 and (sites.dtype.kind in "iu" or len(sites) == 0)
    is_valid = is_valid and bool(np.isin(sites, np.arange(n_sites)).all())
    is_valid = is_valid and n_positions in (None, len(sites))
    if not (is_valid and len(np.unique(sites)) == len(sites)):
        number = "" if n_positions is None else f"{n_positions} "
        raise argument_error(
            f"{name} must have the positions, from 0 to {n_sites - 1}, of {number}different "
            f"sites, got {positions!r}; pass each site once."
        )
    return sites.astype(np.intp)


def check_fixed_sites(estimator: FairKMedoids, fixed: np.ndarray, allowed: np.ndarray) -> None:
    """Raise a ValueError for fixed sites that no clusters, or no starts, can have."""
    if len(fixed) > estimator.n_clusters or not allowed[fixed].all():
        raise argument_error(
            f"fixed_sites must name at most n_clusters={estimator.n_clusters} sites, none of which "
            f"is a sample of weight 0, got {estimator.fixed_sites!r}; leave some out, or raise "
            "n_clusters."
        )
    if not isinstance(estimator.init, str) and not np.isin(fixed, estimator.init).all():
        raise argument_error(
            "fixed_sites must be among the sites of init, but "
            f"fixed_sites={estimator.fixed_sites!r} and init={estimator.init!r}; add the fixed "
            "sites to init."
        )
