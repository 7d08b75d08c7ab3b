"""Rankers under constraints on the chances of groups to be ranked high."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, check_X_y
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import has_fit_parameter

from skfair._fitting.input import TrainingData
from skfair._fitting.linear import ConstrainedLinearEstimator, fit_linear_model
from skfair._fitting.model import check_loss, estimator_docs
from skfair._groups import Groups, Samples, check_groups
from skfair._groups.arguments import FitArguments
from skfair._groups.events import DocumentPairs
from skfair._groups.known import warn_of_missing_marks
from skfair._groups.samples import check_lengths, check_metric_input, check_samples
from skfair._partitions.collections import check_alignment
from skfair._postprocessing.constrained_cv import ConstrainedCV, store_outcome
from skfair._postprocessing.exposure import fit_exposure_rule, round_ties
from skfair._postprocessing.folds import Folds
from skfair._postprocessing.query_rankers import (
    QueryRanker,
    find_query_arguments,
    unwrap_rankers,
)
from skfair._postprocessing.quotas import (
    are_disjoint,
    find_best_ranks,
    merge_lists,
    rank_within,
    read_bounds,
    warn_of_infeasible_queries,
)
from skfair._postprocessing.scored_samples import score_samples
from skfair._problems.model import moments
from skfair._utils.api import MatrixLike, RandomState
from skfair._utils.checks import (
    argument_error,
    check_column,
    check_finite_squares,
    check_in_memory,
    explain_conversion,
    is_int,
    refuse_fractions,
    to_floats,
    warn,
)
from skfair._utils.fit import restore_on_failure
from skfair._utils.parameters import (
    MinGroupSize,
    NonNegative,
    ProbabilisticClassifier,
    Share,
    Verbose,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import HasMethods, StrOptions, count_samples, with_callbacks
from skfair.constraints import ExposureParity, RankingParity, resolve_constraints
from skfair.constraints._constraint import warn_of_small_groups
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.losses import Loss, LossName
from skfair.solvers import Solver, SolverName

if TYPE_CHECKING:
    from skfair._utils.tables import Table, TableLike


# A linear ranker trained on pairs under fairness constraints that its orders keep.


class PairScoreMixin:
    """``score`` of a ranker: how many pairs of documents its predictions order correctly."""

    __metadata_request__score = {"query_id": True, "sensitive_features": True}
    predict: Any

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        query_id: ArrayLike | None = None,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Share of pairs of documents of one query that are ordered correctly.

        Parameters
        ----------
        X, y, query_id, sample_weight : array-like
            As in `fit`.
        sensitive_features : array-like, default=None
            Group of each document; needed where ``predict`` needs it.

        Returns
        -------
        score : float
        """
        check_alignment(X=X, y=y, query_id=query_id, sample_weight=sample_weight)
        scores = self.predict(X, sensitive_features=sensitive_features)
        query = _encode_queries(query_id, len(scores)).codes
        columns = {"y": y, "scores": scores, "query": query}
        one_group = np.zeros(len(scores))
        samples, (y, scores, query) = check_metric_input(one_group, sample_weight, **columns)
        pairs = _make_pairs(to_floats("y", y), query)
        better, worse = pairs[np.arange(len(pairs))].T
        weights = samples.weights[better] * samples.weights[worse]
        return float(np.average(scores[better] > scores[worse], weights=weights))


MAX_PAIRS = 200_000
"""Pairs of documents that a fit is made of; of more, a random sample is drawn."""

_MAX_DENSE_COLUMNS = 64
"""Columns of sparse features up to which the pairs of documents are an array."""

_CONSTRAINTS_BY_NAME = {"ranking_parity": RankingParity}


