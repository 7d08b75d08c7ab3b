"""Fairness report of the predictions of any model: rates and errors by protected attributes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from skfair._statistics.estimates import check_level
from skfair._utils.checks import argument_error, check_choice, check_flag, check_text, join_names
from skfair._utils.fit import write_text
from skfair.audit._formats import (
    collect_facts,
    decode_report,
    render_markdown,
    sections_to_json,
    write_kicker,
)
from skfair.audit._front import REPORT_TITLE
from skfair.audit._interactive import add_script
from skfair.audit._population import (
    Population,
    find_empty_groups,
    is_unlike_population,
    tabulate_shares,
)
from skfair.audit._protection import is_about
from skfair.audit._report_data import ReportData
from skfair.audit._report_input import (
    describe_top_k,
    estimate_balance,
    make_groupings,
    make_tables,
    protect_audit,
    report_estimators,
)
from skfair.audit._sections import (
    findings,
    four_fifths_clause,
    has_finding,
    missing_fields,
    model_card_sections,
    open_questions,
    report_sections,
    summary_sections,
)
from skfair.audit._subgroups import SubgroupReport
from skfair.audit._tables import (
    OVERALL,
    Grouping,
    adjust_differences,
    adverse_impact,
    find_spared,
    is_missing_group,
    name_as_text,
    stratify_groupings,
)
from skfair.audit._task_metrics import tabulate_reliability
from skfair.audit._thresholds import tabulate_thresholds
from skfair.metrics._group_report import Metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair.audit._data import AuditData
    from skfair.audit._protection import Protection


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FairnessReport(ReportData):
    """Rates, errors and gaps by groups of people, with intervals, on one page.

    Made by :meth:`Audit.report`, for classifiers of two or more classes, regressors and
    clusterings. Groups are those of every single protected attribute, and
    the intersections of all. The gap of the selection rate is the statistical parity difference.
    Ratios of it are the impact ratios of the four-fifths (80 %) rule on adverse impact (disparate
    impact). Decisions and scores without outcomes have reports too, and summaries of bias audits.
    The page is self-contained, so that it can be attached to a model card.

    Intervals are Wilson's for rates, or exact ones for few successes or failures and where the
    level is divided among many comparisons, Student's or Hall's for means, and DeLong's for areas.
    Those of differences and ratios are computed from
    them, and gaps too, as in :func:`skfair.statistics.gap_interval`. Weighted samples count as the
    effective number of equal weight.

    Intervals of groups hold one at a time, those of a gap for all groups of one attribute and
    metric. The findings claim a gap without "may be chance" only if it is significant by Holm's
    procedure ([1]_) over the gaps of all metrics and attributes. Intervals of differences and
    ratios to a group that was chosen from the data hold for all groups, metrics and attributes
    together, with Bonferroni's level for all pairs of groups. ``python -m benchmarks reports``
    prints how often reports of a fair model claim a gap.

    Read more in the :ref:`guide <audit>`.

    Parameters
    ----------
    frame : DataFrame
        One row for each metric of each group, see :meth:`to_frame`.
    gaps : DataFrame
        One row for each metric of each attribute, and within each ``stratum``: the largest
        difference between two groups that are not small, the smallest ratio, their limits, the
        groups furthest apart, and whether the gap ``is_significant``.
    task : {"classification", "regression", "clustering"}
        Task of the predictions.
    n_samples : int
        Number of samples of positive weight.
    confidence_level : float
        Probability with which each interval holds.
    min_group_size : int
        Samples of a rate below which a group is marked as small.
    min_share : float
        Share of all samples below which a group is left out of :meth:`adverse_impact`.
    title : str
        Heading of the page, by default the widest gap.
    n_missing : dict of str to int
        Number of samples of unknown group, by attribute.
    counts_samples : bool
        Whether groups are disjoint and samples weigh equally and are independent, as counts of
        selections require.
    provenance : dict of str to str
        What was audited: facts that the page states.
    hidden : dict
        Numbers of groups that are not published, and of their samples, by attribute.
    balance : Interval, default=None
        Balance of a clustering.
    subgroups : SubgroupReport, default=None
        Search of the subgroups of the most different selection rates.
    reliability : DataFrame, default=None
        Predicted and observed frequencies of the positive class by attribute, group and bin of the
        probabilities, as in :func:`skfair.metrics.reliability_table`.
    assumption : str, default=""
        What numbers of groups assume of samples whose group is missing; empty if they are not used.
    n_without_outcome : int, default=0
        Number of samples whose outcome is unknown, where others have one.
    unpublished : str, default=""
        Groups and samples that are not published, though findings and status are about them, too.
    named_references : tuple of str, default=()
        Attributes whose reference group the user named; of the others the data choose it.
    reading : Reading, default=UNREAD
        What was read, of which protected reports have no counts.
    shares : DataFrame, default=None
        Where a population was passed, one row for each group: its share of the samples with exact
        limits, that in the ``population``, their ``difference`` with limits, and the ``verdict`` on
        the ``tolerance``; ``verdict_of_all`` is that on all groups together.
    empty_groups : dict of str to list of str
        Declared categories of pandas that no sample has, by attribute.
    known_outcomes : dict of str to str
        How outcomes are missing: the "case" ("complete", "untested", "by_chance", "by_decision" or
        "of_one_decision"), what :class:`Outcomes` said as "missing", and a "sentence" on what is
        left out, or assumed, for that. Empty if all samples have an outcome, and decisions differ.

    Attributes
    ----------
    attributes : list of str
        Names of the attributes, and of all together.
    findings : list of str
        The main results, in two or three sentences.
    open_questions : list of str
        What these data cannot decide.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
       of Statistics 6, 1979.

    Examples
    --------
    >>> from skfair.audit import Audit
    >>> y_true, y_pred = [1, 0, 1, 0] * 100, [1, 0, 1, 1] * 50 + [1, 0, 0, 0] * 50
    >>> sex = ["m"] * 200 + ["f"] * 200
    >>> report = Audit.from_predictions(y_true, y_pred, sensitive_features=sex).report()
    >>> report.gaps.loc[report.gaps["metric"] == "selection_rate", "gap"].item()
    0.5
    """

    subgroups: SubgroupReport | None = None

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes, and of all together."""
        return [name for name in self.frame["attribute"].unique().tolist() if name != OVERALL]

    @cached_property
    def findings(self) -> list[str]:
        """The main results, in two or three sentences."""
        return findings(self)

    @property
    def has_finding(self) -> bool:
        """Whether a gap is significant, a subgroup departs, or a share is not the population's.

        Gaps are those in outcomes and errors, by Holm's procedure. The limits of subgroups hold for
        all of those that were searched together, at the same level as the gaps, and so do those of
        shares of groups, which are held against their tolerance.
        """
        departs = self.subgroups is not None and self.subgroups.searches["n_flagged"].any()
        return bool(departs or has_finding(self) or is_unlike_population(self.shares))

    @property
    def open_questions(self) -> list[str]:
        """What these data cannot decide, one sentence each."""
        return open_questions(self)

    def to_frame(self) -> pd.DataFrame:
        """All numbers as a table.

        Returns
        -------
        frame : DataFrame
            One row for each metric of each group: ``attribute`` ("overall" for all samples),
            ``stratum`` ("" for all strata), ``group``, ``metric``, ``n`` (the unweighted number of
            samples that it is a mean over), ``interval`` (how limits are computed), ``estimate``,
            ``low``, ``high``; the
            ``difference`` to the reference group and the ``ratio``, each with its limits; the
            ``impact_ratio`` to the largest rate of a group that is not small, with its limits;
            ``is_small`` and ``is_reference``. Where the decision is a burden, ratios of selection
            rates are those of the samples that it spares.
        """
        return self.frame.copy()

    def adverse_impact(self) -> pd.DataFrame:
        """Selections of each group against those of the most selected, as in 29 CFR 1607.4(D).

        The most selected group has the largest rate among those with at least ``min_share`` of all
        samples. With n and m the sizes of a group and of the most selected, s and t their
        selections, and p = (s + t) / (n + m), the columns are computed from unrounded counts:

        - ``impact_ratio``: (s / n) / (t / m). Below .8, four fifths, it is evidence of adverse
          impact.
        - ``standard_deviations``: (s / n - t / m) / sqrt(p (1 - p) (1 / n + 1 / m)). More than two
          are held to be significant.
        - ``p_value``: of Fisher's exact test of the two groups, two-sided, which holds for any
          number of samples. Of more than two equal groups the largest rate is partly luck, so that
          p-values below .05 occur too often.
        - ``adjusted_p_value``: the same by Holm's procedure over all pairs of groups that are not
          left out, of more than 16 groups by Bonferroni's. It holds for all groups of an attribute
          together, whichever has the largest rate.
        - ``shortfall``: the smallest number of further selections that would make the rate of the
          group at least as large, ceil(n t / m) - s.

        Where the decision is a burden, the samples that it spares are the selections, and the rate
        is called ``spared_rate``.

        Returns
        -------
        table : DataFrame
            One row for each group, attribute, ``stratum`` and rate (``selection_rate``, that of
            each class, or ``scoring_rate``), with ``n``, ``n_selected``, ``estimate`` and the
            columns above. They
            are nan for groups that ``is_excluded`` marks. It is empty if the report has no such
            rate.

        Raises
        ------
        ValueError
            If groups overlap, or samples have different weights or are not independent.

        Examples
        --------
        >>> from skfair.audit import Audit
        >>> decisions = [1] * 48 + [0] * 72 + [1] * 60 + [0] * 40
        >>> sex = ["f"] * 120 + ["m"] * 100
        >>> report = Audit.from_predictions(None, decisions, sensitive_features=sex).report()
        >>> table = report.adverse_impact().set_index("group")
        >>> print(f"{table.loc['f', 'impact_ratio']:.3f}", int(table.loc["f", "shortfall"]))
        0.667 24
        """
        if not self.counts_samples:
            raise ValueError(
                "Adverse impact is computed from counts of selections, so groups must not overlap "
                "or be modelled, and all samples must have the same weight and be independent. "
                "Leave out sample_weight and groups, and pass columns of attributes as "
                'sensitive_features, with missing="exclude" if some are missing. impact_ratio in '
                "to_frame() has weighted ratios."
            )
        return adverse_impact(find_spared(self), self.n_samples, self.min_share, self.hidden)

    def adjusted_differences(self) -> pd.DataFrame:
        r"""Differences between groups of the same stratum of `control_features`.

        Rates of selection are compared, and of regression the means of targets, predictions and
        errors, in their units. Each group is compared with the reference group in all strata that
        have samples of both. With :math:`d_k` the difference in stratum k, :math:`n_k` and
        :math:`m_k` the samples of the group and of the reference group, the columns are

        - ``difference``: of all samples, whatever their stratum.
        - ``mean_difference``: :math:`\sum_k (n_k + m_k) d_k / \sum_k (n_k + m_k)`, what remains on
          average within strata (conditional demographic disparity).
        - ``common_difference``: that of Mantel and Haenszel, with weights :math:`n_k m_k / (n_k +
          m_k)`, which of means is the coefficient of the group in a linear regression on group and
          strata. Its limits ``low`` and ``high`` are for rates those of the score test of Miettinen
          and Nurminen ([1]_), for means those of Welch with the degrees of freedom of Satterthwaite
          ([2]_). They hold for all rows together, whichever group the data choose as reference, and
          where the difference is the same in all strata.

        What a stratum explains need not be justified: strata may be the way in which a group is
        put at a disadvantage.

        Returns
        -------
        table : DataFrame
            One row for each attribute, metric and group that is not small, with ``reference``,
            ``n_strata`` and ``n``, the samples in these. It is empty without strata.

        Raises
        ------
        ValueError
            If groups overlap, or samples have different weights or are not independent.

        References
        ----------
        .. [1] O. Miettinen and M. Nurminen, "Comparative analysis of two rates", Statistics in
           Medicine 4, 1985.
        .. [2] F. E. Satterthwaite, "An approximate distribution of estimates of variance
           components", Biometrics Bulletin 2, 1946.

        Examples
        --------
        Of 100 women 80 apply where 20 % are admitted, and of 100 men 20:

        >>> from skfair.audit import Audit
        >>> admitted = [1] * 16 + [0] * 64 + [1] * 10 + [0] * 10
        >>> admitted += [1] * 4 + [0] * 16 + [1] * 40 + [0] * 40
        >>> sex = ["f"] * 100 + ["m"] * 100
        >>> department = ["a"] * 80 + ["b"] * 20 + ["a"] * 20 + ["b"] * 80
        >>> audit = Audit.from_predictions(
        ...     None, admitted, sensitive_features=sex, control_features=department
        ... )
        >>> table = audit.report().adjusted_differences()
        >>> names = ["difference", "mean_difference", "common_difference"]
        >>> (table.loc[0, names].astype(float).round(2) + 0.0).tolist()
        [-0.18, 0.0, 0.0]
        """
        if not self.counts_samples:
            raise ValueError(
                "Differences within strata are computed from counts, so groups must not overlap or "
                "be modelled, and all samples must have the same weight and be independent."
            )
        return adjust_differences(self.frame, self.confidence_level, self.named_references)

    def missing_fields(self, summary: Literal["ll144"] = "ll144") -> list[str]:
        """What the law requires of a summary and the report does not have, one sentence each.

        Parameters
        ----------
        summary : {"ll144"}, default="ll144"
            As in :meth:`to_html`.

        Returns
        -------
        missing : list of str
            It is empty if the summary is complete.
        """
        check_choice("summary", summary, ("ll144",))
        return missing_fields(self)

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        full: bool = False,
        summary: Literal["ll144"] | None = None,
        interactive: bool = False,
    ) -> str:
        """The report as one self-contained page: no network, and no scripts unless interactive.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write; None writes none.
        full : bool, default=False
            Whether sections are open that a reader else opens, as before the page is printed.
        summary : {"ll144"}, default=None
            "ll144" makes the summary of a bias audit that New York City's Local Law 144 requires
            to be published (6 RCNY 5-301 and 5-303) instead of the report.
        interactive : bool, default=False
            Whether a script lets the reader choose rate, groups and order, sort, and save tables as
            CSV; with probabilities and outcomes also count rates again at another threshold. The
            page then has unrounded rates, and counts by score. Where scripts are blocked it is as
            without.

        Returns
        -------
        html : str
            The page.

        Raises
        ------
        ValueError
            If the page is interactive, and a summary or the report of protected counts.
        """
        page = self._render_page(self._sections(summary), full)
        if check_flag("interactive", interactive):
            page = add_script(page, self, summary)
        return write_text(page, path)

    def to_markdown(
        self, path: str | PathLike[str] | None = None, *, summary: Literal["ll144"] | None = None
    ) -> str:
        """The report as Markdown, such as a section of a model card; without pictures.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write; None writes none.
        summary : {"ll144"}, default=None
            As in :meth:`to_html`.

        Returns
        -------
        markdown : str
            The text.
        """
        return write_text(render_markdown(self.title, self._sections(summary)), path)

    def to_model_card(
        self,
        path: str | PathLike[str] | None = None,
        *,
        format: Literal["markdown", "json"] = "markdown",
    ) -> str:
        """Section of a model card with the fields that a report can fill.

        They are those of M. Mitchell et al., "Model cards for model reporting", 2019: factors,
        metrics with the decision rule, evaluation data, quantitative analyses by group with
        intervals, and caveats. How groups were recorded is the fact ``groups`` of ``provenance``.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write; None writes none.
        format : {"markdown", "json"}, default="markdown"
            Markdown whose headings are of the second level and below, to be pasted into a card, or
            the same fields as JSON.

        Returns
        -------
        text : str
            The section.
        """
        check_choice("format", format, ("markdown", "json"))
        sections = model_card_sections(self)
        if format == "json":
            return write_text(sections_to_json(self.title, sections), path)
        return write_text(render_markdown(self.title, sections, level=2), path)

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """The report that :meth:`to_json` wrote, with the same page and tables.

        Parameters
        ----------
        source : str or path-like
            The JSON, or the path of a file of it.

        Returns
        -------
        report : FairnessReport

        Raises
        ------
        ValueError
            If the text is not the JSON of a report, or of another version of the schema.
        FileNotFoundError
            If a path-like names no file.
        """
        content = decode_report(source, cls._settings)
        if content["subgroups"] is not None:
            content["subgroups"] = SubgroupReport(**content["subgroups"])
        content["named_references"] = tuple(content["named_references"])
        return cls(**{name: content[name] for name in cls._settings})

    def _sections(self, summary: str | None = None) -> Iterator[tuple[str, list]]:
        """Sections of the report, or of a summary."""
        if summary is None:
            return report_sections(self)
        check_choice("summary", summary, ("ll144",))
        return summary_sections(self)

    def _headline(self) -> str:
        return self.title

    def _kicker(self) -> str:
        return write_kicker(REPORT_TITLE, self.provenance)

    def __repr__(self) -> str:
        return (
            f"<FairnessReport of {self.n_samples:,} samples by "
            f"{join_names(self.attributes)}: {self.task}>"
        )


