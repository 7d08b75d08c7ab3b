"""Less discriminatory alternatives: candidates that are tested against a model in use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.utils import check_consistent_length

from skfair._columns.reading import Reading
from skfair._statistics.estimates import check_level
from skfair._utils.api import Axes
from skfair._utils.checks import (
    argument_error,
    check_choice,
    check_column,
    join_names,
    mute_warnings,
)
from skfair._utils.tables import to_pandas_table
from skfair.audit._candidate_tests import (
    ORDERS,
    compare_gaps,
    count_pairs,
    decide,
    find_times_more,
)
from skfair.audit._certify import bind_audit, weighs_outcomes
from skfair.audit._claims import (
    EXIT_STATUSES,
    describe_constraint,
    format_constraint,
    is_same,
    make_filed_constraint,
)
from skfair.audit._data import is_audit
from skfair.audit._formats import (
    Markup,
    PageReport,
    PlanePoint,
    collect_facts,
    draw_plane,
    find_plane_axes,
    read_document,
    tabulate_facts,
    titled_facts,
)
from skfair.audit._ledger import check_same_samples, count_attempt, divide_level
from skfair.audit._named_pair import (
    check_pair,
    describe_pair,
    find_gap_of_pair,
    restrict_to_pair,
)
from skfair.audit._performance import (
    PERFORMANCES,
    UP_TO_ONE,
    ChangeTest,
    Comparison,
    Performance,
    compare_weighed_shares,
    pair_samples,
    resolve_performance,
)
from skfair.audit._predictions import resolve_constraint
from skfair.audit._report_input import protect_audit
from skfair.audit._sentences import (
    Quantity,
    confidence_text,
    describe_bound,
    describe_unpublished,
)
from skfair.constraints._held_out import compares_both_decisions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from skfair.audit._certify import BoundAudit
    from skfair.audit._data import AuditData
    from skfair.constraints import Constraint


# The answer.


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Alternatives(PageReport):
    """Which candidates are shown to be less discriminatory alternatives of a model in use.

    Made by :meth:`Audit.alternatives`. ``frame`` has a row for each candidate, those that are shown
    first, from the smallest gap: ``candidate``, ``verdict`` ("shown", "open" or "contradicted"),
    ``gap`` (the smallest ratio where ratios are compared), ``reduction`` with ``reduction_low`` and
    ``reduction_high`` (of ratios by how much the smallest one is larger), ``performance``,
    ``loss`` with ``loss_low`` and ``loss_high``, ``n_gained`` and ``n_lost``, the numbers of
    decisions that become positive and negative, ``times_more``, the factor of samples with which
    both tests would succeed were the population as observed, and ``level``, that of
    each limit in its row: a candidate is shown where ``reduction_low`` and ``loss_high`` are as
    good as is asked for. ``baseline`` is the gap and the performance of the model in use. With
    ``min_published`` numbers that show small counts are nan, and verdicts are those of all samples.

    Read more in the :ref:`guide <alternatives>`.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.audit import Audit
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 4000)
    >>> merit = rng.normal(size=4000)
    >>> y = merit + rng.normal(size=4000) > 0
    >>> in_use = merit + 0.4 * (sex == "m") > 0.2
    >>> audit = Audit.from_predictions(y, in_use, sensitive_features=sex)
    >>> answer = audit.alternatives({"without sex": merit > 0}, margin=0.01)
    >>> answer
    <Alternatives: 1 of 1 shown>
    >>> answer.shown_names
    ['without sex']
    """

    frame: pd.DataFrame
    baseline: dict[str, float]
    metric: str
    unit: str
    form: str
    performance: str
    is_share: bool
    margin: float
    min_reduction: float
    order: str | None
    reference: dict[str, list[str]] | None
    n_pairs: int
    confidence_level: float
    n_samples: int
    constraint: dict[str, Any]
    attempt: int | None
    source: dict[str, str]
    reading: Reading
    min_published: int | None = None
    unpublished: str = ""
    assumption: str = ""
    weighs_outcomes: bool = False

    title = "Search of less discriminatory alternatives"
    _settings = (
        *("frame", "baseline", "metric", "unit", "form", "performance", "is_share", "margin"),
        *("min_reduction", "order", "reference", "n_pairs", "confidence_level", "n_samples"),
        *("constraint", "attempt", "source", "reading", "min_published", "unpublished"),
        *("assumption", "weighs_outcomes"),
    )
    _results = ("findings", "exit_status")

    @property
    def shown_names(self) -> list[str]:
        """Names of the candidates that are shown, from the smallest gap."""
        return self.frame.loc[self.frame["verdict"] == "shown", "candidate"].tolist()

    @property
    def exit_status(self) -> int:
        """Exit status of the shell: 3 if an alternative is shown, so that one should act, or 0."""
        return EXIT_STATUSES["contradicted"] if self.shown_names else 0

    def to_frame(self) -> pd.DataFrame:
        """The table, one row for each candidate."""
        return self.frame.copy()

    @property
    def findings(self) -> list[str]:
        """The result, a sentence for each candidate, and what is not said."""
        return [
            f"{self._headline()}.",
            self._describe_baseline(),
            *self._describe_compared(),
            *(self._describe(row) for _, row in self.frame.iterrows()),
            self._describe_error(),
            *([f"This holds {self.assumption}."] * bool(self.assumption)),
            *([describe_unpublished(self.unpublished)] if self.unpublished else []),
            "Nothing is said of models that are not among the candidates.",
        ]

    def _headline(self) -> str:
        n, shown = len(self.frame), self.shown_names
        if not shown:
            of = f"None of {n} candidate{'s' * (n != 1)}"
            return f"{of} is shown to be a less discriminatory alternative"
        what = (
            "is shown to be a less discriminatory alternative"
            if len(shown) == 1
            else "are shown to be less discriminatory alternatives"
        )
        of = f"{len(shown)} of {n} candidate{'s' * (n != 1)}"
        return f"{of} {what}: {join_names(map(repr, shown), n)}"

    @property
    def _quantity(self) -> Quantity:
        return Quantity(self.metric, self.unit, self.form)

    @property
    def _gain(self) -> Quantity:
        return Quantity(self.performance, "percentage points" if self.is_share else "")

    @property
    def _directions(self) -> tuple[str, str]:
        """How a gap that is better and one that is worse are called."""
        return ("larger", "smaller") if self.form == "ratio" else ("smaller", "larger")

    def _describe_least(self) -> str:
        """How much better the gap of an alternative is."""
        least = f" by {self._quantity.bound(self.min_reduction)} at least"
        return self._directions[0] + least * bool(self.min_reduction)

    def _describe_baseline(self) -> str:
        gap, gain = self._quantity, self._gain
        size = f" of {gap.gap(self.baseline['gap'])}" * bool(np.isfinite(self.baseline["gap"]))
        return (
            f"The model in use has a {gap.form}{size} in {gap.noun} "
            f"and {_article(gain.noun)} of {gain.value(self.baseline['performance'])}, on "
            f"{self.n_samples:,} samples{self._describe_known()}. The {gap.form} of an "
            f"alternative is {self._describe_least()}, and it is worse in {gain.noun} by at most "
            f"{gain.bound(self.margin)}."
        )

    def _describe_compared(self) -> Iterator[str]:
        """Yield a sentence on the pairs of groups that are compared, if there are several."""
        form = self.form
        if self.reference is not None:
            yield describe_pair(self.reference, form)
        elif self.n_pairs > 1:
            yield (
                f"The {form} is the {'smallest' if form == 'ratio' else 'largest'} of "
                f"{self.n_pairs} pairs of groups, among which the error is divided. A pair that is "
                "named before data are seen (reference) has all of it."
            )

    def _describe_known(self) -> str:
        """Which samples the performance counts, where some have no outcome."""
        n_unknown = self.reading.left_out.get("samples have no outcome", 0)
        if not n_unknown:
            return ""
        n_known = self.n_samples - n_unknown
        if self.weighs_outcomes:
            return f", from {n_known:,} known outcomes"
        return f"; the {self._gain.noun} counts the {n_known:,} that have an outcome"

    def _describe(self, row: pd.Series) -> str:
        gap, gain = self._quantity, self._gain
        says = {"shown": "shown", "open": "not shown", "contradicted": "no alternative"}
        is_gap, is_gain = self._passes(row)
        has_gap = bool(np.isfinite(row["reduction_low"]))
        has_loss = bool(np.isfinite(row["loss_high"]))
        clauses = []
        if np.isfinite(row["gap"]):
            changed = f", {self._state_reduction(row)}" * has_gap
            too_little = f" (not shown to be {self._describe_least()})" * (has_gap and not is_gap)
            clauses.append(f"{gap.form} {gap.gap(row['gap'])}{changed}{too_little}")
        known = f", {_state_largest_loss(gain, row['loss_high'])}" if has_loss else ""
        too_much = " (more than the margin)" * (has_loss and not is_gain)
        clauses.append(f"{gain.noun} {gain.value(row['performance'])}{known}{too_much}")
        if np.isfinite(row["n_gained"]):
            clauses.append(
                f"{row['n_gained']:,.0f} decisions become positive, {row['n_lost']:,.0f} negative"
            )
        if row["verdict"] == "contradicted":
            clauses += self._describe_refutation(row)
        if row["verdict"] == "open" and row["times_more"] == 1.0 and self.order:
            clauses.append("not tested, since one that is tested earlier is not shown")
        elif row["verdict"] == "open" and np.isfinite(row["times_more"]):
            n = int(np.ceil(row["times_more"] * self.n_samples))
            clauses.append(
                f"about {_round_up(n):,} samples would do if the population is as observed"
            )
        return f"{row['candidate']!r}, {says[row['verdict']]}: {'; '.join(clauses)}."

    def _state_reduction(self, row: pd.Series) -> str:
        """By how much the gap is better at least, or worse at most."""
        return _state_lower_limit(self._quantity, row["reduction_low"], *self._directions)

    def _describe_refutation(self, row: pd.Series) -> list[str]:
        """The clause on what is shown to be worse than is asked for; empty if it is not stated."""
        gap, gain = self._quantity, self._gain
        worse = self._directions[::-1]
        shown = []
        if row["reduction_high"] < self.min_reduction:
            by = _state_lower_limit(gap, -row["reduction_high"], *worse)
            shown.append(f"the {gap.form} is {by}")
        if row["loss_low"] > self.margin:
            by = _state_lower_limit(gain, row["loss_low"], "worse", "better")
            shown.append(f"{gain.noun} is {by}")
        return [f"shown that {' and '.join(shown)}"] * bool(shown)

    def _passes(self, row: pd.Series) -> tuple[bool, bool]:
        low = row["reduction_low"]
        return bool(low >= self.min_reduction and low > 0.0), bool(row["loss_high"] <= self.margin)

    def _describe_error(self) -> str:
        attempt = f", as attempt {self.attempt} on these data" if self.attempt is not None else ""
        level = confidence_text(self.confidence_level)
        return (
            f"All candidates that are shown are alternatives in the population, with {level}, "
            f"{ORDERS[self.order]}{attempt}. The same samples judge all models, so that errors "
            "which they share cancel."
        )

    def _sections(self) -> Iterator[tuple[str, list]]:
        gap, gain = self._quantity, self._gain
        titles = (
            "Candidate",
            gap.form.capitalize(),
            "Reduction",
            gain.noun.capitalize(),
            "Loss",
            "Verdict",
        )
        rows: list[tuple[tuple, bool]] = [
            (
                (
                    "in use",
                    gap.decimal(self.baseline["gap"]),
                    "",
                    gain.decimal(self.baseline["performance"]),
                    "",
                    "",
                ),
                False,
            )
        ]
        for _, row in self.frame.iterrows():
            reduction = row["reduction"], row["reduction_low"], row["reduction_high"]
            cells = (
                row["candidate"],
                gap.decimal(row["gap"]),
                (gap.decimal(reduction[0]), gap.reach(*reduction[1:])),
                gain.decimal(row["performance"]),
                (gain.decimal(row["loss"]), gain.reach(row["loss_low"], row["loss_high"])),
                row["verdict"],
            )
            rows.append((cells, row["verdict"] == "shown"))
        note = "Limits of the change against the model in use, on the same samples. Marked: shown."
        yield "Findings", [self.findings]
        table = ("Candidates against the model in use", note, titles, rows)
        yield "Candidates", [*self._picture(), table]
        yield self.reading.section()
        facts = [*titled_facts(self.source), ("Constraint", format_constraint(self.constraint))]
        yield tabulate_facts(facts)

    def _picture(self) -> Iterator[Markup]:
        """Yield the picture of performance against the gap, if these are published."""
        gap, gain = self.baseline["gap"], self.baseline["performance"]
        sign = 1.0 if self.form == "ratio" else -1.0
        frame = self.frame[np.isfinite(self.frame["gap"])]
        if not np.isfinite(gap) or not len(frame):
            return
        in_use = PlanePoint("in use", gap, gain, (np.nan, np.nan), (np.nan, np.nan), "small", True)
        points = [
            PlanePoint(
                str(row["candidate"]),
                row["gap"],
                row["performance"],
                (gap + sign * row["reduction_low"], gap + sign * row["reduction_high"]),
                (gain - row["loss_high"], gain - row["loss_low"]),
                "end" if row["verdict"] == "contradicted" else "near",
                row["verdict"] == "shown",
            )
            for row in frame.to_dict("records")
        ]
        line = gap + sign * self.min_reduction
        band = (gain - self.margin, gain)
        axes = find_plane_axes([in_use, *points], band, line)
        across = " to ".join(map(self._quantity.decimal, axes.x))
        upwards = " to ".join(map(self._gain.decimal, axes.y))
        noun, form = self._gain.noun, self._quantity.form
        caption = (
            f"{noun.capitalize()}, upwards from {upwards}, against the {form}, from {across}, with "
            "limits of the change. Grey: the model in use. Filled: candidates that are shown. "
            f"Band: the margin. Dashed: the {form} that an alternative must beat."
        )
        yield draw_plane(axes, [in_use, *points], band, line, caption)

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """The answer of which :meth:`to_json` made a text.

        Parameters
        ----------
        source : str or path-like
            The text, or the path of a file of it.

        Returns
        -------
        answer : Alternatives

        Raises
        ------
        ValueError
            If it is no text of an answer of this version.
        """
        content = read_document(source, "Alternatives", {*cls._settings, *cls._results})
        content["reading"] = Reading.from_dict(content["reading"])
        frame = pd.DataFrame(content["frame"])
        texts = ["candidate", "verdict"]
        numbers = frame.columns.difference(texts)
        frame[numbers] = frame[numbers].astype(float)
        content["frame"] = frame
        return cls(**{name: content[name] for name in cls._settings})

    def find_differences(self, other: Alternatives) -> list[str]:
        """Names of what another answer has otherwise, numbers by more than rounding.

        Parameters
        ----------
        other : Alternatives
            The answer to compare with.

        Returns
        -------
        differences : list of str
            Names of fields and of columns of ``frame``; empty if there are none.
        """
        names = [one for one in self._settings if one not in ("source", "attempt", "frame")]
        differ = [one for one in names if not _is_equal(getattr(self, one), getattr(other, one))]
        first, second = self.frame, other.frame
        if first["candidate"].tolist() != second["candidate"].tolist():
            return [*differ, "candidates"]
        for column in first:
            pairs = zip(first[column], second[column], strict=True)
            differ += [column] * (not all(_is_equal(a, b) for a, b in pairs))
        return differ

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw performance against the gap: candidates that are shown filled, the others open.

        Bars are the limits of the change, drawn from the model in use. The band is the margin:
        performances that are worse than the one in use, but not by more. The dashed line is the
        largest gap of an alternative, as far as estimates go.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure.

        Returns
        -------
        ax : matplotlib.axes.Axes
            The axes.
        """
        from skfair.plotting._display import COLORS, INK, import_pyplot, strip_frame, write_legend

        if ax is None:
            _, ax = import_pyplot().subplots(figsize=(6.4, 4.2), layout="constrained")
        base_gap, base_gain = self.baseline["gap"], self.baseline["performance"]
        # A ratio in use rises by a reduction, a gap falls.
        sign = 1.0 if self.form == "ratio" else -1.0
        ax.axhspan(base_gain - self.margin, base_gain, color=INK, alpha=0.08, lw=0, label="margin")
        ax.axvline(base_gap + sign * self.min_reduction, color=INK, linestyle="--", linewidth=1)
        for verdict, label, color, face in (
            ("shown", "shown", COLORS[0], COLORS[0]),
            ("open", "not shown", COLORS[0], "white"),
            ("contradicted", "no alternative", COLORS[4], "white"),
        ):
            rows = self.frame[self.frame["verdict"] == verdict]
            if not len(rows):
                continue
            x, y = rows["gap"], rows["performance"]
            ends = [base_gap + sign * rows[f"reduction_{end}"] for end in ("low", "high")]
            gains = [base_gain - rows[f"loss_{end}"] for end in ("high", "low")]
            # A limit of the change may be beyond the estimate where several groups are compared.
            xerr, yerr = (
                np.maximum([value - np.minimum(*both), np.maximum(*both) - value], 0.0)
                for value, both in ((x, ends), (y, gains))
            )
            ax.errorbar(x, y, yerr, xerr, fmt="none", ecolor=color, elinewidth=0.8, alpha=0.6)
            ax.plot(x, y, "o", color=color, markerfacecolor=face, label=label, zorder=3)
            for name, a, b in zip(rows["candidate"], x, y, strict=True):
                ax.annotate(name, (a, b), (4, 4), textcoords="offset points", size=8, color=INK)
        ax.plot([base_gap], [base_gain], "*", color=INK, markersize=12, label="in use", zorder=4)
        name = "smallest ratio" if self.form == "ratio" else "gap"
        ax.set(xlabel=f"{name} in {self.metric}", ylabel=self.performance)
        strip_frame(ax)
        write_legend(ax, ncols=5)
        return ax

    def __repr__(self) -> str:
        return f"<Alternatives: {len(self.shown_names)} of {len(self.frame)} shown>"