@estimator_docs
@make_constructor
class ConstrainedRanker(PairScoreMixin, ConstrainedLinearEstimator):
    r"""Linear ranker trained under ranking parity between groups of documents.

    The fit looks for scores that rank relevant documents first, while the relevant documents of
    each of two groups are ranked above the less relevant ones of the other about equally often.
    With h(x) = w . x, it minimises over pairs of documents i, j of one query of which i is more
    relevant

    .. math::

        \min_w \; \operatorname{mean}_{ij} \ell(h(x_i) - h(x_j)) + \frac{\alpha}{2} |w|^2
        \quad \text{s.t.} \quad |r_{ab} - r_{ba}| \le tolerance,

    where :math:`r_{ab}` is the share of pairs with i in group a and j in group b whose order is
    right ([1]_). With the logistic loss this is RankNet, with the hinge loss a ranking SVM, with a
    bound. The gap is counted on orders, not on a smooth surrogate. Predictions need no groups.
    Of more than 200,000 pairs a random sample is drawn, on which the tolerance is kept.

    Read more in the :ref:`guide <fair_ranking>`.

    Parameters
    ----------
    constraint : "ranking_parity", RankingParity, list of these, or None, default="ranking_parity"
        What must be fair: over all queries together, or within each by
        ``RankingParity(per_query=True)``. None is the plain ranker.
    tolerance : float or None, default=None
        Largest gap allowed, for constraints that have no tolerance of their own; None is .05.
    min_group_size : int or "auto", default="auto"
        Groups with fewer documents (of positive weight) are not compared, and a warning names them.
        "auto": fewer than 30 documents that are also less than 1 % of all; 1 compares all groups.
    enforcement : {"auto"} or None, default="auto"
        "auto": the orders of the training pairs keep the bound. None: the smooth problem as the
        solver leaves it.
    loss : str or callable, default="logistic"
        Loss of a difference of scores, with target +1: "logistic", "hinge" or "squared_hinge", or
        another of :mod:`skfair.losses`. The squared losses are half a square.
    alpha : float, default=1e-4
        Strength of the l2 penalty on ``coef_``, relative to a mean loss.
    {solver}
        Solvers on mini-batches draw pairs: "stochastic-plada" as in appendix D.3 of [2]_.
    {warm_start}
    random_state : int, RandomState instance or None, default=None
        Seed of the pairs drawn and of stochastic solvers.
    {verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns of X.
    intercept_ : float
        0: orders do not depend on it.
    n_pairs_ : int
        Number of pairs trained on.
    {multipliers_}
    objective_ : float
        Mean loss of the pairs and penalty.
    constraint_violation_ : float or None
        Largest excess of a gap over its tolerance on the pairs trained on; None if groups were to
        be compared, but there are no two.
    constraint_report_ : DataFrame
        One row per rate that is compared; its group is (query, group of the more relevant, group of
        the less relevant), where the query is "all" for rates over all queries.
    {without_guarantee}
    status_ : {"optimal", "feasible", "stopped", "max_iter", "infeasible", "unconstrained"}
        As of :class:`skfair.classification.ConstrainedERMClassifier`.
    {n_iter_}
    groups_ : GroupSummary
        Labels of the groups of documents, and their counts.
    {n_features_in_, feature_names_in_}

    See Also
    --------
    skfair.metrics.ranking_parity_difference : The gap that is bounded.

    References
    ----------
    .. [1] H. Narasimhan, A. Cotter, M. Gupta and S. Wang, "Pairwise fairness for ranking and
       regression", AAAI 2020.
    .. [2] "A modified proximal-perturbed Lagrangian for non-convex non-smooth representatives of
       fairness constraints", under review.

    Examples
    --------
    >>> from skfair.datasets import make_ranking
    >>> from skfair.metrics import ranking_parity_difference
    >>> from skfair.ranking import ConstrainedRanker
    >>> X, y, query, group = make_ranking(50, random_state=0)
    >>> def gap(ranker):
    ...     return ranking_parity_difference(
    ...         y, ranker.predict(X), sensitive_features=group, query_id=query
    ...     )
    >>> plain = ConstrainedRanker(constraint=None).fit(X, y, query_id=query)
    >>> fair = ConstrainedRanker(tolerance=0.05).fit(
    ...     X, y, query_id=query, sensitive_features=group
    ... )
    >>> for ranker in (plain, fair):
    ...     print(f"{gap(ranker):.2f}")
    0.30
    0.05
    """

    __metadata_request__fit = {"sensitive_features": True, "query_id": True}

    fit_intercept = group_interactions = False

    constraint: (
        Annotated[str, StrOptions(_CONSTRAINTS_BY_NAME)] | RankingParity | list | tuple | None
    ) = "ranking_parity"
    _: KW_ONLY
    tolerance: Share | None = None
    min_group_size: MinGroupSize = "auto"
    enforcement: Literal["auto"] | None = "auto"
    loss: LossName | Loss = "logistic"
    alpha: NonNegative = 1e-4
    solver: SolverName | Solver = "sqp"
    warm_start: bool = False
    random_state: RandomState = None
    verbose: Verbose = 0

    @restore_on_failure(one_blas_thread=True)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        query_id: ArrayLike | None = None,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train the ranker.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Features.
        y : array-like of shape (n_documents,)
            How relevant a document is to its query, as a number.
        query_id : array-like of shape (n_documents,), default=None
            Query of each document, in any order. None puts all documents in one query, with a
            warning.
        sensitive_features : array-like of shape (n_documents,) or (n_documents, n_attributes), \
                default=None
            Group of each document; with several attributes, groups are the combinations that
            occur. None puts all documents in one group, with a warning.
        sample_weight : array-like of shape (n_documents,), default=None
            Non-negative weights of documents; a pair weighs as much as the product of its two.

        Returns
        -------
        self : ConstrainedRanker
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, no query has documents of different relevance, or
            no two groups can be compared; the message says what must hold.
        """
        validate_params(self)
        constraints = resolve_constraints(
            self.constraint, self.tolerance, _CONSTRAINTS_BY_NAME, RankingParity
        )
        arguments = FitArguments(
            X=X,
            y=y,
            query_id=query_id,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        X_, y_, query, documents = _check_documents(self, arguments, bool(constraints))
        # A pair of documents is a sample: the difference of features, of target +1.
        training = _make_training_pairs(X_, y_, query, documents, self._draw_pairs)
        if constraints:
            groups = documents.groups
            is_large = documents.check_group_sizes(groups)
            sizes = zip(groups.names, groups.counts, is_large, strict=True)
            small = {name: size for name, size, compared in sizes if not compared}
            warn_of_small_groups(documents.min_group_size, small, is_large.sum() == 1)
        # Fit the linear model to the pairs, under constraints on pairs of groups.
        check_loss(self, "classes")
        lacks_groups = bool(constraints) and sensitive_features is None
        training = training._replace(lacks_groups=lacks_groups)
        fit_linear_model(self, arguments, training, constraints)
        self.n_pairs_ = len(training.samples.target)
        self.groups_ = documents.groups.summary
        if constraints and not lacks_groups and self.status_ == "unconstrained":
            _warn_of_one_group_per_query(documents.groups)
        # Coefficients of 0 satisfy every parity, and rank nothing.
        if not np.any(self.coef_):
            warn(
                "All documents have the same score: no other order was found that keeps the "
                "tolerance. Raise it, or raise min_pairs of the constraint."
            )
        return self

    def _draw_pairs(self, n_pairs: int) -> np.ndarray:
        """Positions of the pairs to train on, ascending."""
        if n_pairs <= MAX_PAIRS:
            return np.arange(n_pairs)
        random_state = check_random_state(self.random_state)
        # Drawn without replacement, in the order in which all pairs are numbered.
        pairs = sample_without_replacement(n_pairs, MAX_PAIRS, random_state=random_state)
        return np.sort(pairs)

    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Score of each document: the higher, the earlier it ranks within its query.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Features.
        sensitive_features : array-like, default=None
            Not used: documents are ranked by X alone.

        Returns
        -------
        scores : ndarray of shape (n_documents,)
        """
        return self._scores(X, None)


