"""Less discriminatory alternatives: candidates that are tested against a model in use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import pandas as pd
from scipy import sparse, special
from scipy.stats import rankdata
from sklearn.utils import check_consistent_length

from skfair._bound.bound import sample_values
from skfair._columns.reading import Reading
from skfair._groups.events import Events
from skfair._statistics.bounded_means import make_estimates
from skfair._statistics.estimates import (
    change_upper_limit,
    check_level,
    limit_against_fixed_pairs,
)
from skfair._utils.api import Axes
from skfair._utils.checks import argument_error, check_choice, join_names, warn
from skfair._utils.tables import to_pandas_table
from skfair.audit._certify import BoundAudit, bind_audit
from skfair.audit._claims import (
    EXIT_STATUSES,
    describe_constraint,
    format_constraint,
    is_same,
    make_filed_constraint,
)
from skfair.audit._data import is_audit
from skfair.audit._formats import (
    PageReport,
    collect_facts,
    read_document,
    tabulate_facts,
    titled_facts,
)
from skfair.audit._ledger import check_same_samples, count_attempt, divide_level
from skfair.audit._predictions import resolve_constraint
from skfair.audit._sentences import Quantity, confidence_text, describe_bound
from skfair.metrics._group_metrics import to_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skfair._bound.gap import Gap
    from skfair._statistics.estimates import Estimates
    from skfair.audit._data import AuditData
    from skfair.constraints import Constraint


# What is tested: a change of the gap, and a change of the performance, of the same samples.


class _Test(NamedTuple):
    """One of the two tests of a candidate: a change against the model in use, and what is allowed.

    `limits` returns the lower and the upper limit of the change, each at a level. The change is
    shown to be good where the upper one is at most `allowed`, and bad where the lower one is more.
    """

    change: float
    limits: Callable[[float], tuple[float, float]]
    allowed: float

    def is_shown(self, level: float) -> bool:
        """Whether the change is shown to be as good as is asked for."""
        _, high = self.limits(level)
        return bool(high <= self.allowed and (high < 0.0 or self.allowed > 0.0))

    def is_refuted(self, level: float) -> bool:
        """Whether the change is shown not to be as good as is asked for."""
        low, _ = self.limits(level)
        return bool(low > self.allowed)


def _test_gap(baseline: BoundAudit, candidate: BoundAudit, least: float, is_ratio: bool) -> _Test:
    """The test that the gap is smaller by more than 0, and by `least` at least."""
    first, second = baseline.bound, candidate.bound
    compared = cast("Gap", first.gap)
    if first.sums.cells.labels != second.sums.cells.labels:
        raise argument_error(
            "constraint must compare the same groups of all models, but a rate that counts "
            "decisions, such as precision, has too few samples of a group by one of them. Pass a "
            "constraint whose denominator no decision changes, or a smaller min_group_size."
        )
    pairs = [
        sample_values(bound.sums, values, bound.sums.cells.clusters)
        for bound, values in ((first, baseline.scores), (second, candidate.scores))
    ]
    estimates = compared.estimates(_stack(*pairs))
    n_events = first.sums.events.n_events
    if n_events < 2:
        raise argument_error(
            "sensitive_features must have two groups that are large enough to be compared by "
            f"{first.name}, but these samples have one at most. Pass others, or a smaller "
            "min_group_size."
        )
    forms = sparse.csr_array(compared.linear_forms(n_events))
    limit = _limit_change
    if not _has_both_directions(forms):
        limit = _limit_change_against_fixed_pairs
        forms = sparse.csr_array(sparse.vstack((forms, np.zeros((1, n_events)))))
    nothing = sparse.csr_array(forms.shape)
    before, after = (
        sparse.csr_array(sparse.hstack(both)) for both in ((forms, nothing), (nothing, forms))
    )
    of_gaps = [(one @ estimates.values).max(initial=0.0) for one in (before, after)]
    return _Test(
        change=float(of_gaps[1] - of_gaps[0]),
        limits=partial(limit, estimates, before, after),
        allowed=-float(np.log1p(least) if is_ratio else least),
    )


def _stack(first: Any, second: Any) -> Estimates:
    """Estimates of the means of two models, one after the other, that share their samples."""
    n_events = [one.events.n_events for one in (first, second)]
    averaging = sparse.csr_array(
        sparse.block_diag([one.events.averaging_matrix for one in (first, second)])
    )
    events = Events(sum(n_events), averaging.shape[1], averaging_matrix=averaging)
    values = np.concatenate([first.values, second.values])
    units = np.concatenate([first.clusters, second.clusters])
    known = None
    if first.known is not None and second.known is not None:
        known = np.union1d(first.known, second.known)
    return make_estimates(events, values, units, known)


def _has_both_directions(forms: sparse.csr_array) -> bool:
    """Whether a gap compares every pair of groups in both directions."""
    rows = {tuple(row) for row in forms.toarray().tolist()}
    return all(tuple(-x for x in row) in rows for row in rows)


def _limit_change(
    estimates: Estimates, before: sparse.csr_array, after: sparse.csr_array, level: float
) -> tuple[float, float]:
    """Limits of the change of a gap, each at the level."""
    high = change_upper_limit(estimates, before, after, level)
    return -change_upper_limit(estimates, after, before, level), high


def _limit_change_against_fixed_pairs(
    estimates: Estimates, before: sparse.csr_array, after: sparse.csr_array, level: float
) -> tuple[float, float]:
    """The same of a gap in one direction, with a form that is 0 where no group is worse."""
    high = limit_against_fixed_pairs(estimates, before, after, 1.0 - level)
    return -limit_against_fixed_pairs(estimates, after, before, 1.0 - level), high


# Performance: of each sample, or the area under the ROC curve.


class _Performance(NamedTuple):
    """What a model achieves: a name, whether it is a share, and values of samples or None."""

    name: str
    is_share: bool
    values: Callable[[Any, dict[str, np.ndarray], Any], np.ndarray] | None


def _is_right(truth: np.ndarray, columns: dict, pos_label: Any) -> np.ndarray:
    return np.asarray(columns["y_pred"] == truth, dtype=float)


def _probability_of(columns: dict) -> np.ndarray:
    """Scores that are probabilities; raise for others."""
    scores = to_numbers(columns["y_score"], "y_score")
    if scores.min() < 0.0 or scores.max() > 1.0:
        raise argument_error(
            "performance must be 'accuracy', 'roc_auc' or a function, since the scores of a "
            f"candidate are no probabilities: they are from {scores.min():g} to {scores.max():g}."
        )
    return scores


def _log_likelihood(truth: np.ndarray, columns: dict, pos_label: Any) -> np.ndarray:
    scores = _probability_of(columns)
    of_truth = np.where(truth == pos_label, scores, 1.0 - scores)
    return np.log(np.maximum(of_truth, np.finfo(float).eps))


def _minus_brier(truth: np.ndarray, columns: dict, pos_label: Any) -> np.ndarray:
    return -((_probability_of(columns) - (truth == pos_label)) ** 2)


_PERFORMANCES = {
    "accuracy": _Performance("accuracy", True, _is_right),
    "roc_auc": _Performance("area under the ROC curve", False, None),
    "neg_log_loss": _Performance("mean log-likelihood", False, _log_likelihood),
    "neg_brier_score": _Performance("negative Brier score", False, _minus_brier),
}
"""Performances by the names that scikit-learn's scorers have; larger ones are better."""


