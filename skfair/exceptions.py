"""Warnings and errors of skfair."""

from skfair._names import refuse_unknown_names

__all__ = [
    "ConstraintCostWarning",
    "InfeasibleConstraintWarning",
    "MissingSensitiveFeaturesError",
    "MissingSensitiveFeaturesWarning",
    "UnscorableSearchError",
]

__getattr__ = refuse_unknown_names(__name__)


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

    A search or cross-validation with ``error_score="raise"`` raises it. With another
    ``error_score`` scikit-learn would turn it into a score: an :class:`UnscorableSearchError` with
    the same message then stops the search.

    Read more in the :ref:`guide <statuses>`.

    Examples
    --------
    >>> from skfair.exceptions import MissingSensitiveFeaturesError
    >>> from skfair.metrics import get_scorer
    >>> try:
    ...     get_scorer("balance")(None, [[0.0], [1.0]])
    ... except MissingSensitiveFeaturesError as error:
    ...     print("set_config(enable_metadata_routing=True)" in str(error))
    True
    """


class UnscorableSearchError(Exception):
    """Stops a search whose candidates cannot be scored.

    scikit-learn's searches and cross-validation turn an exception of a scorer into ``error_score``,
    which is nan by default. An error in the way the search was called fails for every candidate:
    all scores are nan, and the first candidate is selected. Scorers of
    :func:`skfair.metrics.get_scorer`, and models that need groups to predict, therefore let the
    search raise this error, as if its ``error_score`` was "raise". It is raised inside searches
    only. With ``error_score="raise"`` the original exception, such as a
    :class:`MissingSensitiveFeaturesError`, reaches the caller.

    Read more in the :ref:`guide <pipelines>`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> from skfair.exceptions import UnscorableSearchError
    >>> from skfair.metrics import get_scorer
    >>> X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) % 2
    >>> scorer = get_scorer("neg_demographic_parity_difference")
    >>> try:
    ...     cross_validate(LogisticRegression(), X, y, scoring=scorer)  # without groups
    ... except UnscorableSearchError as error:
    ...     print("set_config(enable_metadata_routing=True)" in str(error))
    True
    """