FairnessReport._settings = tuple(one.name for one in fields(FairnessReport))


class ReportSettings(NamedTuple):
    """What a report compares, and what its page states: parameters of :meth:`Audit.report`."""

    metrics: Metrics
    reference: dict | None
    confidence_level: float
    min_share: float
    subgroups: SubgroupReport | None
    by_threshold: bool
    title: str | None
    digest: str | None  # of the samples, with a salt
    population: Population | None
    tolerance: float | None  # of shares


def report_audit(
    audit: AuditData, settings: ReportSettings, min_published: int | None
) -> FairnessReport:
    """The report of an audit, as :meth:`Audit.report`."""
    if not isinstance(settings.subgroups, SubgroupReport | None):
        raise argument_error(
            "subgroups must be a SubgroupReport or None, got "
            f"{settings.subgroups!r}. Pass audit.subgroups(), the result of a search."
        )
    check_flag("by_threshold", settings.by_threshold)
    if settings.tolerance is not None and settings.population is None:
        raise argument_error(
            "tolerance is that of differences from the shares of a population; pass population "
            "too, or leave it out. Tolerances of rates are those of Audit.certify."
        )
    if settings.title is not None:
        check_text("title", settings.title)
    every = _report_samples(audit, settings)
    if min_published is None:
        return every
    if settings.by_threshold:
        raise argument_error(
            "by_threshold shows the numbers of samples between thresholds, which min_published "
            "does not protect. Leave one of the two out."
        )
    if settings.population is not None:
        raise argument_error(
            "population compares the numbers of samples of all groups, some of which min_published "
            "may not let be published. Leave one of the two out."
        )
    protection = protect_audit(audit, min_published, settings.metrics, every.subgroups)
    protection.check_reference(settings.reference)
    counted = protection.restrict(audit)
    report = every
    if counted is not audit:
        report = _report_samples(counted, settings)
    # A number of missing values is a sum of counts, all of which must be published.
    by_name = protection.find_hidden().items()
    unknown = [name for name, one in by_name if any(map(is_missing_group, one))]
    n_missing = {name: n for name, n in report.n_missing.items() if name not in unknown}
    facts = {name: one for name, one in report.provenance.items() if name != "sha256"}
    frame, gaps = _hide(report, every, protection)
    return replace(
        report,
        frame=frame,
        gaps=gaps,
        n_missing=n_missing,
        hidden=_count_hidden_groups(protection),
        unpublished=protection.clause,
        provenance=facts | {"suppressed": protection.fact},
        reliability=None,
        reading=audit.reading.protect(counted.n_samples, protection.find_hidden()),
    )


