"""Docstring entries that the metrics share."""

from skfair.utils._docstrings import shared_docs

_COMMON = """
sensitive_features : array-like or sparse matrix
    Group of each sample (the protected attribute), of shape (n_samples,). Of several attributes, of
    shape (n_samples, n_attributes), the groups are the intersections that occur. A sparse boolean
    matrix of shape (n_samples, n_groups) marks the members of groups that may overlap. A group that
    does not occur in these samples does not count.
reference : {"groups", "overall"}, default="groups"
    "groups" compares the groups with one another. "overall" compares each group with all samples:
    the largest excess of a group over the value of all, one-sided, at least 0.
aggregate : {"max", "sum", "mean", "signed_mean"}, default="max"
    "sum" adds the differences where more than one rate is compared. With ``reference="overall"``,
    "mean" is the mean over groups and rates of the positive parts of the excesses, "signed_mean"
    that of the excesses themselves.
sample_weight : array-like of shape (n_samples,), default=None
    Non-negative weights. A sample of weight zero counts as absent.
y_true : array-like of shape (n_samples,)
    True class of each sample, of two classes.
pos_label : int, float, bool or str, default=None
    The positive class, such as "selected". None takes 1 if the labels are 0 and 1, -1 and 1 or
    booleans, and refuses other labels.
ValueError
    If the inputs differ in length or in their pandas index, or are not finite.
"""

classification_docs = shared_docs(
    _COMMON,
    """
    y_pred : array-like of shape (n_samples,)
        Predicted class of each sample.
    ValueError
        If the inputs differ in length or in their pandas index, hold missing values or more than
        two classes, or if ``pos_label=None`` leaves open which class is positive.
    """,
)

regression_docs = shared_docs(
    _COMMON,
    """
    y_true : array-like of shape (n_samples,)
        Target of each sample, a real number.
    y_pred : array-like of shape (n_samples,)
        Predictions of the target.
    """,
)
