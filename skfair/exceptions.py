"""Warnings and errors of skfair."""

__all__ = [
    "ConstraintCostWarning",
    "InfeasibleConstraintWarning",
    "MissingSensitiveFeaturesError",
    "MissingSensitiveFeaturesWarning",
]


class MissingSensitiveFeaturesWarning(UserWarning):
    """A fairness constraint was requested, but fit received no sensitive features, or one group.

    The estimator then treats all samples as one group and returns the unconstrained fit.

    Read more in the :ref:`guide <statuses>`.

    Examples
    --------
    >>> import warnings
    >>> from skfair.exceptions import MissingSensitiveFeaturesWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", MissingSensitiveFeaturesWarning)  # raise instead
    """


class ConstraintCostWarning(UserWarning):
    """The constraint costs more than half of what the model improves on a constant prediction.

    Also where chance decides what it costs: one sample changes a rate by more than the tolerance,
    or a precision is bounded where few samples are selected.

    Where constraints compare ranks alone, it is what the model improves on random ranks, by the
    area under the ROC curve or, of a real target, by the rank correlation with it.

    :func:`skfair.audit.fairness_front` fits without this warning, since its front states the
    accuracy of every tolerance.

    Read more in the :ref:`guide <statuses>`.

    Examples
    --------
    >>> import warnings
    >>> from skfair.exceptions import ConstraintCostWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ConstraintCostWarning)  # where the cost is known
    """

    page = " See the page 'What do statuses and warnings mean' of the guide."


class InfeasibleConstraintWarning(UserWarning):
    """The fitted model does not meet the requested fairness bound.

    The message names the value that was reached and what to change.

    Read more in the :ref:`guide <statuses>`.

    Examples
    --------
    >>> import warnings
    >>> from skfair.exceptions import InfeasibleConstraintWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", InfeasibleConstraintWarning)  # raise instead
    """

    page = ConstraintCostWarning.page


class MissingSensitiveFeaturesError(ValueError):
    """A fairness scorer, or a model whose predictions depend on the group, received no groups.

    In a search or cross-validation scikit-learn turns it into the score ``error_score``, which is
    nan by default, and warns with this message. With ``error_score="raise"`` it raises the error.

    Read more in the :ref:`guide <statuses>`.

    Examples
    --------
    >>> from skfair.exceptions import MissingSensitiveFeaturesError
    >>> from skfair.metrics import get_scorer
    >>> try:
    ...     get_scorer("balance")(None, [[0.0], [1.0]])
    ... except MissingSensitiveFeaturesError as error:
    ...     print(error)
    A fairness scorer requires the group of each sample, but sensitive_features is missing. In a
    search or cross-validation, call sklearn.set_config(enable_metadata_routing=True) first, then
    search.fit(X, y, sensitive_features=...) or cross_validate(..., params=...). In a direct call
    pass sensitive_features=, and functools.partial(scorer, sensitive_features=...) to what scores
    the same samples again and again, such as permutation_importance.
    """