def _resolve_performance(performance: Any) -> _Performance:
    """The performance of a name, or that of a function of outcomes and decisions."""
    if callable(performance):
        function = performance
        return _Performance(
            getattr(function, "__name__", "performance"),
            False,
            lambda truth, columns, pos_label: function(truth, columns["y_pred"]),
        )
    if performance not in _PERFORMANCES:
        raise argument_error(
            f"performance must be one of {join_names(_PERFORMANCES, 9)}, or a function of y_true "
            "and y_pred that returns the gain of each decision, such as a profit; got "
            f"{performance!r}."
        )
    return _PERFORMANCES[performance]


def _test_performance(
    audits: tuple[AuditData, AuditData], performance: _Performance, margin: float
) -> tuple[_Test, float, float]:
    """The test that the performance is worse by `margin` at most, and both performances."""
    samples = audits[0].samples
    known = audits[0].columns.get("has_outcome", np.ones(len(samples.weights), dtype=bool))
    weights = samples.weights * known
    rows = np.flatnonzero(weights > 0.0)
    truths = audits[0].columns.get("y_true")
    truth = None if truths is None else truths[rows]
    columns = [{name: one[rows] for name, one in audit.columns.items()} for audit in audits]
    weights = weights[rows]
    units = audits[0].cluster_codes
    units = np.arange(len(rows)) if units is None else pd.factorize(units[rows])[0]
    pos_label = audits[0].pos_label
    if performance.values is None:
        if not samples.is_equally_weighted or audits[0].clusters is not None:
            raise argument_error(
                "performance='roc_auc' is not implemented for weights and clusters; pass "
                "'accuracy', 'neg_log_loss' or a function."
            )
        scores = [to_numbers(one["y_score"], "y_score") for one in columns]
        return _compare_areas(np.asarray(truth == pos_label), scores, margin)
    values = []
    for one in columns:
        gains = np.asarray(performance.values(truth, one, pos_label), dtype=float)
        if gains.shape != (len(rows),) or not np.isfinite(gains).all():
            raise argument_error(
                "performance must return one finite number for each sample that is passed, here "
                f"{len(rows)}, but returned an array of shape {gains.shape}"
                f"{' with values that are not finite' * (gains.shape == (len(rows),))}."
            )
        values.append(gains)
    # Loss: the model in use less the candidate.
    means = [float(np.average(one, weights=weights)) for one in values]
    if performance.is_share:
        both = Events.disjoint(np.repeat([0, 1], len(rows)), 2, np.tile(weights, 2))
        estimates = make_estimates(both, np.concatenate(values), np.tile(units, 2))
        form = sparse.csr_array(np.array([[1.0, -1.0]]))
    else:  # differences of the same sample
        one_event = Events.disjoint(np.zeros(len(rows), dtype=int), 1, weights)
        gains = np.unique(np.concatenate(values))
        differences = None
        if len(gains) <= _MAX_KNOWN_GAINS:
            differences = np.unique(np.subtract.outer(gains, gains))
        estimates = make_estimates(one_event, values[0] - values[1], units, differences)
        if estimates.has_unreliable_limits.any():
            warn(
                f"Differences of {performance.name} are too skewed for so few samples. A candidate "
                "may be shown wrongly more often than confidence_level says. Use more held-out "
                "samples, or a bounded performance, such as 'accuracy'."
            )
        form = sparse.csr_array(np.array([[1.0]]))

    def limit(level: float) -> tuple[float, float]:
        low, high = (sign * estimates.upper(sign * form, level)[0] for sign in (-1.0, 1.0))
        return float(low), float(high)

    return _Test(means[0] - means[1], limit, margin), means[0], means[1]


