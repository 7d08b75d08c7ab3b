"""Rankers of other packages, whose ``fit`` takes the query of each document in a way of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from skfair._utils.sklearn import check_method_params, safe_indexing

if TYPE_CHECKING:
    from typing import Any, Self

    from skfair._postprocessing.scored_samples import ScoredSamples
    from skfair._utils.tables import Table


class QueryArguments(NamedTuple):
    """How the ``fit`` of a ranker takes the documents of queries, which are sorted by query."""

    query: str  # name of the argument
    are_counts: bool = False  # whether it takes the number of documents of each query
    weighs_queries: bool = False  # whether there is one weight for each query


KNOWN_ARGUMENTS = (
    QueryArguments("qid", weighs_queries=True),  # XGBoost
    QueryArguments("group_id"),  # CatBoost
    QueryArguments("group", are_counts=True),  # LightGBM
)
"""Arguments of rankers, that of the most documents first: XGBoost has "group" too."""


def find_query_arguments(ranker: BaseEstimator) -> QueryArguments | None:
    """How the ranker, or the last step of a pipeline, takes queries; None if it is not known."""
    if isinstance(ranker, Pipeline):
        ranker = ranker.steps[-1][1]
    if has_fit_parameter(ranker, "query_id"):
        return None
    known = (one for one in KNOWN_ARGUMENTS if has_fit_parameter(ranker, one.query))
    return next(known, None)


class QueryRanker(BaseEstimator):
    """A ranker of another package, with the ``fit`` of rankers of this one.

    Documents are sorted by query for the ranker, whose predictions do not depend on an order.
    """

    __metadata_request__fit = {"query_id": True, "sample_weight": True}

    def __init__(self, ranker: BaseEstimator, arguments: QueryArguments) -> None:
        self.ranker = ranker
        self.arguments = arguments

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        query_id: Table = None,
        sample_weight: np.ndarray | None = None,
        **params: Any,
    ) -> Self:
        """Fit a clone of the ranker to documents in the order of their queries."""
        names = self.arguments
        order = np.argsort(query_id, kind="stable")
        params = check_method_params(X, params, indices=order)
        starts = np.unique(query_id[order], return_index=True)[1]
        counts = np.diff(np.append(starts, len(order)))
        passed = {names.query: counts if names.are_counts else query_id[order]}
        if sample_weight is not None:
            weights = sample_weight[order]
            by_query = np.add.reduceat(weights, starts) / counts
            passed["sample_weight"] = by_query if names.weighs_queries else weights
        prefix = ""
        if isinstance(self.ranker, Pipeline):
            prefix = f"{self.ranker.steps[-1][0]}__"
        passed = {f"{prefix}{name}": value for name, value in passed.items()}
        self.ranker_ = clone(self.ranker).fit(safe_indexing(X, order), y[order], **passed, **params)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Scores of documents by the fitted ranker."""
        return self.ranker_.predict(X)


def unwrap_rankers(scored: ScoredSamples) -> ScoredSamples:
    """Return the same samples with the rankers of the user in place of `QueryRanker` objects."""
    training, new = (
        [getattr(one, "ranker_", one) for one in rankers]
        for rankers in (scored.scorers.training, scored.scorers.new)
    )
    return scored._replace(scorers=scored.scorers._replace(training=training, new=new))
