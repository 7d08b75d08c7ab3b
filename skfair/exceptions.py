"""Warnings and errors of skfair."""

__all__ = [
    "InfeasibleConstraintWarning",
    "MissingSensitiveFeaturesError",
    "MissingSensitiveFeaturesWarning",
]


class MissingSensitiveFeaturesWarning(UserWarning):
    """A fairness constraint was asked for, but fit was not told anyone's group.

    The estimator then treats everybody as one group and gives the plain, unconstrained fit.

    Examples
    --------
    >>> import warnings
    >>> from skfair.exceptions import MissingSensitiveFeaturesWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", MissingSensitiveFeaturesWarning)  # raise instead
    """


class InfeasibleConstraintWarning(UserWarning):
    """The fairness bound asked for was not met by the fitted model.

    The message names the value that was reached and what to do about it.

    Examples
    --------
    >>> import warnings
    >>> from skfair.exceptions import InfeasibleConstraintWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", InfeasibleConstraintWarning)  # raise instead
    """


class MissingSensitiveFeaturesError(ValueError):
    """A fairness scorer was called without anyone's group.

    Searches and cross-validation turn what a scorer raises into a score of nan, and warn with the
    message; with ``error_score="raise"`` they stop. Where all scores are nan no candidate is better
    than another: :func:`skfair.model_selection.best_subject_to` refuses to choose.

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
