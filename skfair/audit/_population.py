"""Shares of groups against those of a population, with exact limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isclose
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from skfair._groups.groups import normalize_label
from skfair._groups.known import MISSING
from skfair._statistics.estimates import check_level
from skfair._statistics.gaps import Verdict, find_verdict
from skfair._statistics.limits_of_rates import clopper_pearson_limits
from skfair._utils.api import Label
from skfair._utils.checks import argument_error, check_tolerance, join_names, round_up
from skfair.audit._claims import Claim
from skfair.audit._front import draw_limited, find_axis
from skfair.audit._report_input import make_groupings
from skfair.audit._sentences import POPULATION_SHARE, Quantity, confidence_text, value_cell
from skfair.audit._tables import group_text, name_as_text

if TYPE_CHECKING:
    from skfair._groups.groups import Groups
    from skfair.audit._data import AuditData
    from skfair.audit._report_data import ReportData

Population = Mapping[str, Mapping[Label, float] | pd.Series]
"""Shares of the groups of each attribute in a population."""

SHARE = Quantity("share of samples", "percentage points", POPULATION_SHARE)
"""What is compared."""


class GroupShares(NamedTuple):
    """Samples of the groups of one attribute, and the shares of these groups in a population."""

    attribute: str
    groups: list[str]
    counts: np.ndarray
    targets: np.ndarray
    n_left_out: int = 0  # of unknown group

    @property
    def n(self) -> int:
        """Number of samples whose group is known."""
        return int(self.counts.sum())

    @property
    def differences(self) -> np.ndarray:
        """Share of each group less that in the population."""
        return self.counts / self.n - self.targets

    @property
    def n_events(self) -> int:
        """Number of groups whose limits may err: of two groups one errs where the other does."""
        return 1 if len(self.groups) == 2 else len(self.groups)

    def limit_differences(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Exact limits of the differences, each of the two at a level."""
        low, high = clopper_pearson_limits(self.counts, self.n, level)
        return low - self.targets, high - self.targets


# What is compared: samples by group, and shares that must fit their groups.


def count_shares(audit: AuditData, population: Population) -> list[GroupShares]:
    """Samples of each group of the attributes of a population, checked."""
    by_attribute = _read_population(population)
    _check_can_count(audit)
    groups, n_missing = make_groupings(audit.samples, audit.known.treatment)
    leaves_out = audit.known.treatment == "exclude"
    if unknown := [name for name in by_attribute if name not in groups]:
        raise argument_error(
            f"population must have shares by attribute, but {join_names(map(repr, unknown))} is no "
            f"attribute of sensitive_features, which has {join_names(map(repr, groups))}."
        )
    shares = (
        _match_groups(attribute, groups[attribute], audit, targets)
        for attribute, targets in by_attribute.items()
    )
    return [one._replace(n_left_out=leaves_out * n_missing[one.attribute]) for one in shares]


def _match_groups(
    attribute: str,
    groups: Groups,
    audit: AuditData,
    targets: dict[str, float],
) -> GroupShares:
    """Samples and shares of the groups of one attribute; raise where a group has no share.

    Groups of the population that no sample has have 0 samples.
    """
    counts = dict(zip(map(group_text, groups.names), groups.counts.tolist(), strict=True))
    counts |= dict.fromkeys(audit.empty_groups.get(attribute, ()), 0)
    start = f"population[{attribute!r}] must have the groups of the samples"
    if lacking := [group for group in counts if group not in targets]:
        about_missing = ""
        if any(MISSING in group for group in lacking):
            about_missing = (
                " Samples of unknown group are one of these: state their share, or compare the "
                "samples of known group by missing='exclude'."
            )
        absent = [group for group in targets if group not in counts]
        if absent and not about_missing:
            about_missing = (
                f" No sample is of {join_names(map(repr, absent))}: write labels as the samples do."
            )
        raise argument_error(
            f"{start}, but lacks {join_names(map(repr, lacking))}. Add their shares, which may be "
            f"0.{about_missing}"
        )
    for group in targets:
        if group not in counts:
            _check_may_be_empty(attribute, group, [*counts], audit.known.unknown)
            counts[group] = 0
    values = np.array([targets[group] for group in counts], dtype=float)
    return GroupShares(attribute, [*counts], np.array([*counts.values()]), values)


