"""Docstring entries that the displays share."""

from skfair.utils._docstrings import shared_docs

display_docs = shared_docs(
    """
    estimator : estimator instance
        A fitted classifier of two classes.
    X : array-like of shape (n_samples, n_features)
        Samples to predict.
    y_true : array-like of shape (n_samples,)
        True class of each sample, of two classes.
    y_score : array-like of shape (n_samples,)
        Score of each sample. The higher, the more positive.
    sensitive_features : array-like or sparse matrix
        Group of each sample.
    interval : pair of floats, list of pairs, or dict of either by group, default=None
        Ranks to mark, counted from the highest score: (0.0, 0.2) is the top fifth.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each sample. None gives all samples the same weight.
    pos_label : int, float, bool or str, default=None
        The positive class. None takes the classifier's parameter of this name, and 1 if it has none
        and the classes are 0 and 1, -1 and 1 or booleans.
    group_names : sequence of str, default=None
        Names of the groups. None numbers them.
    name : str, default=None
        Name of the model in the legend.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a new figure.
    ax_ : matplotlib.axes.Axes
        The axes, once drawn.
    figure_ : matplotlib.figure.Figure
        The figure with the axes, once drawn.
    display : instance of this class
        The drawn display.
    NotFittedError
        If the estimator is not fitted.
    """
)