def _check_documents(
    ranker: ConstrainedRanker, arguments: FitArguments, compares_groups: bool
) -> tuple[TableLike, np.ndarray, Groups, Samples]:
    """Features, relevance, queries, and groups and weights of documents of positive weight."""
    X = arguments.X
    y = arguments.y
    check_lengths(X=X, y=y)
    check_column("y", y)
    y = to_floats("y", y)
    with explain_conversion(X, ranker):
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=float, estimator=ranker)
    check_finite_squares(X, "X", ranker)
    if sparse.issparse(X):
        # Differences of few columns are hardly sparse, and sums of sparse rows round otherwise.
        X = X.toarray() if X.shape[1] <= _MAX_DENSE_COLUMNS else sparse.csr_array(X)
    missing = (
        f"constraint={ranker.constraint!r} compares groups, but fit got no sensitive_features: all "
        "documents are one group and the fit is unconstrained. Pass "
        "fit(X, y, query_id=..., sensitive_features=...)."
        if compares_groups
        else None
    )
    documents, rows = check_samples(arguments, missing=missing)
    documents = documents._replace(min_group_size=ranker.min_group_size).largest_first()
    moments(X[rows], np.full(len(rows), 1.0 / len(rows)))  # which raises for digits that are lost
    return X[rows], y[rows], _encode_queries(arguments.query_id, len(y)).take(rows), documents