def _check_may_be_empty(
    attribute: str, group: str, groups: list[str], unknown: Iterable[Label]
) -> None:
    """Raise for a group of the population that is another spelling of one that has samples."""
    label = normalize_label(group)
    same = [one for one in groups if normalize_label(one) == label]
    if same:
        raise argument_error(
            f"population[{attribute!r}] must write labels as the samples do, but has {group!r} in "
            f"addition to {same[0]!r}, which differs in case or spaces only. Add up their shares."
        )
    if label in map(normalize_label, unknown):
        raise argument_error(
            f"population[{attribute!r}] must have shares of known groups, but {group!r} is a label "
            "of unknown ones. Leave it out, and divide the other shares by their sum."
        )


def _read_population(population: Population) -> dict[str, dict[str, float]]:
    """Shares by attribute and group as texts; raise unless they are numbers that sum to 1."""
    is_nested = isinstance(population, Mapping) and all(map(_has_shares, population.values()))
    if not is_nested or not population:
        raise argument_error(
            "population must have the share of each group by attribute, as in "
            f"{{'sex': {{'f': 0.51, 'm': 0.49}}}}; got {population!r}."
        )
    by_attribute = {}
    for name, groups in population.items():
        shares = {group_text(group): share for group, share in groups.items()}
        for group, share in shares.items():
            is_number = isinstance(share, Real) and not isinstance(share, bool)
            if not is_number or not 0.0 <= share <= 1.0:
                passed = share.item() if isinstance(share, np.generic) else share
                raise argument_error(
                    f"population must have shares from 0 to 1, but that of {group!r} by "
                    f"{str(name)!r} is {passed!r}. Write 51 % as 0.51."
                )
        total = float(sum(shares.values()))
        # Shares of a table are rounded: as many half digits as there are groups.
        if not isclose(total, 1.0, abs_tol=max(1e-9, 5e-4 * len(shares))):
            raise argument_error(
                f"population must have shares that sum to 1, but those by {str(name)!r} sum to "
                f"{total:.6g}. Add the groups that are left out, or divide by the sum."
            )
        by_attribute[name_as_text(name)] = {group: float(share) for group, share in shares.items()}
    return by_attribute


def _has_shares(groups: object) -> bool:
    """Whether something may be shares by group: a dict, or a Series as of ``value_counts``."""
    return isinstance(groups, Mapping | pd.Series) and len(groups) > 0


def _check_can_count(audit: AuditData) -> None:
    """Raise for samples whose groups are not counts of independent samples."""
    groups = audit.samples.groups
    reasons = {
        "groups are not all known, and numbers of samples are estimated: pass missing='exclude', "
        "which compares samples of known group": audit.known.is_modelled,
        "groups overlap, so that their shares do not sum to 1: pass columns of attributes": (
            not groups.is_disjoint
        ),
        "samples have weights, and a share may be one of samples or of weights. Its limits are "
        "exact for samples: leave sample_weight out for their shares": (
            groups.multiplicity is None and not audit.samples.is_equally_weighted
        ),
        "samples belong together in clusters (groups), and a share may be one of samples or of "
        "clusters. Limits are exact for independent ones: pass one row for each cluster, or leave "
        "groups out": audit.clusters is not None,
    }
    for reason, is_so in reasons.items():
        if is_so:
            raise argument_error(f"population is compared with shares of samples, but {reason}.")


# The report: one row for each group.


