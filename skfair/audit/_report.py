"""Fairness report of the predictions of any model: rates and errors by protected attributes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair.audit._adverse_impact import adverse_impact
from skfair.audit._estimators import (
    find_positive_label,
    hidden_group_estimators,
    infer_kind,
    measure_estimators,
    probabilistic_groups_factory,
    recorded_groups_factory,
    tabulate_reliability,
    top_k_estimators,
)
from skfair.audit._formats import (
    PageReport,
    collect_facts,
    decode_report,
    render_markdown,
    render_page,
    sections_to_json,
)
from skfair.audit._predictions import predict_columns
from skfair.audit._report_input import (
    AT_RANDOM_ASSUMPTION,
    BOUNDS_REMEDY,
    check_can_model_groups,
    check_group_size,
    check_input,
    check_min_published,
    check_searchable,
    check_share,
    check_stratifiable,
    check_top_k_settings,
    check_unknown,
    describe_top_k,
    estimate_balance,
    make_groupings,
    make_tables,
    refuse_features,
    refuse_published_ties,
    sums_suffice,
    warn_of_counts,
    warn_of_unknown,
)
from skfair.audit._sections import (
    findings,
    has_finding,
    missing_fields,
    model_card_sections,
    open_questions,
    report_sections,
    summary_sections,
)
from skfair.audit._subgroups import SubgroupReport, find_subgroups
from skfair.audit._tables import OVERALL, groups_like_unknown, stratify
from skfair.groups import check_group_probabilities, make_probable_groups, merge_samples
from skfair.metrics import Measures, check_strata, check_top_k
from skfair.statistics import (
    check_group_arguments,
    check_level,
    describe_probability_assumption,
    require_assumption,
)
from skfair.utils._api import Label, MatrixLike
from skfair.utils._checks import join_names
from skfair.utils._fit import write_text

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skfair.statistics import Interval


_FIELDS = (
    *("title", "kind", "n_samples", "confidence_level", "min_group_size", "min_share"),
    *("n_missing", "counts_samples", "balance", "subgroups", "reliability", "assumption"),
    "provenance",
)
"""Arguments of the constructor of a report, besides the two tables."""

_REQUIRED_FIELDS = {*_FIELDS} - {"balance", "subgroups", "reliability", "assumption"}


class FairnessReport(PageReport):
    """Rates, errors and gaps by groups of people, with intervals, on one page.

    Made by :meth:`from_estimator` or :meth:`from_predictions`, for classifiers of two or more
    classes, regressors and clusterings. Groups are those of every single protected attribute, and
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
    measure. The findings claim a gap without "may be chance" only if it is significant by Holm's
    procedure ([1]_) over the gaps of all measures and attributes. Intervals of differences and
    ratios to a group that was chosen from the data hold for all groups, measures and attributes
    together, with Bonferroni's level for all pairs of groups. ``python -m benchmarks reports``
    prints how often reports of a fair model claim a gap.

    Parameters
    ----------
    frame : DataFrame
        One row for each measure of each group, see :meth:`to_frame`.
    gaps : DataFrame
        One row for each measure of each attribute: the largest difference between two groups that
        are not small, the smallest ratio, their limits, the groups furthest apart, and whether the
        gap ``is_significant``.
    kind : {"classification", "regression", "clustering"}
        Task of the predictions.
    n_samples : int
        Number of samples of positive weight.
    confidence_level : float
        Probability with which each interval holds.
    min_group_size : int
        Number of samples below which a group is marked as small.
    min_share : float
        Share of all samples below which a group is left out of :meth:`adverse_impact`.
    title : str
        Heading of the page.
    n_missing : dict of str to int
        Number of samples of unknown group, by attribute.
    counts_samples : bool
        Whether groups are disjoint and samples weigh equally, as counts of selections require.
    provenance : dict of str to str
        What was audited: facts that the page states.
    balance : Interval, default=None
        Balance of a clustering.
    subgroups : SubgroupReport, default=None
        Search of the subgroups of the most different selection rates.
    reliability : DataFrame, default=None
        Predicted and observed frequencies of the positive class by attribute, group and bin of the
        probabilities, as in :func:`skfair.metrics.reliability_table`.
    assumption : str, default=""
        What numbers of groups assume of samples whose group is missing; empty if they are not used.

    Attributes
    ----------
    attributes : list of str
        Names of the groupings: every attribute, and all together.
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
    >>> from skfair.audit import FairnessReport
    >>> y_true, y_pred = [1, 0, 1, 0] * 100, [1, 0, 1, 1] * 50 + [1, 0, 0, 0] * 50
    >>> sex = ["m"] * 200 + ["f"] * 200
    >>> report = FairnessReport.from_predictions(y_true, y_pred, sensitive_features=sex)
    >>> report.gaps.loc[report.gaps["measure"] == "selection_rate", "gap"].item()
    0.5
    """

    _settings, _results = _FIELDS, ("frame", "gaps")

    def __new__(cls, *tables: Any, **fields: Any) -> Self:
        if tables and not _REQUIRED_FIELDS <= set(fields):
            raise TypeError(
                "FairnessReport() takes the tables of a report. Of predictions make one by "
                "FairnessReport.from_predictions(y_true, y_pred, sensitive_features=...), of a "
                "model by FairnessReport.from_estimator(model, X, y, sensitive_features=...)."
            )
        return super().__new__(cls)

    def __init__(
        self,
        frame: pd.DataFrame,
        gaps: pd.DataFrame,
        *,
        kind: str,
        n_samples: int,
        confidence_level: float,
        min_group_size: int,
        min_share: float,
        title: str,
        n_missing: dict[str, int],
        counts_samples: bool,
        provenance: dict[str, str],
        balance: Interval | None = None,
        subgroups: SubgroupReport | None = None,
        reliability: pd.DataFrame | None = None,
        assumption: str = "",
    ):
        self.frame, self.gaps, self.balance, self.subgroups = frame, gaps, balance, subgroups
        self.kind, self.n_samples, self.title = kind, n_samples, title
        self.confidence_level, self.min_group_size = confidence_level, min_group_size
        self.min_share, self.n_missing, self.counts_samples = min_share, n_missing, counts_samples
        self.provenance, self.assumption = provenance, assumption
        self.reliability = reliability

    @property
    def attributes(self) -> list[str]:
        """Names of the groupings: every attribute, and all together."""
        return [name for name in self.frame["attribute"].unique().tolist() if name != OVERALL]

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike,
        pos_label: Label | None = None,
        **settings: Any,
    ) -> Self:
        """Report of a fitted model on held-out data.

        Parameters
        ----------
        estimator : estimator
            Fitted classifier, regressor or clusterer of any package. Its ``predict`` is called,
            and ``predict_proba`` or ``decision_function`` of a classifier of two classes, with the
            sensitive features if it requires them.
        X : array-like of shape (n_samples, n_features)
            Held-out data.
        y : array-like of shape (n_samples,), default=None
            True classes or values; not used for a clusterer. None reports decisions or scores
            alone.
        sensitive_features : array-like or sparse matrix
            Group of each sample, one column per attribute.
        pos_label : label, default=None
            The class that means success, as in :func:`skfair.metrics.get_scorer`.
        **settings
            Further parameters of :meth:`from_predictions`.

        Returns
        -------
        report : FairnessReport

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            As for :meth:`from_predictions`.
        """
        kind, y_pred, pos_label, scores = predict_columns(
            estimator, X, y, sensitive_features, pos_label
        )
        settings |= {"sensitive_features": sensitive_features} | scores
        if settings.get("missing") == "at_random":
            settings = {"X": X} | settings
        if settings.get("k") is not None and kind == "classification":
            y_pred = None  # decisions are made of scores
        if kind == "clustering":
            y = None
        return cls.from_predictions(y, y_pred, kind=kind, pos_label=pos_label, **settings)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike | None,
        *,
        sensitive_features: MatrixLike | None = None,
        y_proba: ArrayLike | None = None,
        y_score: ArrayLike | None = None,
        k: float | None = None,
        kind: str | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        reference: dict | None = None,
        measures: Measures = (),
        control_features: MatrixLike | None = None,
        confidence_level: float = 0.95,
        min_group_size: int = 30,
        min_share: float = 0.02,
        missing: str = "error",
        unknown: Sequence[Label] | None = None,
        X: MatrixLike | None = None,
        group_probabilities: MatrixLike | None = None,
        assume: Literal["sufficient", "independent"] | None = None,
        subgroups: bool = False,
        provenance: dict[str, str] | None = None,
        title: str = "Fairness report",
        min_published: int | None = None,
    ) -> Self:
        """Report of any predictions.

        Without a target it has the rates that need none: selection rates of decisions, or of each
        class, and the scoring rate of scores, which is the share above the median of all samples.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True classes or values; None for a clustering, and for decisions or scores whose
            outcomes are not known.
        y_pred : array-like of shape (n_samples,)
            Predicted classes or values, or clusters. Without a target numbers with decimals are
            scores.
        sensitive_features : array-like or sparse matrix, default=None
            Group of each sample, one column per attribute; a DataFrame names them. A sparse matrix
            of booleans is one of overlapping groups. None if there are only probabilities of
            groups.
        y_proba : array-like of shape (n_samples,), default=None
            Probability of the positive class, for calibration and areas under curves.
        y_score : array-like of shape (n_samples,), default=None
            Scores on any scale, for areas under curves alone, and for `k`.
        k : int or float, default=None
            Number of places, or their share of all samples: decisions are positive for the k
            highest scores, as in :func:`skfair.metrics.group_report`, and ``y_pred`` must be None.
            The page states how many samples tie at the cut.
        kind : {"classification", "regression", "clustering"}, default=None
            Task of the predictions; None infers it: a target of real numbers means regression,
            anything else classification. Clusterings are never inferred. Without a target more than
            two integers may be classes or scores: pass "classification", or "regression" for a
            scoring rate.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sampling weights; a sample of weight zero counts as absent. Intervals
            rest on effective sample sizes, as in :func:`skfair.statistics.gap_interval`.
        pos_label : label, default=None
            The class that means success; of more than two it is compared with all others, and None
            reports each of them. Of two None takes 1 if the labels are 0 and 1, -1 and 1
            or booleans.
        reference : dict, default=None
            Group that the others are compared with, by attribute, such as ``{"sex": "male"}``.
            By default it is the one with the highest selection rate or mean prediction among those
            that are known and not small. Intervals of comparisons with a named group hold one at a
            time, and are narrower.
        measures : list or dict, default=()
            Further measures, as in :func:`skfair.metrics.group_report`: names, rates, measures and
            functions. Their gaps count among all gaps of the report. Rates of more than two classes
            are those of each class.
        control_features : array-like of shape (n_samples,) or (n_samples, n_features), default=None
            Stratum of each sample, such as an occupation. Groups by each attribute are compared
            within each stratum too, under names such as "sex | region = north".
        confidence_level : float, default=0.95
            Probability with which each interval of a group or gap holds, and with which all
            intervals of comparisons with groups chosen from the data hold together.
        min_group_size : int, default=30
            Number of samples below which a group is marked as small, and left out of gaps.
        min_share : float, default=0.02
            Share of all samples below which a group is left out of :meth:`adverse_impact` and of
            the impact ratios of a bias audit; 0 keeps all.
        missing : {"error", "group", "exclude", "at_random"}, default="error"
            What happens to missing values of ``sensitive_features``. "group" reports them as the
            group "(missing)". "exclude" leaves these samples out of the groups of the attribute and
            of its combinations, but not out of the overall row or the median. The page states their
            number. "at_random" estimates rates of decisions as
            :func:`skfair.statistics.hidden_gap_interval` does: it assumes that groups are missing
            at random given `X`, predictions and outcomes. The numbers of samples are those of
            recorded ones.
        unknown : list of labels, default=None
            Labels that stand for an unknown group, such as ``["Unknown", "Decline to state"]``, in
            any attribute. They are counted with the missing values, and `missing` says what happens
            to them; with "error" they are excluded. Text is compared without regard to case and
            surrounding spaces. None warns of labels that look like one, and the page names them.
        X : array-like of shape (n_samples, n_features), default=None
            Features that model the groups that are missing, with ``missing="at_random"`` alone.
        group_probabilities : array-like of shape (n_samples, n_groups), default=None
            Probability of each group, such as that by names and places; a DataFrame names the
            groups. With ``missing="at_random"`` they are further features. Without
            `sensitive_features`, rates of decisions are estimated from them alone, under what
            `assume` names. Bounds without an assumption are those of
            :func:`skfair.statistics.hidden_gap_interval`.
        assume : {"sufficient", "independent"}, default=None
            What is assumed of probabilities alone, as in
            :func:`skfair.statistics.hidden_gap_interval`. The findings state it.
        subgroups : bool, default=False
            Whether the subgroups of the attributes whose selection rates depart most are searched,
            as by :func:`find_subgroups`; they have a section of their own.
        provenance : dict of str to str, default=None
            Facts that the page states under "What was audited", such as ``{"source":
            "applications of 2025"}``. Known names are ``file``, ``sha256``, ``columns``,
            ``rows``, ``threshold``, ``groups``, ``date``, ``source``, ``explanation``,
            ``distribution_date`` and ``justification``. The date, the versions and the positive
            label are added.
        title : str, default="Fairness report"
            Heading of the page.
        min_published : int, default=None
            Smallest count that may be published. Groups with a count from 1 to one less are left
            out of everything, and as many others as keep their counts from being computed as the
            difference of those that are published. Counts are those of samples, of samples that a
            measure is over, and of these with and without its event. Not for clusterings. The page
            states the number of groups that were left out.

        Returns
        -------
        report : FairnessReport

        Raises
        ------
        ValueError
            If inputs differ in length or in their pandas index, hold missing values, predictions
            are of another type than the truth, probabilities are outside [0, 1], groups are too
            many, a reference does not occur, there are integers without a target and `kind`,
            subgroups cannot be searched, or no group can be published.
        TypeError
            If ``provenance`` is not a dict of text.

        Warns
        -----
        UserWarning
            If weights are so uneven that intervals are too narrow, a label looks like an unknown
            group, or `unknown` names a label that does not occur.
        """
        columns = {"y_pred": y_pred, "y_true": y_true, "y_proba": y_proba, "y_score": y_score}
        check_top_k(k, {name for name, column in columns.items() if column is not None})
        strata = None
        if control_features is not None:
            strata = check_strata(control_features, sensitive_features)
            columns["stratum"] = strata.codes
        unknown = check_unknown(unknown)
        check_group_arguments(sensitive_features, group_probabilities, assume, missing)
        require_assumption(sensitive_features, assume, BOUNDS_REMEDY)
        if group_probabilities is not None:
            group_probabilities = check_group_probabilities(group_probabilities, y_pred)
            if sensitive_features is None:  # groups follow from probabilities, see below
                sensitive_features = np.zeros(len(group_probabilities), dtype=int)
        samples, columns = check_input(columns, sensitive_features, sample_weight, missing, unknown)
        missing = "exclude" if unknown and missing == "error" else missing
        warn_of_counts(samples, columns)
        kind, level = infer_kind(kind, columns), check_level(confidence_level)
        check_group_size(min_group_size)
        positive = find_positive_label(kind, columns, pos_label)
        check_min_published(min_published, kind)
        if not assume and sums_suffice(kind, columns, missing, measures):
            samples, columns = merge_samples(samples, columns)
        stratum = columns.pop("stratum", None)
        assumption, ties = "", None
        if missing != "at_random":
            refuse_features(X)
        if k is not None:
            check_top_k_settings(missing, subgroups, assume)
            estimators, ties = top_k_estimators(columns, positive, measures, samples, k)
            refuse_published_ties(ties, min_published)
        elif missing == "at_random" or assume:
            setting = "group_probabilities" if assume else 'missing="at_random"'
            limits = min_group_size, min_published
            check_can_model_groups(setting, positive, samples, y_pred, measures, *limits)
        if missing == "at_random":
            hide = recorded_groups_factory(columns, positive, X, group_probabilities)
            estimators = hidden_group_estimators(columns, positive, hide)
            assumption = AT_RANDOM_ASSUMPTION
        elif assume:
            estimators = hidden_group_estimators(
                columns, positive, probabilistic_groups_factory(assume)
            )
            assumption = describe_probability_assumption(assume)
            samples = samples._replace(groups=make_probable_groups(group_probabilities))
        elif k is None:
            estimators = measure_estimators(kind, columns, positive, measures)
        by, n_missing, suppressed = make_groupings(samples, missing, estimators, min_published)
        reliability = None
        if min_published is None and not assumption:
            reliability = tabulate_reliability(columns, positive, by, samples.weights, level)
        if strata is not None:
            check_stratifiable(min_published, assumption)
            by = by | stratify(by, stratum, strata)
        frame, gaps = make_tables(estimators, by, samples.weights, reference, level, min_group_size)
        warn_of_unknown(groups_like_unknown(frame))
        counts_samples = samples.groups.is_disjoint and samples.is_equally_weighted
        counts_samples &= not assumption and not ties
        worst = None
        if subgroups:
            check_searchable(positive, counts_samples, min_published)
            worst = find_subgroups(
                None,
                columns["y_pred"] == positive,
                sensitive_features=samples.groups.rename(list(by)),
                confidence_level=level,
                min_group_size=min_group_size,
                missing="group" if missing == "group" else "exclude",
            )
        return cls(
            frame,
            gaps,
            kind=kind,
            n_samples=samples.groups.n_samples,
            confidence_level=level,
            min_group_size=min_group_size,
            min_share=check_share(min_share),
            title=title,
            n_missing=n_missing,
            counts_samples=counts_samples,
            provenance=collect_facts(
                provenance,
                positive_label=positive,
                suppressed=suppressed,
                threshold=None if k is None else describe_top_k(k, ties),
            ),
            balance=estimate_balance(kind, columns, samples, level, missing),
            subgroups=worst,
            reliability=reliability,
            assumption=assumption,
        )

    @property
    def findings(self) -> list[str]:
        """The main results, in two or three sentences."""
        return findings(self)

    @property
    def has_finding(self) -> bool:
        """Whether a gap is significant by Holm's procedure, or a subgroup is shown to depart.

        Gaps are those in outcomes and errors. The limits of subgroups hold for all of those that
        were searched together, at the same level as the gaps.
        """
        departs = self.subgroups is not None and len(self.subgroups.subgroups) > 0
        return departs or has_finding(self)

    @property
    def open_questions(self) -> list[str]:
        """What these data cannot decide, one sentence each."""
        return open_questions(self)

    def to_frame(self) -> pd.DataFrame:
        """All numbers as a table.

        Returns
        -------
        frame : DataFrame
            One row for each measure of each group: ``attribute`` ("overall" for all samples),
            ``group``, ``measure``, ``n`` (the unweighted number of samples that it is a mean over),
            ``interval`` (how limits are computed), ``value``, ``low``, ``high``; the ``difference``
            to the reference group and the ``ratio``, each with its limits; the ``impact_ratio`` to
            the largest rate of a group that is not small, with its limits; ``is_small`` and
            ``is_reference``.
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
        - ``p_value``: of Fisher's exact test, two-sided, which holds for any number of samples.
        - ``shortfall``: the smallest number of further selections that would make the rate of the
          group at least as large, ceil(n t / m) - s.

        Returns
        -------
        table : DataFrame
            One row for each group, attribute and rate (``selection_rate``, that of each class, or
            ``scoring_rate``), with ``n``, ``n_selected``, ``rate`` and the columns above. They are
            nan for groups that ``is_excluded`` marks. It is empty if the report has no such rate.

        Raises
        ------
        ValueError
            If groups overlap or samples have different weights.

        Examples
        --------
        >>> from skfair.audit import FairnessReport
        >>> decisions = [1] * 48 + [0] * 72 + [1] * 60 + [0] * 40
        >>> sex = ["f"] * 120 + ["m"] * 100
        >>> report = FairnessReport.from_predictions(None, decisions, sensitive_features=sex)
        >>> table = report.adverse_impact().set_index("group")
        >>> print(f"{table.loc['f', 'impact_ratio']:.3f}", int(table.loc["f", "shortfall"]))
        0.667 24
        """
        if not self.counts_samples:
            raise ValueError(
                "Adverse impact is computed from counts of selections, so groups must not overlap "
                "or be modelled, and all samples must have the same weight. Leave out "
                "sample_weight, and pass columns of attributes as sensitive_features, with "
                'missing="exclude" if some are missing. impact_ratio in to_frame() has weighted '
                "ratios."
            )
        return adverse_impact(self.frame, self.n_samples, self.min_share)

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
        _check_summary(summary)
        return missing_fields(self)

    def to_html(
        self, path: str | PathLike[str] | None = None, *, summary: Literal["ll144"] | None = None
    ) -> str:
        """The report as one self-contained page: no network, no scripts.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write; None writes none.
        summary : {"ll144"}, default=None
            "ll144" makes the summary of a bias audit that New York City's Local Law 144 requires
            to be published (6 RCNY 5-301 and 5-303) instead of the report.

        Returns
        -------
        html : str
            The page.
        """
        return write_text(render_page(self.title, self._sections(summary)), path)

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
        if format not in ("markdown", "json"):
            raise ValueError(f'format must be "markdown" or "json"; got {format!r}.')
        sections = model_card_sections(self)
        if format == "json":
            return write_text(sections_to_json(self.title, sections), path)
        return write_text(render_markdown(self.title, sections, level=2), path)

    @classmethod
    def from_json(cls, text: str | PathLike[str]) -> Self:
        """The report that :meth:`to_json` wrote, with the same page and tables.

        Parameters
        ----------
        text : str or path-like
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
        fields = decode_report(text, (*cls._settings, *cls._results))
        if fields["subgroups"] is not None:
            fields["subgroups"] = SubgroupReport(**fields["subgroups"])
        return cls(**fields)

    def _sections(self, summary=None):
        """Sections of the report, or of a summary."""
        _check_summary(summary, None)
        return report_sections(self) if summary is None else summary_sections(self)

    def __repr__(self):
        return (
            f"<FairnessReport of {self.n_samples:,} samples by "
            f"{join_names(self.attributes)}: {self.kind}>"
        )


# Tools read the signature of __init__, not that of __new__, which explains mistakes.
_SIGNATURE = inspect.signature(FairnessReport.__init__)
FairnessReport.__signature__ = _SIGNATURE.replace(  # type: ignore[attr-defined]
    parameters=list(_SIGNATURE.parameters.values())[1:]
)


def _check_summary(summary, *others):
    """Raise for an unknown summary."""
    if summary not in ("ll144", *others):
        raise ValueError(f'summary must be "ll144"; got {summary!r}.')