def _make_training_pairs(
    X: Table, y: np.ndarray, query: Groups, documents: Samples, draw: Callable
) -> TrainingData:
    """Differences of documents, the more minus the less relevant, as samples of target +1."""
    pairs = _make_pairs(y, query.codes)
    better, worse = pairs[draw(len(pairs))].T
    groups = _pair_groups(documents.groups, query, better, worse)
    # Pairs with a document of a small group count in the loss, but are not compared.
    is_large = dict(zip(documents.groups.names, documents.is_large(documents.groups), strict=True))
    large = [number for number, (_, a, b) in enumerate(groups.labels) if is_large[a] & is_large[b]]
    groups = groups if all(is_large.values()) else groups.select(np.array(large, dtype=np.intp))
    shares = documents.weights / documents.weights.max()  # whose products are no underflow
    weights = shares[better] * shares[worse]
    return TrainingData(X[better] - X[worse], None, Samples(np.ones(len(better)), groups, weights))


def _warn_of_one_group_per_query(groups: Groups) -> None:
    """Warn that a fit compared no groups, since no pair has documents of two groups."""
    reason = "no query has documents of two groups and of different relevance"
    if len(groups.names) == 1:
        reason = f"all documents are in the group {groups.names[0]!r}"
    warn(
        f"There are no orders to compare by ranking parity: {reason}. The fit is unconstrained. "
        "Pass sensitive_features with two groups or more, query_id whose queries have documents of "
        "both, or constraint=None.",
        MissingSensitiveFeaturesWarning,
    )


def _encode_queries(query_id: TableLike, n_documents: int) -> Groups:
    """The queries, encoded as groups of documents."""
    if query_id is None:  # not an error: scikit-learn's estimator checks pass none
        warn(
            f"Got no query_id: all {n_documents} documents are put in one query, so that "
            "documents of different queries are compared. Pass query_id=..., one value per "
            "document; in pipelines and searches call "
            "sklearn.set_config(enable_metadata_routing=True). If there is one query, pass "
            "query_id=np.zeros(len(y))."
        )
        return Groups.single(n_documents)
    check_in_memory(query_id=query_id)
    refuse_fractions("query_id", np.asarray(query_id))
    try:
        queries = check_groups(query_id, n_documents, name="query_id")
    except (TypeError, ValueError) as error:
        if pd.isna(np.asarray(query_id, dtype=object)).any():
            raise argument_error(
                "query_id must name the query of each document, but has missing values. Leave "
                "these documents out of all inputs, or give each a query_id of its own."
            ) from error
        raise
    warn_of_missing_marks(queries.labels.ravel(), "query_id")
    return queries


def _make_pairs(y: np.ndarray, query: np.ndarray) -> DocumentPairs:
    """The pairs of documents of a query; raise if there are none."""
    pairs = DocumentPairs(y, query)
    if not len(pairs):
        raise ValueError(
            "No query has documents of different relevance, so that there are no pairs to order "
            f"(n_samples = {len(y)}); y must hold at least 2 values within one query_id."
        )
    return pairs


def _pair_groups(groups: Groups, query: Groups, better: np.ndarray, worse: np.ndarray) -> Groups:
    """Query, and the groups of the more and of the less relevant document."""
    shape = len(query.names), len(groups.names), len(groups.names)
    # Number the combinations that occur among all that could.
    codes = np.ravel_multi_index(
        (query.codes[better], groups.codes[better], groups.codes[worse]), shape
    )
    present, codes = np.unique(codes, return_inverse=True)
    queries, first, second = np.unravel_index(present, shape)
    labels = np.empty((len(present), 3), dtype=object)
    for row, q, a, b in zip(labels, queries, first, second, strict=True):
        row[:] = [query.names[q], groups.names[a], groups.names[b]]
    ranks = np.ravel_multi_index((queries, groups.ranks[first], groups.ranks[second]), shape)
    return Groups(labels, codes=codes, ranks=ranks)