def _compare_areas(
    positive: np.ndarray, scores: list[np.ndarray], margin: float
) -> tuple[_Test, float, float]:
    """The test of two areas under ROC curves of the same samples, by DeLong's covariance."""
    placements = []
    for one in scores:
        n = [int(positive.sum()), int((~positive).sum())]
        ranks = rankdata(one)
        within = [rankdata(one[rows]) for rows in (positive, ~positive)]
        above = (ranks[positive] - within[0]) / n[1]
        below = 1.0 - (ranks[~positive] - within[1]) / n[0]
        placements.append((above, below))
    areas = [float(above.mean()) for above, _ in placements]
    variance = sum(
        np.var(first - second, ddof=1) / len(first)
        for first, second in zip(*placements, strict=True)
    )
    loss = areas[0] - areas[1]

    def limit(level: float) -> tuple[float, float]:
        reach = special.ndtri(level) * np.sqrt(variance)
        return float(loss - reach), float(loss + reach)

    return _Test(loss, limit, margin), areas[0], areas[1]


_MAX_KNOWN_GAINS = 8
"""Gains of decisions that are taken for all that there are, so that limits allow for rare ones."""


# Which candidates are shown, with an error for all of them together.


_ORDERS = {
    None: "with the error divided among the candidates (Holm)",
    "given": "tested in an order that is stated to have been fixed before these data were seen, up "
    "to the first that is not shown",
    "front": "with half of the error for gaps, tested from the first candidate on, and half for "
    "performances, from the last one on, each up to the first that is not shown, in an order that "
    "is stated to have been fixed before these data were seen",
}
"""Orders in which candidates are tested, and what is said of them."""


