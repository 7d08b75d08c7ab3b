"""Two groups that were named before the data were seen, the one with the larger rate first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._groups import check_groups
from skfair._utils.checks import argument_error, join_names
from skfair.audit._tables import attribute_name, group_text, name_as_text

if TYPE_CHECKING:
    from scipy import sparse

    from skfair._groups.groups import Groups
    from skfair.audit._certify import BoundAudit
    from skfair.audit._data import AuditData
    from skfair.constraints import Constraint


def check_pair(
    reference: Any, audit: AuditData, constraint: Constraint
) -> dict[str, list[str]] | None:
    """Both labels of each attribute by its name, as texts; None where no pair is named."""
    if reference is None:
        return None
    if getattr(constraint, "reference", "groups") != "groups":
        raise argument_error(
            f"reference names two groups that are compared with one another, but {constraint} "
            "compares all groups with its own reference. Leave one of the two out."
        )
    attributes = _name_attributes(audit.samples.groups)
    example = f"{{{attributes[0]!r}: ('a', 'b')}}"
    is_dict = isinstance(reference, Mapping) and len(reference) > 0
    if not is_dict or not all(map(_is_pair, reference.values())):
        raise argument_error(
            f"reference must name two groups by their labels, as in {example}; got {reference!r}."
        )
    pair = {name_as_text(name): [*map(group_text, both)] for name, both in reference.items()}
    unknown = [name for name in pair if name not in attributes]
    if unknown:
        raise argument_error(
            f"reference must name attributes of sensitive_features, {join_names(attributes)}, but "
            f"{join_names(unknown)} is none. Name one of these, as in {example}."
        )
    if all(first == second for first, second in pair.values()):
        raise argument_error(
            f"reference must name two different groups, as in {example}; got {reference!r}."
        )
    _check_labels(pair, audit.samples.groups)
    return pair


def _is_pair(labels: Any) -> bool:
    """Return whether labels are two labels in a tuple or list."""
    return isinstance(labels, (tuple, list)) and len(labels) == 2


def _name_attributes(groups: Groups) -> list[str]:
    """Names of the attributes as texts; raise for groups that overlap, which have none."""
    if not groups.is_disjoint:
        raise argument_error(
            "reference names two groups by the labels of attributes, but sensitive_features are "
            "groups that overlap. Pass the columns of the attributes, or leave reference out."
        )
    return [attribute_name(name, number) for number, name in enumerate(groups.attributes)]


def _check_labels(pair: dict[str, list[str]], groups: Groups) -> None:
    """Raise for a label that no sample has."""
    for name, both in pair.items():
        column = groups.labels[:, _name_attributes(groups).index(name)]
        known = sorted({group_text(label) for label in column})
        unknown = [label for label in both if label not in known]
        if unknown:
            raise argument_error(
                f"reference must name groups of {name}, {join_names(map(repr, known), 20)}, but no "
                f"sample is of {join_names(map(repr, unknown))}. Write labels as the samples do."
            )


def restrict_to_pair(audit: AuditData, pair: dict[str, list[str]]) -> AuditData:
    """The audit of both groups of a pair; samples of others have no weight.

    A sample is in the first group if it has the first label of each attribute that is named. Other
    attributes do not count.
    """
    groups = audit.samples.groups
    attributes = _name_attributes(groups)
    columns = [attributes.index(name) for name in pair]
    texts = np.array([[group_text(one) for one in row] for row in groups.labels[:, columns]])
    # Position of each group in the pair, (n_groups,): 0, 1 or, if it is in neither, 2.
    first, second = (
        (texts == np.array(labels)).all(axis=1) for labels in zip(*pair.values(), strict=True)
    )
    position = np.where(first, 0, np.where(second, 1, 2))[groups.codes]
    names = np.array([*name_groups(pair), ""])
    compared = check_groups(names[position], len(position))
    weights = np.where(position < 2, audit.samples.weights, 0.0)
    return replace(audit, samples=audit.samples._replace(groups=compared, weights=weights))


def select_direction(
    forms: sparse.csr_array, labels: list[tuple[Any, Any]], pair: dict[str, list[str]]
) -> sparse.csr_array:
    """The linear forms that subtract the second group's rate from the first one's.

    ``forms`` is (n_forms, n_events) with the (cell, group) of each event in ``labels``.
    """
    first, _ = name_groups(pair)
    is_first = np.array([group == first for _, group in labels])
    return forms[(forms @ is_first) > 0.0]


def find_gap_of_pair(bounds: list[BoundAudit], pair: dict[str, list[str]]) -> float:
    """The gap in the direction of the pair as reports state it, of the class with the worst one."""
    gaps = []
    for one in bounds:
        estimates, forms = one.bound.estimates(one.scores)
        forms = select_direction(forms, one.bound.sums.cells.labels, pair)
        largest = (forms @ estimates.values).max(initial=0.0)
        gaps.append(float(one.bound.gap.state(estimates.gap(largest))))
    return min(gaps) if bounds[0].bound.gap.is_ratio else max(gaps)


def name_groups(pair: dict[str, list[str]]) -> list[str]:
    """Names of both groups: their labels by all attributes that are named."""
    both = zip(*pair.values(), strict=True)
    return [group_text(labels) if len(labels) > 1 else labels[0] for labels in both]


def describe_pair(pair: dict[str, list[str]], form: str) -> str:
    """The sentence on which two groups a gap or ratio compares."""
    first, second = map(repr, name_groups(pair))
    compared = f"how far the rate of {first} is above the rate of {second}"
    if form == "ratio":
        compared = f"the rate of {second} divided by the rate of {first}"
    return (
        f"The {form} is {compared} ({join_names([*pair])}), which are stated to have been named "
        "before these data were seen. Nothing is said of other groups."
    )