# Any ranker, under constraints on the exposure of groups.


@estimator_docs
@make_constructor
class ConstrainedRankerCV(PairScoreMixin, ConstrainedCV):
    r"""Any ranker, with an offset for each group that bounds differences of exposure.

    The ranker is left as it is. Documents are sorted by

    .. math:: h(x) + \sum_g \lambda_g P(g \mid x),

    with the score h of the ranker. Where the probabilities are 0 and 1, no ranking with the same
    exposures has a larger mean of score times attention, the discounted cumulative gain by the
    scores. Offsets are chosen on out-of-fold scores, as small as the bound allows.

    Read more in the :ref:`guide <fair_ranking>`.

    Parameters
    ----------
    estimator : estimator, default=None
        Ranker, regressor or classifier of two classes, a pipeline or a search. Its ``predict`` or
        decision function ranks. Clones of it are fitted, and get ``query_id`` if their ``fit``
        takes it, also as "group", "group_id" or "qid", as those of LightGBM, CatBoost and XGBoost
        do; the last gets the mean weight of each query. Fit other rankers before, and pass them in
        a `~sklearn.frozen.FrozenEstimator`. For scores that exist there is
        `~skfair.preprocessing.ScoreColumn`. None means ``ConstrainedRanker(constraint=None)``.
    constraint : "exposure_parity", ExposureParity, or None, default="exposure_parity"
        What must be fair; None is the plain ranker.
    tolerance : float or None, default=None
        Largest difference of exposures allowed, for a constraint that has none of its own; None is
        .05.
    group_estimator : estimator, "sensitive_features" or None, default=None
        Classifier with ``predict_proba`` that estimates the group from X, as in
        `~skfair.regression.ConstrainedRegressorCV`. "sensitive_features" estimates nothing:
        predictions need the group of every document.
    {handle_unknown}
        Predictions depend on the group with ``group_estimator="sensitive_features"``.
    cv : int, splitter, iterable, "prefit" or None, default=None
        How documents are divided, so that each is scored by rankers that were not fitted to it; an
        int or None (5 folds) keeps the documents of a query together, if there are as many
        queries. "prefit" takes a fitted ranker as it is. The documents must then be others than
        those that it was fitted to.
    verbose : int, default=0
        If positive, print the steps of the fit.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted rankers: one per fold, or only one. New documents get the mean of their scores.
    rule_coef_ : ndarray of shape (1 + n_offsets,)
        1, and coefficients of :math:`P(g \mid x) / P(g) - P(g_0 \mid x) / P(g_0)` for all groups g
        that are compared but the largest one, in units of the standard deviation of y.
    rule_intercept_ : float
        0: orders do not depend on it.
    oof_prediction_ : ndarray of shape (n_documents,)
        Out-of-fold ``predict`` of the training documents; nan for those without weight.
    constraint_report_ : DataFrame
        Out-of-fold exposure of each group. Standard errors are those of independent documents.
    constraint_violation_ : float or None
        Excess of the gap over the tolerance by ``oof_prediction_``; None without groups.
    status_ : {"optimal", "feasible", "infeasible", "unconstrained"}
        "optimal": no smaller offset keeps the tolerance. "feasible": of three groups or more, or of
        groups that are estimated, the tolerance is kept by nearly the smallest offsets.
        "infeasible": of two groups that are passed, no offset keeps the tolerance; else none was
        found.
    n_iter_ : int
        Rounds of the search for offsets; 0 if rankings by the scores alone keep the tolerance.
    {groups_}
    n_features_in_ : int
        Number of features seen during fit, if the estimator knows it.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if the estimator knows them.

    See Also
    --------
    ConstrainedRanker : A linear ranker, trained under parity of pairs of documents.
    skfair.metrics.exposure_difference : The gap that is bounded.

    Notes
    -----
    Weights of documents count in exposures. On new queries gaps vary around those of
    ``constraint_report_``.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from skfair.datasets import make_ranking
    >>> from skfair.metrics import exposure_difference
    >>> from skfair.ranking import ConstrainedRankerCV
    >>> X, y, query, group = make_ranking(50, random_state=0)
    >>> fair = ConstrainedRankerCV(LinearRegression(), tolerance=0.02)
    >>> fair = fair.fit(X, y, query_id=query, sensitive_features=group)
    >>> gap = exposure_difference(fair.oof_prediction_, sensitive_features=group, query_id=query)
    >>> print(f"{gap:.2f}")
    0.02
    """

    __metadata_request__fit = {"query_id": True, "groups": UNUSED}

    ensemble = True
    n_jobs = None
    confidence_level = None

    estimator: Annotated[BaseEstimator, HasMethods(["fit"])] | None = None
    constraint: (
        Annotated[str, StrOptions({"exposure_parity": ExposureParity})] | ExposureParity | None
    ) = "exposure_parity"
    _: KW_ONLY
    tolerance: NonNegative | None = None
    group_estimator: ProbabilisticClassifier | Literal["sensitive_features"] | None = None
    handle_unknown: Literal["error", "overall"] = "error"
    cv: Folds | None = None
    verbose: Verbose = 0

    @restore_on_failure(one_blas_thread=False)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        query_id: ArrayLike | None = None,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the ranker, the models of groups, and the offsets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Whatever the ranker takes.
        y : array-like of shape (n_documents,)
            How relevant a document is to its query, as a number.
        query_id : array-like of shape (n_documents,), default=None
            Query of each document, in any order. None puts all documents in one query, with a
            warning.
        sensitive_features : array-like of shape (n_documents,) or (n_documents, n_attributes), \
                default=None
            Group of each document; with several attributes, groups are the combinations that
            occur. None puts all documents in one group, with a warning.
        sample_weight : array-like of shape (n_documents,), default=None
            Non-negative weights of documents, in exposures, and in all fits that take them.
        **params : dict
            Further arguments of the ranker's ``fit``.

        Returns
        -------
        self : ConstrainedRankerCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid; the message says what must hold.
        """
        validate_params(self)
        names = {"exposure_parity": ExposureParity}
        constraints = resolve_constraints(
            self.constraint, self.tolerance, names, ExposureParity, takes_all=True
        )
        check_alignment(X=X, y=y, query_id=query_id)
        check_lengths(X=X, y=y)
        query = _encode_queries(query_id, count_samples(X)).codes
        # Documents of a query are in one fold, unless there are more folds than queries.
        by_default = 5 if self.cv is None or isinstance(self.cv, str) else 2
        n_folds = self.cv if isinstance(self.cv, Integral) else by_default
        clusters = query if len(np.unique(query)) >= n_folds else None
        arguments = FitArguments(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=clusters,
        )
        if get_config()["enable_metadata_routing"] or has_fit_parameter(self._base, "query_id"):
            params = params | {"query_id": query}
        scored = unwrap_rankers(score_samples(self, arguments, constraints, params))
        outcome = fit_exposure_rule(self, scored, query[scored.rows])
        store_outcome(self, y, scored, outcome)
        scored.context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Score of each document: the higher, the earlier it ranks within its query.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Whatever the ranker takes.
        sensitive_features : array-like, default=None
            Group of each document; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        scores : ndarray of shape (n_documents,)
        """
        _, scores = self._columns_and_scores(X, sensitive_features)
        predictions = scores[:, 0]
        if len(self.rule_coef_) > 1:
            predictions = round_ties(predictions, self._tie_unit)
        return self._unit.from_unit(predictions)

    @property
    def _base(self) -> BaseEstimator:
        if self.estimator is None:
            return ConstrainedRanker(constraint=None)
        arguments = None if self.cv == "prefit" else find_query_arguments(self.estimator)
        return self.estimator if arguments is None else QueryRanker(self.estimator, arguments)