def _count_first(are_shown: Iterator[bool]) -> int:
    """How many are shown before the first that is not."""
    return sum(1 for _ in takewhile(bool, are_shown))


def _decide(
    candidates: list[tuple[_Test, _Test]], level: float, order: str | None
) -> tuple[list[str], list[float]]:
    """Verdict of each candidate, and the level of the limits that decide it."""
    error = 1.0 - level
    n = len(candidates)
    shown, levels = [], [level] * n
    if order == "given":
        shown = [*range(_count_first(all(t.is_shown(level) for t in one) for one in candidates))]
    elif order == "front":  # a wrong candidate is the first wrong one of either sequence
        half = 1.0 - error / 2.0
        levels = [half] * n
        end = _count_first(gap.is_shown(half) for gap, _ in candidates)
        start = n - _count_first(gain.is_shown(half) for _, gain in reversed(candidates))
        shown = [*range(start, end)]
    else:  # Holm: as long as one more is shown
        remaining = list(range(len(candidates)))
        while remaining:
            each = 1.0 - error / len(remaining)
            for number in remaining:
                levels[number] = each
            further = [n for n in remaining if all(t.is_shown(each) for t in candidates[n])]
            if not further:
                break
            shown += further
            remaining = [n for n in remaining if n not in further]
    # Either of the two tests may refute wrongly, of any candidate.
    refuted: list[int] = []
    remaining = [n for n in range(len(candidates)) if n not in shown]
    while remaining:
        each = 1.0 - error / (2.0 * (len(remaining) + len(shown)))
        further = [n for n in remaining if any(t.is_refuted(each) for t in candidates[n])]
        if not further:
            break
        refuted += further
        remaining = [n for n in remaining if n not in further]
    verdicts = [
        "shown" if n in shown else "contradicted" if n in refuted else "open"
        for n in range(len(candidates))
    ]
    return verdicts, levels


def _times_more(tests: tuple[_Test, _Test], level: float) -> float:
    """Factor of samples with which both tests would succeed, were the population as observed."""
    factor = 1.0
    for one in tests:
        reach = one.limits(level)[1] - one.change
        slack = one.allowed - one.change
        if slack <= 0.0:
            return np.inf
        factor = max(factor, (reach / slack) ** 2)
    return factor


