"""Outcomes of which some are missing, and the decisions that say which."""

from __future__ import annotations

from typing import Any, Literal, get_args

from skfair._columns.reading import read_periods
from skfair._utils.checks import argument_error, check_choice, check_in_memory

MissingOutcomes = Literal["by_decision", "at_random"]
"""What a user says of outcomes that are missing, as `Outcomes.missing`."""


class Outcomes:
    """Outcomes of which some are missing, to be passed as ``y_true`` of an audit.

    Where each outcome is known, or outcomes are missing by chance, pass the outcomes themselves.

    Read more in the :ref:`guide <selective_outcomes>`.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or str
        Outcomes, missing (nan or None) where they are not known. Of a table of counts or a file,
        the name of the column, also for `decided` and `time`.
    missing : {"by_decision", "at_random"}, default=None
        How outcomes are missing, where one decision has them less often. None raises an error for
        questions that depend on it, and leaves such rates out of reports.

        - "by_decision": nothing but the group and the decision says whether an outcome is known.
          Samples then count by the inverse of the known share of their group and decision.
        - "at_random": the samples that have an outcome count as they are.
    decided : array-like of shape (n_samples,) or str, default=None
        The decision that was made, and that says which outcomes became known. None takes the
        decisions that are audited. Pass it to audit a new model on old outcomes.
    time : array-like of shape (n_samples,) or str, default=None
        When a sample was decided on: dates, of which months count, or numbers of periods. Outcomes
        of the last months may then be late without being missing by decision.

    Raises
    ------
    ValueError
        If `missing` is another word, or `time` holds neither dates nor whole numbers.

    Examples
    --------
    A lender knows who repaid among 600 granted applicants, and has followed up 40 of 400 refused
    ones. Ten of these repaid:

    >>> import numpy as np
    >>> from skfair.audit import Audit, Outcomes
    >>> granted = np.repeat([1, 0], [600, 400])
    >>> repaid = np.repeat([1, 0, 1, 0, np.nan], [450, 150, 10, 30, 360])
    >>> sex = np.tile(["f", "m"], 500)
    >>> outcomes = Outcomes(repaid, missing="by_decision")
    >>> audit = Audit.from_predictions(outcomes, granted, sensitive_features=sex)
    >>> frame = audit.report().frame
    >>> is_rate = (frame["metric"] == "true_positive_rate") & (frame["group"] == "overall")
    >>> frame.loc[is_rate, ["estimate", "low", "high"]].astype(float).round(2).values.tolist()
    [[0.82, 0.72, 0.9]]
    """

    def __init__(
        self,
        y: Any,
        *,
        missing: MissingOutcomes | None = None,
        decided: Any = None,
        time: Any = None,
    ):
        check_choice("missing", missing, (None, *get_args(MissingOutcomes)))
        if y is None:
            raise argument_error(
                "y must hold outcomes, of which some may be missing, but is None. Pass None itself "
                "as y_true if no outcome is known."
            )
        check_in_memory(decided=decided, time=time)
        self.y, self.missing, self.decided, self.time = y, missing, decided, time

    def __repr__(self) -> str:
        return f"<Outcomes: missing={self.missing!r}, decided={self.decided is not None}>"


def as_outcomes(y_true: Any) -> Outcomes | None:
    """Return outcomes as an audit takes them; None without any."""
    return y_true if y_true is None or isinstance(y_true, Outcomes) else Outcomes(y_true)


def list_columns(outcomes: Outcomes) -> dict[str, Any]:
    """Return the columns of outcomes by role; None where there is none."""
    period = read_periods(outcomes.time)
    return {"y_true": outcomes.y, "decided": outcomes.decided, "period": period}


def list_names(outcomes: Outcomes) -> dict[str, Any]:
    """Return names of the columns by argument, of outcomes in a file or a table of counts."""
    return {"y_true": outcomes.y, "decided": outcomes.decided, "time": outcomes.time}


def replace_columns(outcomes: Outcomes, y: Any, decided: Any = None, time: Any = None) -> Outcomes:
    """Return outcomes in other columns, of which the same is said."""
    return Outcomes(y, missing=outcomes.missing, decided=decided, time=time)