# A quota of first ranks, without any fit.


def rerank(
    scores: ArrayLike,
    query_id: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    k: int,
    minimum: dict | None = None,
    maximum: dict | None = None,
) -> np.ndarray:
    r"""Rank documents by score, with bounds on each group's number among the first of every query.

    Bounds are numbers, or shares of the first k ranks: "at least 3", or "at least 40 %". No other
    ranking that keeps them has a larger mean of score times attention. With bounds on groups that
    do not overlap, this holds whatever attention falls with the rank. With bounds on every prefix,
    as in FA*IR ([1]_), or on several attributes, it holds for the attention
    :math:`1 / \log_2(1 + \operatorname{rank})` of the first k ranks. All other documents follow by
    score.

    Read more in the :ref:`guide <fair_ranking>`.

    Parameters
    ----------
    scores : array-like of shape (n_documents,)
        Scores of the documents: the higher, the earlier. Equal ones of one group rank in the order
        of the rows.
    query_id : array-like of shape (n_documents,)
        Query of each document, in any order.
    sensitive_features : array-like of shape (n_documents,) or (n_documents, n_attributes)
        Group of each document.
    k : int
        Number of first ranks of a query, for which the bounds are.
    minimum : dict, default=None
        Minimum number of documents by group, as in ``{"b": 3}``; others have none. A float from 0.0
        to 1.0 is a share of the first k ranks, rounded up: with k=10, ``{"b": 0.25}`` requires 3. A
        list has a number for each prefix, which are the first 1, 2, ..., k ranks:
        ``{"b": [0, 1, 1, 2]}``. With several attributes, groups are tuples of their labels, or
        values of single attributes, as in ``{"sex": {"f": 2}, "age": {"old": 0.5}}``. None: no
        group has one.
    maximum : dict, default=None
        Maximum number of documents by group, in the same form. Shares are rounded down.

    Returns
    -------
    ranks : ndarray of int64, shape (n_documents,)
        Rank of each document within its query, from 1 on.

    Raises
    ------
    ValueError
        If k, the numbers or the data are invalid, or a bound names a group of no document. The
        minimum numbers of an attribute may not exceed a prefix together, and none may exceed the
        maximum.
    RuntimeError
        If an integer program has found no ranking of a query after 60 s.

    Warns
    -----
    InfeasibleConstraintWarning
        If the documents of a query cannot keep the bounds. The message names the query and the
        group. The numbers by which bounds are missed are then as small as possible in all.
    ConvergenceWarning
        If an integer program is stopped after 60 s, before it has shown that its ranking is best.

    Notes
    -----
    Documents of an intersection of groups rank by score. So an order is a path of numbers: how many
    documents of each intersection are among the first 1, 2, ..., k. A dynamic program finds the
    best path, in memory and time in proportion to these numbers. If a query has more than 5 million
    (100 ranks of 4 intersections and 20 of 8 have fewer), integer programs find the best order.

    Scores may lie far from the others, for example -1e9 for documents to avoid: these are among the
    first k only if the bounds need them. A step between two scores that exceeds the sum of all
    smaller steps by a factor of a million counts as a million times that sum.

    References
    ----------
    .. [1] M. Zehlike, F. Bonchi, C. Castillo, S. Hajian, M. Megahed and R. Baeza-Yates, "FA*IR: a
       fair top-k ranking algorithm", CIKM 2017.

    Examples
    --------
    >>> from skfair.ranking import rerank
    >>> scores = [0.9, 0.8, 0.7, 0.6, 0.5]
    >>> group = ["a", "a", "a", "b", "b"]
    >>> rerank(scores, [1] * 5, sensitive_features=group, k=3, minimum={"b": 1}).tolist()
    [1, 2, 4, 3, 5]
    >>> rerank(scores, [1] * 5, sensitive_features=group, k=4, maximum={"a": [1, 1, 2, 2]}).tolist()
    [1, 3, 5, 2, 4]
    >>> rerank(scores, [1] * 5, sensitive_features=group, k=4, minimum={"b": 0.5}).tolist()
    [1, 2, 5, 3, 4]
    """
    columns = {"scores": scores, "query_id": query_id}
    samples, (checked, _) = check_metric_input(sensitive_features, None, **columns)  # type: ignore[arg-type]
    costs = -to_floats("scores", checked)
    query = _encode_queries(query_id, len(costs))
    if not is_int(k):
        raise argument_error(f"k must be a number of ranks of at least 1; got {k!r}.")
    bounds = read_bounds(samples.groups, minimum or {}, maximum or {}, k)
    if are_disjoint(bounds):
        is_first = merge_lists(costs, query.codes, bounds, k)
        ranks = rank_within((query.codes,), costs, ~is_first)
    else:
        ranks = rank_within((query.codes,), costs)
        for number in range(len(query.names)):
            rows = np.flatnonzero(query.codes == number)
            ranks[rows] = find_best_ranks(costs[rows], [one.restrict(rows) for one in bounds], k)
    warn_of_infeasible_queries(query, ranks, bounds)
    return ranks


__all__ = ["ConstrainedRanker", "ConstrainedRankerCV", "rerank"]