# The answer.


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Alternatives(PageReport):
    """Which candidates are shown to be less discriminatory alternatives of a model in use.

    Made by :meth:`Audit.alternatives`. ``frame`` has a row for each candidate, those that are shown
    first, from the smallest gap: ``candidate``, ``verdict`` ("shown", "open" or "contradicted"),
    ``gap`` (the smallest ratio where ratios are compared), ``reduction`` with ``reduction_low`` and
    ``reduction_high`` (of ratios the factor by which the smallest one rises), ``performance``,
    ``loss`` with ``loss_low`` and ``loss_high``, ``n_gained`` and ``n_lost``, the numbers of
    decisions that become positive and negative, ``times_more``, the factor of samples with which
    both tests would succeed were the population as observed, and ``level``, that of
    each limit in its row: a candidate is shown where ``reduction_low`` and ``loss_high`` are as
    good as is asked for. ``baseline`` is the gap and the performance of the model in use.

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
    confidence_level: float
    n_samples: int
    constraint: dict[str, Any]
    attempt: int | None
    source: dict[str, str]
    reading: Reading

    title = "Search of less discriminatory alternatives"
    _settings = (
        *("frame", "baseline", "metric", "unit", "form", "performance", "is_share", "margin"),
        *("min_reduction", "order", "confidence_level", "n_samples", "constraint"),
        *("attempt", "source", "reading"),
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
            *(self._describe(row) for _, row in self.frame.iterrows()),
            self._describe_error(),
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

    def _describe_least(self) -> str:
        """How much better the gap of an alternative is."""
        if self.form == "ratio":
            factor = f" by a factor of {1.0 + self.min_reduction:g} at least"
            return "larger" + factor * bool(self.min_reduction)
        least = f" by {self._quantity.bound(self.min_reduction)} at least"
        return "smaller" + least * bool(self.min_reduction)

    def _describe_baseline(self) -> str:
        gap, gain = self._quantity, self._gain
        return (
            f"The model in use has a {gap.form} of {gap.gap(self.baseline['gap'])} in {gap.noun} "
            f"and {_article(gain.noun)} of {gain.value(self.baseline['performance'])}, on "
            f"{self.n_samples:,} samples. The {gap.form} of an alternative is "
            f"{self._describe_least()}, and it is worse in {gain.noun} by at most "
            f"{gain.bound(self.margin)}."
        )

    def _describe(self, row: pd.Series) -> str:
        gap, gain = self._quantity, self._gain
        is_ratio = gap.form == "ratio"
        if is_ratio:
            changed = f"at least {_cut(row['reduction_low'], down=True)} times that in use"
            bad = f"at most {_cut(row['reduction_high'], down=False)} times that in use"
        else:
            changed = _state_lower_limit(gap, row["reduction_low"], "smaller", "larger")
            bad = _state_lower_limit(gap, -row["reduction_high"], "larger", "smaller")
        known = _state_largest_loss(gain, row["loss_high"])
        says = {"shown": "shown", "open": "not shown", "contradicted": "no alternative"}
        is_gap, is_gain = self._passes(row)
        too_little = "" if is_gap else f" (not shown to be {self._describe_least()})"
        too_much = "" if is_gain else " (more than the margin)"
        text = (
            f"{row['candidate']!r}, {says[row['verdict']]}: {gap.form} {gap.gap(row['gap'])}, "
            f"{changed}{too_little}; {gain.noun} {gain.value(row['performance'])}, "
            f"{known}{too_much}"
        )
        if np.isfinite(row["n_gained"]):
            text += (
                f"; {row['n_gained']:,.0f} decisions become positive, {row['n_lost']:,.0f} negative"
            )
        if row["verdict"] == "contradicted":
            worst = []
            if row["reduction_high"] < self._min_change:
                worst.append(f"the {gap.form} is {bad}")
            if row["loss_low"] > self.margin:
                worst.append(
                    f"{gain.noun} is {_state_lower_limit(gain, row['loss_low'], 'worse', 'better')}"
                )
            text += f"; shown that {' and '.join(worst)}" * bool(worst)
        if row["verdict"] == "open" and row["times_more"] == 1.0 and self.order:
            text += "; not tested, since one that is tested earlier is not shown"
        elif row["verdict"] == "open" and np.isfinite(row["times_more"]):
            n = int(np.ceil(row["times_more"] * self.n_samples))
            text += f"; about {_round_up(n):,} samples would do if the population is as observed"
        return f"{text}."

    @property
    def _min_change(self) -> float:
        return 1.0 + self.min_reduction if self.form == "ratio" else self.min_reduction

    def _passes(self, row: pd.Series) -> tuple[bool, bool]:
        start = 1.0 if self.form == "ratio" else 0.0
        low = row["reduction_low"]
        return bool(low >= self._min_change and low > start), bool(row["loss_high"] <= self.margin)

    def _describe_error(self) -> str:
        attempt = f", as attempt {self.attempt} on these data" if self.attempt is not None else ""
        level = confidence_text(self.confidence_level)
        return (
            f"All candidates that are shown are alternatives in the population, with {level}, "
            f"{_ORDERS[self.order]}{attempt}. The same samples judge all models, so that errors "
            "which they share cancel."
        )

    def _sections(self) -> Iterator:
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
            of_gap = Quantity("", "" if gap.form == "ratio" else gap.unit)
            cells = (
                row["candidate"],
                gap.decimal(row["gap"]),
                (of_gap.decimal(reduction[0]), of_gap.reach(*reduction[1:])),
                gain.decimal(row["performance"]),
                (gain.decimal(row["loss"]), gain.reach(row["loss_low"], row["loss_high"])),
                row["verdict"],
            )
            rows.append((cells, row["verdict"] == "shown"))
        note = "Limits of the change against the model in use, on the same samples. Marked: shown."
        yield "Findings", [self.findings]
        yield "Candidates", [("Candidates against the model in use", note, titles, rows)]
        yield self.reading.section()
        facts = [*titled_facts(self.source), ("Constraint", format_constraint(self.constraint))]
        yield tabulate_facts(facts)

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

        Bars are the limits of the change, drawn from the model in use. The region of alternatives,
        as far as estimates go, is shaded.

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
        is_ratio = self.form == "ratio"
        best = base_gap * self._min_change if is_ratio else base_gap - self.min_reduction
        frame = self.frame
        if is_ratio:
            ends = base_gap * frame["reduction_low"], base_gap * frame["reduction_high"]
        else:
            ends = base_gap - frame["reduction_high"], base_gap - frame["reduction_low"]
        gains = base_gain - frame["loss_high"], base_gain - frame["loss_low"]
        for verdict, label, face in (
            ("shown", "shown", COLORS[0]),
            ("open", "not shown", "white"),
            ("contradicted", "no alternative", "white"),
        ):
            at = np.flatnonzero(frame["verdict"] == verdict)
            if not len(at):
                continue
            color = COLORS[4] if verdict == "contradicted" else COLORS[0]
            x, y = frame["gap"].to_numpy()[at], frame["performance"].to_numpy()[at]
            xerr = [
                np.maximum(x - ends[0].to_numpy()[at], 0),
                np.maximum(ends[1].to_numpy()[at] - x, 0),
            ]
            yerr = [
                np.maximum(y - gains[0].to_numpy()[at], 0),
                np.maximum(gains[1].to_numpy()[at] - y, 0),
            ]
            ax.errorbar(x, y, yerr, xerr, fmt="none", ecolor=color, elinewidth=0.8, alpha=0.6)
            ax.plot(x, y, "o", color=color, markerfacecolor=face, label=label, zorder=3)
            for name, a, b in zip(frame["candidate"].to_numpy()[at], x, y, strict=True):
                ax.annotate(
                    f"{name}", (a, b), (4, 4), textcoords="offset points", size=8, color=INK
                )
        ax.plot([base_gap], [base_gain], "*", color=INK, markersize=12, label="in use", zorder=4)
        ax.axhline(base_gain - self.margin, color=INK, linestyle=":", linewidth=1, label="margin")
        ax.axvline(best, color=INK, linestyle="--", linewidth=1)
        name = "smallest ratio" if is_ratio else "gap"
        ax.set(xlabel=f"{name} in {self.metric}", ylabel=self.performance)
        strip_frame(ax)
        write_legend(ax, ncols=4)
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


def _cut(number: float, down: bool) -> str:
    return f"{(np.floor if down else np.ceil)(1000 * number) / 1000:.3f}"


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
    ledger: Any = None,
    salt: str | None = None,
) -> Alternatives:
    """The answer of :meth:`Audit.alternatives`."""
    if salt is not None and ledger is None:
        raise argument_error(
            "salt must be passed with a ledger, of which it protects the digest, but there is "
            "none. Pass ledger too, or leave salt out."
        )
    level = check_level(confidence_level)
    _check_numbers(margin, min_reduction)
    check_choice("order", order, tuple(_ORDERS))
    gain = _resolve_performance(performance)
    specification = resolve_constraint(constraint, None, takes_all=True)
    if specification.gap.form in ("floor", "ceiling"):
        raise argument_error(
            f"constraint must compare groups, but {specification.name} bounds the rate of each; "
            "pass one such as 'demographic_parity', or certify each model by itself."
        )
    if audit.known.is_modelled or audit.samples.groups.multiplicity is not None:
        raise argument_error(
            "sensitive_features must be the known group of each sample, one by one: alternatives "
            "are compared sample by sample, which counts and modelled groups do not allow."
        )
    named = _name_candidates(candidates)
    audits = [audit, *(_audit_candidate(audit, name, one) for name, one in named.items())]
    # Audits that were passed; others are made of these samples.
    passed = {name: one for name, one in named.items() if is_audit(one)}
    if passed:
        names = ["the audit", *map(repr, passed)]
        check_same_samples([audit, *passed.values()], "candidates", names)
    _check_columns(audits, gain, ["the audit", *map(repr, named)])
    attempt = None
    each_level = level
    if ledger is not None:
        attempt = count_attempt(ledger, audit.samples, audit.outcomes, salt)
        each_level = divide_level(level, attempt)
    one_by_one = [_list_one_by_one(one) for one in audits]
    bounds = [bind_audit(one, specification) for one in one_by_one]
    in_use = bounds[0]
    is_ratio = in_use.bound.gap.is_ratio
    tests = []
    rows = []
    for name, one, bound in zip(named, audits[1:], bounds[1:], strict=True):
        gap_test = _test_gap(in_use, bound, min_reduction, is_ratio)
        gain_test, present, achieved = _test_performance((audits[0], one), gain, margin)
        tests.append((gap_test, gain_test))
        before = audit.columns.get("y_pred")
        gained, lost = _count_changes(before, one.columns.get("y_pred"), audit.pos_label)
        rows.append(
            {
                "candidate": name,
                "gap": bound.gap,
                "performance": achieved,
                "n_gained": gained,
                "n_lost": lost,
            }
        )
    verdicts, levels = _decide(tests, each_level, order)
    for row, (gap_test, gain_test), verdict, decisive in zip(
        rows, tests, verdicts, levels, strict=True
    ):
        low, high = gap_test.limits(decisive)
        reductions = -np.array([gap_test.change, high, low])
        reductions = np.exp(reductions) if is_ratio else reductions
        row |= dict(
            zip(("reduction", "reduction_low", "reduction_high"), reductions.tolist(), strict=True)
        )
        row |= {"loss": gain_test.change}
        row |= dict(zip(("loss_low", "loss_high"), gain_test.limits(decisive), strict=True))
        row |= {
            "verdict": verdict,
            "level": decisive,
            "times_more": _times_more((gap_test, gain_test), decisive),
        }
    columns = ["candidate", "verdict", "gap", "reduction", "reduction_low", "reduction_high"]
    columns += [
        "performance",
        "loss",
        "loss_low",
        "loss_high",
        "n_gained",
        "n_lost",
        "level",
        "times_more",
    ]
    frame = pd.DataFrame(rows)[columns]
    rank = frame["verdict"].map({"shown": 0, "open": 1, "contradicted": 2})
    rows_by_rank = np.lexsort((-frame["gap"] if is_ratio else frame["gap"], rank))
    frame = frame.iloc[rows_by_rank].reset_index(drop=True)
    quantity = describe_bound(in_use.constraint, audit.task == "regression", burden=audit.burden)
    return Alternatives(
        frame=frame,
        baseline={"gap": in_use.gap, "performance": present},
        metric=quantity.noun,
        unit=in_use.unit,
        form="ratio" if is_ratio else "gap",
        performance=gain.name,
        is_share=gain.is_share,
        margin=float(margin),
        min_reduction=float(min_reduction),
        order=order,
        confidence_level=each_level,
        n_samples=audit.n_samples,
        constraint=describe_constraint(specification),
        attempt=attempt,
        source=collect_facts(audit.source, positive_label=audit.pos_label),
        reading=audit.reading,
    )


def _count_changes(before: Any, after: Any, pos_label: Any) -> tuple[float, float]:
    """Numbers of decisions that become positive and negative; nan without two classes."""
    if before is None or after is None or pos_label is None:
        return np.nan, np.nan
    was, is_now = before == pos_label, after == pos_label
    return float(np.sum(is_now & ~was)), float(np.sum(was & ~is_now))


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
    columns = dict(audit.outcomes)
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
    audit.check_index(candidates=candidate)
    column = np.asarray(candidate)
    check_consistent_length(audit.is_used, column)
    column = column[audit.is_used]
    if pd.isna(column).any():
        raise argument_error(f"candidates must have no missing values, but {name!r} has some.")
    is_scores = column.dtype.kind == "f" and (column % 1 != 0).any() and audit.task != "regression"
    return replace(
        audit, columns=columns | {"y_score" if is_scores else "y_pred": column}, model=None
    )


def _check_columns(audits: list[AuditData], gain: _Performance, names: list[str]) -> None:
    """Raise for what the performance needs and a model lacks."""
    if "y_true" not in audits[0].columns and gain.name in {
        one.name for one in _PERFORMANCES.values()
    }:
        raise argument_error(
            f"performance {gain.name} needs y_true, the outcomes. Without them pass a function of "
            "(None, y_pred)."
        )
    needed = (
        "y_pred" if gain.name == "accuracy" or gain not in _PERFORMANCES.values() else "y_score"
    )
    for name, one in zip(names, audits, strict=True):
        if needed not in one.columns:
            what = "decisions" if needed == "y_pred" else "scores"
            raise argument_error(
                f"performance needs {what} of each candidate, but {name} has none. Pass fitted "
                "models, or audits with y_pred and y_score."
            )
        if needed == "y_pred" and "y_true" in one.columns and one.task == "classification":
            labels, known = np.unique(one.columns["y_pred"]), np.unique(audits[0].columns["y_pred"])
            truth = np.unique(audits[0].columns["y_true"])
            if not {*labels.tolist()} <= {*known.tolist(), *truth.tolist()}:
                raise argument_error(
                    "y_pred of each candidate must have the labels "
                    f"{join_names(map(repr, truth.tolist()))}, but {name} has "
                    f"{join_names(map(repr, labels.tolist()))}."
                )


def _list_one_by_one(audit: AuditData) -> AuditData:
    """The audit with a cluster for each sample, so that none are merged and all can be paired."""
    if audit.clusters is not None:
        return audit
    return replace(audit, clusters=pd.Series(np.arange(len(audit.samples.weights))))


def verify_alternatives(
    filed: Alternatives, audit: AuditData, candidates: Any, performance: Any = None
) -> list[str]:
    """Recompute a filed answer, and name what differs."""
    if performance is None:
        known = [name for name, one in _PERFORMANCES.items() if one.name == filed.performance]
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