def tabulate_shares(
    audit: AuditData, population: Population, tolerance: float | None, level: float
) -> pd.DataFrame:
    """Share of each group and in the population, their difference, limits and verdict.

    Limits and verdicts hold for one group at a time, those of ``is_shown`` and ``is_contradicted``
    for all groups of the table together.
    """
    bound = 0.0 if tolerance is None else check_tolerance(tolerance)
    shares = count_shares(audit, population)
    together = find_share_limits(shares, bound, check_level(level))
    tables = []
    for one in shares:
        low, high = one.limit_differences((1.0 + level) / 2.0)
        table = pd.DataFrame(
            {
                "attribute": one.attribute,
                "group": one.groups,
                "n": one.counts,
                "population": one.targets,
                "estimate": one.counts / one.n,
                "low": low + one.targets,
                "high": high + one.targets,
                "difference": one.differences,
                "difference_low": low,
                "difference_high": high,
                "tolerance": bound,
            }
        )
        is_within = (low >= -bound) & (high <= bound) & (bound > 0.0)
        is_outside = (low > bound) | (high < -bound)
        table["verdict"] = list(map(find_verdict, is_within, is_outside))
        tables.append(table)
    return pd.concat(tables, ignore_index=True).assign(verdict_of_all=together.verdict)


def find_empty_groups(
    declared: dict[str, list[str]], shares: pd.DataFrame | None
) -> dict[str, list[str]]:
    """Return the groups without samples by attribute: declared ones, and of the population."""
    if shares is None:
        return declared
    rows = shares[shares["n"] == 0]
    named = rows.groupby("attribute", sort=False)["group"].agg(list).to_dict()
    return {
        attribute: [*dict.fromkeys([*declared.get(attribute, ()), *named.get(attribute, ())])]
        for attribute in {**declared, **named}
    }


def is_unlike_population(shares: pd.DataFrame | None) -> bool:
    """Whether a share is shown to differ from that of the population by more than the tolerance."""
    return shares is not None and shares["verdict_of_all"].eq("contradicted").any().item()


def describe_shares(shares: pd.DataFrame, level: float) -> str:
    """Sentence on the share that is furthest from the population, and on the verdict for all."""
    row = shares.loc[shares["difference"].abs().idxmax()]
    bound = row["tolerance"]
    texts = {
        "shown": f"No share differs by more than {SHARE.bound(bound)}",
        "open": f"Whether a share differs by more than {SHARE.bound(bound)} is open",
        "contradicted": f"A share is shown to differ by more than {SHARE.bound(bound)}",
    }
    if bound == 0.0:
        texts["open"] = "No share is shown to differ"
        texts["contradicted"] = "A share is shown to differ"
    limits = SHARE.interval(row["low"], row["high"])
    return (
        f"The share of {row['group']} by {row['attribute']} is {SHARE.value(row['estimate'])} "
        f"({limits}) of the samples and {SHARE.value(row['population'])} of the population, the "
        f"largest difference of a share. {texts[row['verdict_of_all']]}, with "
        f"{confidence_text(level)} for all groups together."
    )


def describe_empty_groups(report: ReportData) -> Iterator[str]:
    """Yield a sentence on the groups of each attribute that no sample has."""
    for attribute, groups in report.empty_groups.items():
        named = join_names(map(repr, groups))
        share = ""
        if report.counts_samples:
            n = report.n_samples - report.n_missing.get(attribute, 0)
            _, high = clopper_pearson_limits(0.0, n, (1.0 + report.confidence_level) / 2.0)
            limit = SHARE._replace(unit="percent").limit(float(high))
            share = f", a share of 0 % (0 to {limit})"
        yield f"No sample is of a declared group by {attribute}: {named}{share}."


_VERDICTS: dict[Verdict, str] = {
    "shown": "kept",
    "open": "undecided",
    "contradicted": "differs by more",
}


