"""Docstring entries that the metrics share."""

from skfair._utils.api import make_docstring_decorator

_COMMON_ENTRIES = """
y_true : array-like of shape (n_samples,)
    True class of each sample, of two classes.
y_pred : array-like of shape (n_samples,)
    Predicted class of each sample.
y_score : array-like of shape (n_samples,)
    Score of each sample.
sensitive_features : array-like or sparse matrix
    Group of each sample (protected attribute), of shape (n_samples,). With several attributes, of
    shape (n_samples, n_attributes), the groups are the intersections that occur. A sparse boolean
    matrix of shape (n_samples, n_groups) marks the members of each group: these groups may overlap.
    A group that does not occur in these samples does not count.
method : {"between_groups", "to_overall", "above_overall"}, default="between_groups"
    "between_groups" compares the groups with one another. "to_overall" compares each group with all
    samples, in either direction; both are as in fairlearn. "above_overall" compares with all
    samples the groups whose value is larger.
agg : {"worst_case", "mean"}, default="worst_case"
    Of two rates or losses that are compared, the less fair value or the mean of both.
sample_weight : array-like of shape (n_samples,), default=None
    Non-negative weights. A sample of weight zero counts as absent.
pos_label : int, float, bool or str, default=None
    The positive class, such as "selected". None takes 1 if the labels are 0 and 1, -1 and 1 or
    booleans, and refuses other labels.
difference : float
    In [0, 1], 0 is fair. 0 with a single group, nan where fewer than two rates are known.
gap : float
    In [0, 2], 0 is fair. 0 with a single group, nan where fewer than two values of either rate are
    known.
ratio : float
    In [0, 1], 1 is fair. 1 with a single group; nan with a warning where all rates are 0, or fewer
    than two are known.
ValueError
    If the inputs differ in length or in their pandas index, or hold missing or infinite values.
"""

_CLASSIFICATION_ENTRIES = """
ValueError
    If the inputs differ in length or in their pandas index, hold missing values or more than
    two classes, or if ``pos_label=None`` leaves open which class is positive.
"""

_HARDT2016_TEXT = """
.. [1] M. Hardt, E. Price and N. Srebro, "Equality of opportunity in supervised learning",
   NeurIPS 2016.
"""

_BAROCAS2023_TEXT = """
.. [1] S. Barocas, M. Hardt and A. Narayanan, "Fairness and machine learning: limitations
   and opportunities", MIT Press 2023, Chapter 3.
"""

classification_docs = make_docstring_decorator(
    _COMMON_ENTRIES,
    _CLASSIFICATION_ENTRIES,
    hardt2016=_HARDT2016_TEXT,
    barocas2023=_BAROCAS2023_TEXT,
)

_LOSS_ENTRIES = """
y_score : array-like of shape (n_samples,)
    Values of the decision function, not probabilities.
loss : str or callable, default="logistic"
    Name in :data:`skfair.losses.LOSSES`, or a callable (scores, target) -> Pointwise with
    targets -1 and +1. "squared" and "squared_hinge" are squares, of which fits minimise halves.
difference : float
    In the unit of the loss, 0 is fair. 0 with a single group, nan where fewer than two groups
    have samples of a class that is compared.
ValueError
    If the inputs differ in length or in their pandas index, scores are not finite, there is no
    loss of this name, or ``pos_label=None`` leaves open which class is positive.
"""

loss_docs = make_docstring_decorator(_COMMON_ENTRIES, _LOSS_ENTRIES)

_REGRESSION_ENTRIES = """
y_true : array-like of shape (n_samples,)
    Target of each sample, a real number.
y_pred : array-like of shape (n_samples,)
    Predictions of the target.
"""

regression_docs = make_docstring_decorator(_COMMON_ENTRIES, _REGRESSION_ENTRIES)

score_docs = make_docstring_decorator(_COMMON_ENTRIES)

_RANKING_ENTRIES = """
y_score : array-like of shape (n_documents,)
    Scores by which documents are ranked: the higher, the earlier.
sensitive_features : array-like of shape (n_documents,) or (n_documents, n_attributes)
    Group of each document.
query_id : array-like of shape (n_documents,), default=None
    Query of each document. None: all belong to one query.
merit : array-like of shape (n_documents,), default=None
    Merit of each document, not negative, such as its relevance. None: that of all is the same.
k : int, default=None
    Ranks that get attention; None for all.
discount : "log" or callable, default="log"
    Attention of ranks: 1 / log2(1 + rank), or a function of an array of ranks, of which the
    first is 1, that returns numbers from 0 to 1.
average : {"documents", "queries"}, default="documents"
    Whether the mean of a group is over all its documents, or over queries, of the mean of its
    documents in each query that has some. Queries of many documents then count no more than others.
sample_weight : array-like of shape (n_documents,), default=None
    Non-negative weights of documents in means of exposure. Ranks count documents; those of
    weight zero are absent.
ratio : float
    In [0, 1], 1 is fair. 1 with a single group; nan with a warning where no document gets
    attention.
ValueError
    If the inputs differ in length or hold missing values, the merit of a group is 0, or k or
    the discount is none.
"""

_SINGH2018_TEXT = """
.. [1] A. Singh and T. Joachims, "Fairness of exposure in rankings", KDD 2018.
"""

ranking_docs = make_docstring_decorator(
    _COMMON_ENTRIES, _RANKING_ENTRIES, singh2018=_SINGH2018_TEXT
)

_PARTIAL_ENTRIES = """
y_score : array-like of shape (n_samples,)
    Scores. The higher, the more positive.
interval : pair of floats, list of pairs, or dict of either by group
    ``(alpha, beta)`` selects the samples with a rank in [alpha, beta), counted from the highest
    score: (0.0, 0.2) is the top fifth. If beta is 1 it is included. A list of pairs means their
    union.
threshold : float, default=0.0
    Decision threshold: 0.0 for a decision function, 0.5 for probabilities.
difference : float
    In [0, 1], 0 is fair. 0 with a single group, nan where fewer than two groups can be
    compared.
ValueError
    If the inputs differ in length or in their pandas index, hold missing or infinite values, or
    if the interval is not of pairs 0 <= alpha < beta <= 1 that do not overlap.
"""

_HE2026_TEXT = """
.. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
   percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
"""

partial_docs = make_docstring_decorator(_COMMON_ENTRIES, _PARTIAL_ENTRIES, he2026=_HE2026_TEXT)

_CLUSTERING_ENTRIES = """
labels : array-like of shape (n_samples,)
    Cluster of each sample. Every distinct label is a cluster, so is the -1 with which some
    estimators mark noise. A cluster without samples does not count.
sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
    Group of each sample (protected attribute). Several attributes: see ``attributes``. A group
    that does not occur in these samples does not count.
agg : {"worst_case", "mean"}, default="worst_case"
    The least balanced cluster, or the unweighted mean over the clusters (for reports: it may
    hide a cluster without any member of a group).
attributes : {"intersections", "each"}, default="intersections"
    With several attributes, groups are the intersections that occur. "each" compares the values
    of every single attribute instead.
ValueError
    If the inputs differ in length or in their pandas index, or hold missing values.
"""

clustering_docs = make_docstring_decorator(_COMMON_ENTRIES, _CLUSTERING_ENTRIES)
