"""Filed claims and answers, recomputed from the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from skfair._utils.checks import argument_error
from skfair.audit._alternatives import (
    Alternatives,
    read_filed_alternatives,
    verify_alternatives,
)
from skfair.audit._audit import Audit
from skfair.audit._claims import (
    Claim,
    check_states_digest,
    make_filed_constraint,
    read_filed_claim,
)
from skfair.audit._sentences import LOWER_BOUNDS, POPULATION_SHARE
from skfair.constraints import Constraint


def verify(
    claim: Claim | Alternatives | str | PathLike[str],
    audit: Audit,
    *,
    salt: str | None = None,
    candidates: Mapping[str, Any] | None = None,
    performance: str | Callable | None = None,
) -> list[str]:
    """Recompute a filed claim from the data, and name what differs.

    Limits are recomputed by the formulas of the version that the claim names.

    Read more in the :ref:`guide <audit_certificate>`.

    Parameters
    ----------
    claim : Claim, str or path-like
        The claim, the JSON of :meth:`Claim.to_json`, or the path of a file of it.
    audit : Audit
        The data.
    salt : str, default=None
        Secret text with which the claim was made; the digest of the samples is compared too.
    candidates : dict, default=None
        The candidates, if `claim` is the answer of :meth:`Audit.alternatives`, or its JSON.
    performance : callable, default=None
        The performance of these, where it was a function.

    Returns
    -------
    differences : list of str
        What the claim files and the data do not have, numbers by more than rounding; empty if the
        data have the same claim. Of the source the positive label, threshold and salted digest are
        compared, as far as both state them, and of two claims of the command all facts but date,
        versions, file, its digest and the command. Of the reading of a file and that of arrays,
        labels and numbers of samples are compared. The attempt is not.

    Raises
    ------
    ValueError
        If the text is no claim, it states no digest that a salt which is passed could confirm, its
        constraint cannot be made again since a loss or a rate is one of the user's own, or the
        audit cannot answer it.

    Examples
    --------
    >>> from skfair.audit import Audit, verify
    >>> decisions, sex = [1, 0, 0, 1, 0] * 800, ["f"] * 2000 + ["m"] * 2000
    >>> audit = Audit.from_predictions(None, decisions, sensitive_features=sex)
    >>> verify(audit.certify(tolerance=0.1).to_json(), audit)
    []
    >>> other = Audit.from_predictions(None, [0, *decisions[1:]], sensitive_features=sex)
    >>> verify(audit.certify(tolerance=0.1).to_json(), other)
    ['estimate', 'high', 'reading', 'text']
    """
    if not isinstance(audit, Audit):
        raise argument_error(
            f"audit must be an Audit of the data of the claim; got {audit!r}. Make one, as by "
            "Audit.from_predictions(y_true, y_pred, sensitive_features=...)."
        )
    if candidates is not None:
        if salt is not None:
            raise argument_error(
                "salt must be left out with candidates, since an answer states no digest of the "
                "samples."
            )
        answer, edited = read_filed_alternatives(claim)
        return list(
            dict.fromkeys(edited + verify_alternatives(answer, audit, candidates, performance))
        )
    filed, edited = read_filed_claim(claim)
    check_states_digest(filed.source, salt)
    attributes = audit.samples.groups.attributes or ()
    for name in ("tolerance", "reference"):
        bounds = filed.constraint["params"].get(name)
        if isinstance(bounds, dict) and {*bounds} != {*attributes}:
            raise argument_error(
                f"sensitive_features must have the attributes of the claim, {[*bounds]}, but has "
                f"{[*attributes]}. Names in a file are text, so pass columns with names."
            )
    is_about_shares = filed.form == POPULATION_SHARE
    constraint: str | Constraint = "demographic_parity"
    if not is_about_shares:
        constraint = make_filed_constraint(filed.constraint)
    # Ratios, floors and ceilings are parameters of the constraint.
    is_parameter = filed.form in (*LOWER_BOUNDS, "ceiling") or filed._thresholds
    tolerance = None if is_parameter else filed.threshold
    now = audit.certify(
        constraint,
        tolerance,
        confidence_level=filed.confidence_level,
        salt=salt,
        min_published=filed.min_published,
        population=filed.constraint["params"].get("population") if is_about_shares else None,
    )
    return list(dict.fromkeys(edited + filed.find_differences(now)))