def share_tables(shares: pd.DataFrame, level: float) -> Iterator[tuple]:
    """Yield a table of the shares of the groups of each attribute."""
    bound = shares["tolerance"].iloc[0]
    note = (
        "The dashed line is the share in the population. Limits are exact (Clopper and Pearson) "
        f"and hold with {confidence_text(level)} for one group at a time. Kept: the whole interval "
        f"is within {SHARE.bound(bound)} of the population."
    )
    titles = ("Group", "", "Share of samples", "Population", "Difference", "Samples", "Tolerance")
    for attribute, rows in shares.groupby("attribute", sort=False):
        axis = find_axis(SHARE, ())
        cells = []
        for row in rows.to_dict("records"):
            verdict = _VERDICTS[row["verdict"]]
            line = (
                row["group"],
                draw_limited(axis, row, reference=row["population"]),
                value_cell(SHARE, row),
                SHARE.page_value(row["population"]),
                value_cell(SHARE, row, "difference"),
                f"{row['n']:,}",
                verdict if bound else verdict.removesuffix(" by more"),
            )
            cells.append((line, row["verdict"] == "contradicted"))
        yield f"Shares by {attribute} against a population", note, titles, cells


# The claim: that no share differs from that of the population by more than a tolerance.


class ShareLimits(NamedTuple):
    """The largest difference of all shares, its limits, and the verdict on a tolerance."""

    verdict: Verdict
    estimate: float
    low: float
    high: float


def find_share_limits(shares: list[GroupShares], tolerance: float, level: float) -> ShareLimits:
    """Limits of the largest difference of a share from the population, each at the level.

    The upper limit is the largest of all groups, each at the full level: where one share differs
    by more than the tolerance, all are shown to keep it only if its own limit errs. The lower limit
    divides the error among the two limits of all groups, of which any may be the largest.
    """
    error = (1.0 - level) / (2.0 * sum(one.n_events for one in shares))
    low, high = 0.0, 0.0
    for one in shares:
        below, above = one.limit_differences(level)
        high = max(high, *above, *-below)
        below, above = one.limit_differences(1.0 - error)
        low = max(low, *below, *-above)
    estimate = max(np.abs(one.differences).max() for one in shares)
    verdict = find_verdict(0.0 < tolerance and high <= tolerance, low > tolerance)
    return ShareLimits(verdict, float(estimate), float(low), float(high))


def certify_shares(
    audit: AuditData,
    population: Population,
    tolerance: float | dict[str, float] | None,
    level: float,
) -> Claim:
    """The claim of an audit that shares are those of a population, as :meth:`Audit.certify`."""
    if tolerance is None:
        raise argument_error(
            "tolerance must be the largest difference allowed between the share of a group and "
            "that of the population, such as 0.05; got None."
        )
    bound = check_tolerance(tolerance, closed="right")
    shares = count_shares(audit, population)
    limits = find_share_limits(shares, bound, level)
    furthest = max(shares, key=lambda one: np.abs(one.differences).max())
    at = np.abs(furthest.differences).argmax()
    group = furthest.groups[at]
    is_clear = len(shares) == 1
    stated = {
        one.attribute: dict(zip(one.groups, one.targets.tolist(), strict=True)) for one in shares
    }
    return Claim(
        verdict=limits.verdict,
        form=POPULATION_SHARE,
        metric=SHARE.noun,
        unit=SHARE.unit,
        threshold=bound,
        estimate=limits.estimate,
        low=limits.low,
        high=limits.high,
        confidence_level=level,
        is_exact=True,
        sizes={
            name if is_clear else f"{one.attribute}: {name}": int(count)
            for one in shares
            for name, count in zip(one.groups, one.counts, strict=True)
        },
        shown_threshold=_find_shown_threshold(limits),
        worst_group=(
            f"Furthest from the population is {group} by {furthest.attribute}, with "
            f"{SHARE.value(furthest.counts[at] / furthest.n)} of {furthest.n:,} samples and "
            f"{SHARE.value(furthest.targets[at])} of the population."
        ),
        attributes=tuple(stated),
        n_missing={
            "group" if is_clear else f"group by {one.attribute}": one.n_left_out
            for one in shares
            if one.n_left_out
        },
        constraint={
            "name": "PopulationShares",
            "params": {"population": stated},
            "unfiled": [],
        },
        source={},
    )


def _find_shown_threshold(limits: ShareLimits) -> float | None:
    """The strictest tolerance, to three digits, that is shown where that of the claim is not."""
    if limits.verdict == "shown":
        return None
    shown = round_up(limits.high)
    return shown if shown < 1.0 else None
