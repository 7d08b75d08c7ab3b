"""Models tested on the same held-out samples in an order fixed beforehand, from tight to loose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike

from skfair._statistics.estimates import check_level
from skfair._utils.checks import argument_error
from skfair._utils.parameters import CONFIDENCE_LEVEL
from skfair.audit._audit import Audit
from skfair.audit._claims import Claim
from skfair.audit._ledger import check_same_samples, count_attempt, divide_level
from skfair.constraints import Constraint


def certify_in_order(
    audits: Sequence[Audit],
    constraint: str | Constraint = "demographic_parity",
    tolerance: float | None = None,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
    ledger: str | PathLike[str] | None = None,
    salt: str | None = None,
    min_published: int | None = None,
) -> tuple[int | None, Claim]:
    r"""The last of several models, from tight to loose, that is shown to keep a tolerance.

    The audits are of the same held-out samples, one for each model. Each model is certified at the
    full confidence level, in the order that is passed, until the first that is not shown. The last
    one before it is returned. This is a test of hypotheses in a fixed sequence ([1]_): with
    :math:`g` the gap in the population of the model that is returned,

    .. math:: P(g > \text{tolerance}) \le 1 - \text{level},

    for any models, population and number of samples, as far as each claim is exact
    (`Claim.is_exact`) and the samples are independent. It needs no correction for the number of
    models, because a model that breaks the tolerance is returned only if the first such model is
    shown to keep it.

    The order must be fixed before these samples are seen. That it was is the user's word, and the
    claim says so. All models together are one attempt of a ledger.

    Read more in the :ref:`guide <theorem>`.

    Parameters
    ----------
    audits : sequence of Audit
        One for each model, in order, such as those of
        :func:`skfair.model_selection.fit_ladder`. Groups, outcomes, weights and clusters are equal
        in all of them.
    constraint, tolerance, confidence_level, ledger, salt, min_published
        As in :meth:`Audit.certify`.

    Returns
    -------
    position : int or None
        Index in `audits` of the last model that is shown; None if the first one is not.
    claim : Claim
        The claim about this model, or about the first one.

    Raises
    ------
    ValueError
        If there is no audit, their samples differ, or `Audit.certify` raises.

    See Also
    --------
    skfair.model_selection.fit_ladder : Fits such models.

    References
    ----------
    .. [1] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and L. Lei, "Learn then test:
       calibrating predictive algorithms to achieve risk control", Annals of Applied Statistics 19,
       2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.audit import Audit, certify_in_order
    >>> scores, sex = np.tile(np.arange(1000) / 1000, 2), np.repeat(["f", "m"], 1000)
    >>> shifts = [0.0, 0.02, 0.1]
    >>> audits = [
    ...     Audit.from_predictions(None, scores > 0.5 + s * (sex == "f"), sensitive_features=sex)
    ...     for s in shifts
    ... ]
    >>> position, claim = certify_in_order(audits, tolerance=0.1)
    >>> position, claim.verdict
    (1, 'shown')
    """
    is_list = isinstance(audits, Iterable) and not isinstance(audits, str)
    others = [one for one in audits if not isinstance(one, Audit)] if is_list else [audits]
    if others:
        raise argument_error(
            f"audits must be a list of audits, one for each model; got {others[0]!r}. Pass "
            "[Audit.from_estimator(one, X, y, sensitive_features=...) for one in models]."
        )
    audits = list(audits)
    check_same_samples(audits)
    level = check_level(confidence_level)
    attempt = None
    if ledger is not None:
        attempt = count_attempt(ledger, audits[0].samples, audits[0].outcomes, salt)
        level = divide_level(level, attempt)
    position = None
    for number, audit in enumerate(audits):
        tested = audit.certify(
            constraint,
            tolerance,
            confidence_level=level,
            salt=salt,
            min_published=min_published,
        )
        if number == 0 or tested.is_shown:
            order = _describe_order(number, len(audits), tested.is_shown)
            claim = replace(tested, attempt=attempt, order=order)
        if not tested.is_shown:
            break
        position = number
    return position, claim


def _describe_order(number, n_models, is_shown):
    """Sentence on the place of a model in the order, which the user states."""
    place = "the last that is shown" if is_shown else "the first, so that no other was tested,"
    return (
        f"It is {place} of {n_models} models, number {number + 1} in an order that is stated to "
        "have been fixed before these data were seen."
    )