def _is_equal(first: Any, second: Any) -> bool:
    """Whether two values are equal, numbers up to rounding, also within a dict."""
    if isinstance(first, dict) and isinstance(second, dict):
        return {*first} == {*second} and all(_is_equal(first[k], second[k]) for k in first)
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return is_same(float(first), float(second))
    return is_same(first, second)


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _state_lower_limit(quantity: Quantity, low: float, better: str, worse: str) -> str:
    if low > 0.0:
        return f"{better} by at least {quantity.limit(low, is_lower=True)}"
    return f"{worse} by at most {quantity.limit(-low)}"


def _state_largest_loss(quantity: Quantity, high: float) -> str:
    if high >= 0.0:
        return f"worse by at most {quantity.limit(high)}"
    return f"better by at least {quantity.limit(-high, is_lower=True)}"


def _round_up(n: int) -> int:
    """The smallest number of two digits and zeros that is at least n."""
    unit = 10 ** max(len(str(n)) - 2, 0)
    return -(-n // unit) * unit


def find_alternatives(
    audit: AuditData,
    candidates: Any,
    constraint: str | Constraint,
    performance: Any,
    margin: float,
    min_reduction: float,
    order: str | None,
    confidence_level: float,
    reference: Mapping[str, Sequence[Any]] | None = None,
    ledger: Any = None,
    salt: str | None = None,
    min_published: int | None = None,
) -> Alternatives:
    """The answer of :meth:`Audit.alternatives`."""
    if salt is not None and ledger is None:
        raise argument_error(
            "salt must be passed with a ledger, of which it protects the digest, but there is "
            "none. Pass ledger too, or leave salt out."
        )
    level = check_level(confidence_level)
    _check_numbers(margin, min_reduction)
    check_choice("order", order, tuple(ORDERS))
    gain = resolve_performance(performance)
    _check_margin(margin, gain)
    specification = _check_compares_groups(constraint)
    _check_known_groups(audit)
    named = _name_candidates(candidates)
    audits = _audit_candidates(audit, named, gain)
    _check_known_outcomes(audit, audits, gain)
    pair = check_pair(reference, audit, specification)
    attempt = None
    each_level = level
    if ledger is not None:
        attempt = count_attempt(ledger, audit.samples, audit.outcomes, salt)
        each_level = divide_level(level, attempt)
    # Test each candidate, then decide about all of them together.
    classes = _list_classes([audit, *audits.values()])
    by_decision = any(weighs_outcomes(one, specification) for one in [audit, *audits.values()])
    if by_decision and len(classes) > 2 and audit.pos_label is None:
        raise argument_error(
            "pos_label must be a class where outcomes are weighed by decision, since alternatives "
            f"are of one class then; got None of {len(classes)}. Pass it to the audit."
        )
    bind = partial(bind_audit, constraint=specification, classes=classes, by_decision=by_decision)
    in_use = bind(_list_compared(audit, pair))
    tests = []
    rows = []
    for name, one in audits.items():
        with mute_warnings(UserWarning):  # the model in use has warned of small groups
            bound = bind(_list_compared(one, pair))
        gap_test = compare_gaps(in_use, bound, min_reduction, pair)
        compared = _compare_performances(gain, audit, one, margin)
        tests.append((gap_test.cache_limits(), compared.test.cache_limits()))
        n_gained, n_lost = _count_changes(audit, one)
        rows.append(
            {
                "candidate": name,
                "gap": _find_worst(bound, pair),
                "performance": compared.candidate,
                "n_gained": n_gained.sum(),
                "n_lost": n_lost.sum(),
            }
        )
    rows = [
        row | _state_limits(*pair, verdict, decisive)
        for row, pair, verdict, decisive in zip(
            rows, tests, *decide(tests, each_level, order), strict=True
        )
    ]
    is_ratio = in_use[0].bound.gap.is_ratio
    quantity = describe_bound(
        in_use[0].constraint, audit.task == "regression", len(in_use), burden=audit.burden
    )
    answer = Alternatives(
        frame=_rank_candidates(rows, is_ratio),
        baseline={"gap": _find_worst(in_use, pair), "performance": compared.in_use},
        metric=quantity.noun,
        unit=in_use[0].unit,
        form="ratio" if is_ratio else "gap",
        performance=gain.name,
        is_share=gain.is_share,
        margin=float(margin),
        min_reduction=float(min_reduction),
        order=order,
        reference=pair,
        n_pairs=count_pairs(in_use) if pair is None else 1,
        confidence_level=each_level,
        n_samples=audit.n_samples,
        constraint=describe_constraint(specification),
        attempt=attempt,
        source=collect_facts(audit.source, positive_label=audit.pos_label),
        reading=audit.reading,
        assumption=_describe_assumption(audit, gain, specification),
        weighs_outcomes=_is_weighed(audit, gain),
    )
    return (
        answer if min_published is None else _protect_answer(answer, audit, audits, min_published)
    )


def _check_margin(margin: float, gain: Performance) -> None:
    if margin > 1.0 and gain.name in UP_TO_ONE:
        raise argument_error(
            f"margin must be at most 1 for the {gain.name}, in which no models differ by more, but "
            f"is {margin!r}. Pass a fraction, such as 0.01 for one percentage point."
        )


def _check_compares_groups(constraint: str | Constraint) -> Constraint:
    """The constraint, resolved; raise if it bounds the rate of each group."""
    specification = resolve_constraint(constraint, None, takes_all=True)
    if specification.gap.form in ("floor", "ceiling"):
        raise argument_error(
            f"constraint must compare groups, but {specification.name} bounds the rate of each; "
            "pass one such as 'demographic_parity', or certify each model by itself."
        )
    return specification


def _check_known_groups(audit: AuditData) -> None:
    if audit.known.is_modelled or audit.samples.groups.multiplicity is not None:
        raise argument_error(
            "sensitive_features must be the known group of each sample, one by one: alternatives "
            "are compared sample by sample, which counts and modelled groups do not allow."
        )


def _audit_candidates(
    audit: AuditData, named: dict[str, Any], gain: Performance
) -> dict[str, AuditData]:
    """The audit of each candidate, of the samples of the model in use."""
    audits = {name: _audit_candidate(audit, name, one) for name, one in named.items()}
    # Audits that were passed; others are made of these samples.
    passed = {name: one for name, one in named.items() if is_audit(one)}
    if passed:
        names = ["the audit", *map(repr, passed)]
        check_same_samples([audit, *passed.values()], "candidates", names)
    if "has_outcome" in audit.columns:  # the decision that was made is the one in use
        made = audit.outcomes_and_decisions
        missing = audit.missing_outcomes
        for name, one in audits.items():
            audits[name] = replace(one, columns=one.columns | made, missing_outcomes=missing)
    _check_columns([audit, *audits.values()], gain, ["the audit", *map(repr, named)])
    return audits


def _check_known_outcomes(
    audit: AuditData, candidates: dict[str, AuditData], gain: Performance
) -> None:
    """Raise for candidates whose performance the known outcomes do not tell."""
    outcomes = audit.known_outcomes
    if outcomes is None or _is_weighed(audit, gain):
        return
    for name, one in candidates.items():
        is_of_decisions = gain.column == "y_pred"
        decisions = one.columns["y_pred"] if is_of_decisions else None
        outcomes.check_candidate(name, decisions, gain.name)


def _is_weighed(audit: AuditData, gain: Performance) -> bool:
    """Return whether the performance is the accuracy, by outcomes that are known by decision."""
    outcomes = audit.known_outcomes
    is_of_two = audit.pos_label is not None
    return gain.is_share and is_of_two and outcomes is not None and outcomes.are_weighted


def _compare_performances(
    gain: Performance, audit: AuditData, candidate: AuditData, margin: float
) -> Comparison:
    """Return the test of a loss of performance, of all samples if outcomes are weighed."""
    if _is_weighed(audit, gain):
        return compare_weighed_shares(audit, candidate, margin)
    return gain.compare(pair_samples(audit, candidate), margin)


def _describe_assumption(audit: AuditData, gain: Performance, constraint: Constraint) -> str:
    """Return what the answer assumes of the outcomes that are missing; empty if nothing."""
    outcomes = audit.known_outcomes
    if outcomes is None or not (compares_both_decisions(constraint) or gain.needs_outcomes):
        return ""
    return outcomes.assumption


def _state_limits(
    gap_test: ChangeTest, gain_test: ChangeTest, verdict: str, level: float
) -> dict[str, Any]:
    """The verdict on a candidate, and the limits of its changes at the level that decided it."""
    low, high = gap_test.limits(level)
    loss_low, loss_high = gain_test.limits(level)
    return {
        "reduction": -gap_test.change,
        "reduction_low": -high,
        "reduction_high": -low,
        "loss": gain_test.change,
        "loss_low": loss_low,
        "loss_high": loss_high,
        "verdict": verdict,
        "level": level,
        "times_more": find_times_more((gap_test, gain_test), level),
    }


def _rank_candidates(rows: list[dict[str, Any]], is_ratio: bool) -> pd.DataFrame:
    """The table of candidates: shown, open and contradicted ones, each from the smallest gap."""
    frame = pd.DataFrame(rows)[[*_COLUMNS]]
    rank = frame["verdict"].map({"shown": 0, "open": 1, "contradicted": 2})
    order = np.lexsort((-frame["gap"] if is_ratio else frame["gap"], rank))
    return frame.iloc[order].reset_index(drop=True)


_COLUMNS = (
    *("candidate", "verdict", "gap", "reduction", "reduction_low", "reduction_high"),
    *("performance", "loss", "loss_low", "loss_high", "n_gained", "n_lost", "level", "times_more"),
)
"""Columns of the table, in order."""


def _find_worst(bounds: list[BoundAudit], pair: dict[str, list[str]] | None) -> float:
    """The gap as reports state it, of the class with the worst one."""
    if pair is not None:
        return find_gap_of_pair(bounds, pair)
    gaps = [one.gap for one in bounds]
    return min(gaps) if bounds[0].bound.gap.is_ratio else max(gaps)


def _list_classes(audits: list[AuditData]) -> np.ndarray | tuple:
    """All classes of outcomes and of the decisions of all models; none of numbers."""
    if audits[0].task == "regression":
        return ()
    columns = [
        one.columns[name]
        for one in audits
        for name in ("y_true", "y_pred")
        if name in one.columns and one.columns[name].dtype.kind != "f"
    ]
    return np.unique(np.concatenate([np.unique(column) for column in columns])) if columns else ()


def _protect_answer(
    answer: Alternatives, audit: AuditData, candidates: dict[str, AuditData], min_published: int
) -> Alternatives:
    """The answer about all groups, without numbers that show small counts."""
    in_use = protect_audit(audit, min_published)
    frame = answer.frame.copy()
    clauses = [in_use.clause]
    hidden = {name: {*groups} for name, groups in in_use.hidden.items()}
    for name, one in candidates.items():
        protection = protect_audit(one, min_published)
        clauses.append(protection.clause)
        for attribute, groups in protection.hidden.items():
            hidden[attribute] = hidden.get(attribute, set()) | {*groups}
        at = frame["candidate"] == name
        if in_use.clause or protection.clause:
            frame.loc[at, _OF_GAPS] = np.nan
        # Limits depend on how many decisions of a group changed.
        changed = np.concatenate(_count_changes(audit, one))
        if ((changed > 0) & (changed < min_published)).any() or np.isnan(changed).any():
            frame.loc[at, _OF_CHANGES] = np.nan
            clauses.append("numbers of changed decisions, with the limits of changes")
    clauses = [one for one in dict.fromkeys(clauses) if one]
    baseline = answer.baseline
    if in_use.clause:
        baseline = baseline | {"gap": np.nan}
    return replace(
        answer,
        frame=frame,
        baseline=baseline,
        min_published=min_published,
        unpublished=join_names(clauses, len(clauses)) if clauses else "",
        source={name: one for name, one in answer.source.items() if name != "sha256"},
        reading=audit.reading.protect(in_use.restrict(audit).n_samples, hidden),
    )


_OF_GAPS = ["gap", "reduction", "reduction_low", "reduction_high"]
"""Columns that compare groups."""

_OF_CHANGES = [
    *("reduction_low", "reduction_high", "loss_low", "loss_high"),
    *("n_gained", "n_lost", "times_more"),
]
"""Columns that show how many decisions changed."""


def _count_changes(audit: AuditData, candidate: AuditData) -> tuple[np.ndarray, np.ndarray]:
    """Decisions that become positive and negative by group; nan without two classes."""
    before, after = (one.columns.get("y_pred") for one in (audit, candidate))
    if before is None or after is None or audit.pos_label is None:
        return np.array([np.nan]), np.array([np.nan])
    was, is_now = before == audit.pos_label, after == audit.pos_label
    codes = audit.samples.groups.codes
    gained, lost = np.bincount(codes, is_now & ~was), np.bincount(codes, was & ~is_now)
    return gained, lost


def _check_numbers(margin: Any, min_reduction: Any) -> None:
    for name, value in (("margin", margin), ("min_reduction", min_reduction)):
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not is_number or not 0.0 <= value < np.inf:
            raise argument_error(
                f"{name} must be a number from 0, in units of "
                f"{'the performance' if name == 'margin' else 'the gap'}; got {value!r}."
            )


def _name_candidates(candidates: Any) -> dict[str, Any]:
    """Candidates by name; those of a list are numbered from 1."""
    if hasattr(candidates, "columns") and not hasattr(candidates, "samples"):
        table = pd.DataFrame(to_pandas_table(candidates))
        named = {str(name): table[name] for name in table}
    elif hasattr(candidates, "items"):
        named = {str(name): one for name, one in candidates.items()}
    elif (
        hasattr(candidates, "predict")
        or isinstance(candidates, (str, bytes))
        or not hasattr(candidates, "__len__")
        or any(
            np.ndim(one) == 0 and not hasattr(one, "predict") and not hasattr(one, "samples")
            for one in candidates
        )
    ):
        raise argument_error(
            "candidates must be a dict of predictions, audits or fitted models by name, a "
            f"DataFrame with a column for each, or a list; got a {type(candidates).__name__}."
            + " Of a search pass clones that are fitted with each of cv_results_['params']."
            * hasattr(candidates, "cv_results_")
        )
    else:
        named = {f"candidate {n}": one for n, one in enumerate(candidates, start=1)}
    if not named:
        raise argument_error("candidates must hold one candidate at least, but there is none.")
    return named


def _audit_candidate(audit: AuditData, name: str, candidate: Any) -> AuditData:
    """The audit of a candidate on the samples of another audit."""
    if is_audit(candidate):
        return candidate
    columns = audit.outcomes_and_decisions
    if hasattr(candidate, "predict"):
        if audit.model is None:
            raise argument_error(
                f"candidates must be predictions, since the audit has no features that the model "
                f"{name!r} could predict. Make it by Audit.from_estimator, or pass predictions."
            )
        X, y, _ = audit.model[1:]
        other = type(audit).from_estimator(
            candidate,
            X,
            y,
            sensitive_features=audit.known,
            pos_label=audit.pos_label,
            min_group_size=audit.min_group_size,
        )
        predicted = {n: c for n, c in other.columns.items() if n in ("y_pred", "y_score")}
        if len(other.is_used) == len(audit.is_used) and other.is_used.sum() != audit.is_used.sum():
            predicted = {n: c[audit.is_used[other.is_used]] for n, c in predicted.items()}
        return replace(audit, columns=columns | predicted, model=None)
    check_column("candidates", candidate)
    audit.check_index(candidates=candidate)
    column = np.asarray(candidate).ravel()
    check_consistent_length(audit.is_used, column)
    column = column[audit.is_used]
    if pd.isna(column).any():
        raise argument_error(f"candidates must have no missing values, but {name!r} has some.")
    is_scores = column.dtype.kind == "f" and (column % 1 != 0).any() and audit.task != "regression"
    return replace(
        audit, columns=columns | {"y_score" if is_scores else "y_pred": column}, model=None
    )


def _check_columns(audits: list[AuditData], gain: Performance, names: list[str]) -> None:
    """Raise for what the performance needs and a model lacks."""
    if "y_true" not in audits[0].columns and gain.needs_outcomes:
        raise argument_error(
            f"performance {gain.name} needs y_true, the outcomes. Without them pass a function of "
            "(None, y_pred)."
        )
    is_real = audits[0].task == "regression"
    of_numbers = [PERFORMANCES[one].name for one in _OF_NUMBERS]
    if gain.name in {one.name for one in PERFORMANCES.values()} and is_real != (
        gain.name in of_numbers
    ):
        kinds = ("numbers", "classes")
        fitting = [one for one in PERFORMANCES if (one in _OF_NUMBERS) == is_real]
        raise argument_error(
            f"performance {gain.name} is of predicted {kinds[is_real]}, but these are "
            f"{kinds[not is_real]}. Pass {join_names(map(repr, fitting), 9)}, or a function."
        )
    if gain.column == "y_score" and audits[0].pos_label is None:
        raise argument_error(
            f"performance {gain.name} is of scores of two classes. Pass pos_label to the audit, "
            "'accuracy', or a function of y_true and y_pred."
        )
    for name, one in zip(names, audits, strict=True):
        if gain.column not in one.columns:
            what = "decisions" if gain.column == "y_pred" else "scores"
            raise argument_error(
                f"performance needs {what} of each candidate, but {name} has none. Pass fitted "
                "models, or audits with y_pred and y_score."
            )
        if gain.column == "y_pred" and "y_true" in one.columns and one.task == "classification":
            labels, known = np.unique(one.columns["y_pred"]), np.unique(audits[0].columns["y_pred"])
            truth = np.unique(audits[0].columns["y_true"])
            if not {*labels.tolist()} <= {*known.tolist(), *truth.tolist()}:
                raise argument_error(
                    "y_pred of each candidate must have the labels "
                    f"{join_names(map(repr, truth.tolist()))}, but {name} has "
                    f"{join_names(map(repr, labels.tolist()))}."
                )


_OF_NUMBERS = ("neg_mean_squared_error", "neg_mean_absolute_error")
"""Performances of predicted numbers."""


def _list_compared(audit: AuditData, pair: dict[str, list[str]] | None) -> AuditData:
    """The audit of the groups that are compared, with a cluster for each sample.

    So none are merged, and all can be paired.
    """
    audit = audit if pair is None else restrict_to_pair(audit, pair)
    if audit.clusters is not None:
        return audit
    return replace(audit, clusters=pd.Series(np.arange(len(audit.samples.weights))))


def verify_alternatives(
    filed: Alternatives, audit: AuditData, candidates: Any, performance: Any = None
) -> list[str]:
    """Recompute a filed answer, and name what differs."""
    if performance is None:
        known = [name for name, one in PERFORMANCES.items() if one.name == filed.performance]
        if not known:
            raise argument_error(
                f"performance must be passed again, since {filed.performance!r} was a function."
            )
        performance = known[0]
    now = find_alternatives(
        audit,
        candidates,
        make_filed_constraint(filed.constraint),
        performance,
        filed.margin,
        filed.min_reduction,
        filed.order,
        filed.confidence_level,
        filed.reference,
        min_published=filed.min_published,
    )
    return filed.find_differences(now)


def read_filed_alternatives(filed: Any) -> tuple[Alternatives, list[str]]:
    """A filed answer, and what its file states that does not follow from its numbers."""
    if isinstance(filed, Alternatives):
        return filed, []
    read = Alternatives.from_json(filed)
    content = read_document(filed, "Alternatives", ())
    names = Alternatives._results
    return read, [name for name in names if content[name] != getattr(read, name)]