def _count_hidden_groups(protection: Protection) -> dict[str, list[int]]:
    """Return the numbers of groups that are in no table, and of their samples, by attribute."""
    fewer = protection.find_hidden()
    sizes = {name: fewer.get(name, {}).values() for name in {**fewer, **protection.hidden}}
    return {name: [sum(map(bool, one)), sum(one)] for name, one in sizes.items() if name != OVERALL}


def _hide(
    report: FairnessReport, every: FairnessReport, protection: Protection
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables of counted samples without hidden groups, with the verdicts of all samples.

    Gaps and ratios that involve a hidden group become nan.
    """
    is_hidden = protection.mask(every.frame)
    verdicts = ["is_significant", "four_fifths"]
    hidden, shown = every.frame[is_hidden], every.frame[~is_hidden]
    both = ["attribute", "metric"]
    gaps, at = protection.hide_gaps(report.gaps, every.frame, every.gaps, verdicts)
    gaps = gaps.astype({"lowest": object, "highest": object})
    gaps.loc[at, ["lowest", "highest"]] = None
    # Hidden groups that impact ratios may be relative to: the largest of those that may be best.
    is_eligible = ~hidden["is_small"] | (hidden["n"] >= every.min_share * every.n_samples)
    best = shown.groupby(both)["impact_ratio"].max().rename("best")
    eligible = hidden[is_eligible].join(best, both)
    largest = eligible[~(eligible["impact_ratio"] < eligible["best"])]
    frame = report.frame[~protection.mask(report.frame)].reset_index(drop=True)
    for prefix, rows in (
        (("difference", "ratio"), hidden[hidden["is_reference"]]),
        ("impact_ratio", largest),
    ):
        names = [name for name in frame if name.startswith(prefix)]
        frame.loc[is_about(frame, rows), names] = np.nan
    return frame, gaps


def _report_samples(audit: AuditData, settings: ReportSettings) -> FairnessReport:
    """The report of all samples of an audit."""
    level = check_level(settings.confidence_level)
    audit.warn_of_integers()
    known = audit.known
    samples, columns, strata = audit.rows(settings.metrics)
    columns, estimators, ties = report_estimators(audit, samples, columns, settings.metrics)
    if known.labels is None:
        samples = samples._replace(groups=known.select_known(samples.groups))
    by, n_missing = make_groupings(samples, known.treatment)
    reliability = None
    if not known.is_modelled and audit.clusters is None:
        reliability = tabulate_reliability(columns, audit.pos_label, by, samples.weights, level)
    if strata is not None and known.is_modelled:
        raise argument_error(
            "control_features compares groups within strata, which missing='at_random' does not "
            "estimate; leave one of them out."
        )
    counts_samples = samples.groups.is_disjoint and samples.is_equally_weighted
    counts_samples = counts_samples and audit.clusters is None and not known.is_modelled
    thresholds = None
    outcomes = audit.known_outcomes
    if outcomes is not None and not outcomes.are_counted_as_they_are:
        reliability = None
        if settings.by_threshold:
            raise argument_error(f"by_threshold needs the outcomes of all. {outcomes.sentence}")
    if settings.by_threshold:
        if not counts_samples or audit.k is not None:
            raise argument_error(
                "by_threshold counts independent samples of equal weight in groups that do not "
                "overlap. Leave it out, or sample_weight, clusters, models of groups and top(k)."
            )
        thresholds = tabulate_thresholds(columns, audit.pos_label, by, level, audit.min_group_size)
    by_grouping = {Grouping(name): groups for name, groups in by.items()}
    if strata is not None:
        by_grouping |= stratify_groupings(by, strata.codes, strata)
    frame, gaps = make_tables(
        estimators,
        by_grouping,
        samples.weights,
        settings.reference,
        level,
        audit.min_group_size,
    )
    gaps["four_fifths"] = [four_fifths_clause(gap, frame) for gap in gaps.to_dict("records")]
    shares = None
    if settings.population is not None:
        shares = tabulate_shares(audit, settings.population, settings.tolerance, level)
    provenance = collect_facts(
        audit.source,
        positive_label=audit.pos_label,
        salted_sha256=settings.digest,
        threshold=None if audit.k is None else describe_top_k(audit.k, ties),
    )
    return FairnessReport(
        frame=frame,
        gaps=gaps,
        task=audit.task,
        n_samples=audit.n_samples,
        n_without_outcome=audit.n_without_outcome,
        confidence_level=level,
        min_group_size=audit.min_group_size,
        n_missing=n_missing,
        hidden={},
        counts_samples=counts_samples and not ties,
        named_references=tuple(map(name_as_text, settings.reference or ())),
        provenance=provenance,
        balance=estimate_balance(audit.task, columns, samples, level, known.treatment),
        assumption=known.describe_assumption(),
        reliability=reliability,
        thresholds=thresholds,
        reading=audit.reading,
        min_share=settings.min_share,
        subgroups=settings.subgroups,
        title=settings.title or "",
        shares=shares,
        empty_groups=find_empty_groups(audit.empty_groups, shares),
        known_outcomes={} if outcomes is None else outcomes.facts,
    )
