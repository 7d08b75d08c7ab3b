"""Audits: data that are loaded and checked once, and the questions that are asked about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

from numpy.typing import ArrayLike

from skfair._utils.api import Label
from skfair._utils.checks import argument_error, join_names, mute_warnings, refuse_clusters
from skfair._utils.parameters import CONFIDENCE_LEVEL
from skfair.audit._alternatives import Alternatives, find_alternatives
from skfair.audit._certify import certify_audit, protect_claim
from skfair.audit._changes import Changes, compare_audits
from skfair.audit._claims import Claim
from skfair.audit._data import AuditData
from skfair.audit._formats import render_fragment
from skfair.audit._front import write_headline
from skfair.audit._ledger import digest_with_salt
from skfair.audit._population import Population
from skfair.audit._report import FairnessReport, ReportSettings, report_audit
from skfair.audit._report_input import check_share
from skfair.audit._subgroups import SubgroupReport, search_audit
from skfair.audit._task_metrics import SCORING_RATE, find_positive_label, infer_task
from skfair.constraints import Constraint
from skfair.metrics._group_report import Metrics
from skfair.metrics._top_k import check_places


class Audit(AuditData):
    """Predictions and groups, checked once, about which any number of questions is asked.

    Made by :meth:`from_predictions` of arrays, :meth:`from_estimator` of a fitted model,
    :meth:`from_file` of a file of predictions, and :meth:`from_counts` of a table of counts, such
    as a database makes by ``GROUP BY``. Each row of a table of counts stands for as many samples as
    it says. The answers are those of the samples one by one, in time and memory that grow with the
    number of rows of the table.

    The task follows from the predictions: real numbers with a real target are a regression,
    anything else is a classification.

    Read more in the :ref:`guide <audit>`.

    Attributes
    ----------
    n_samples : int
        Number of samples of positive weight.
    min_group_size : int
        Samples that the rate of a group must count to be compared, in all answers: positives, for
        the true positive rate.

    See Also
    --------
    SensitiveFeatures : Groups that are not all known.

    Examples
    --------
    >>> from skfair.audit import Audit
    >>> decisions = [1, 0, 0, 1, 0] * 200 + [1, 1, 0, 0, 0] * 100 + [0, 0, 0, 1, 0] * 100
    >>> audit = Audit.from_predictions(
    ...     None, decisions, sensitive_features=["f"] * 1000 + ["m"] * 1000
    ... )
    >>> audit.report().gaps["gap"].round(2).tolist()
    [0.1]
    >>> audit.certify("demographic_parity", 0.2).verdict
    'shown'
    """

    def __init__(self, *args: Any, **fields: Any) -> None:
        if args or "samples" not in fields:
            raise TypeError(
                "Audit is made by Audit.from_predictions(y_true, y_pred, sensitive_features=...), "
                "Audit.from_estimator, Audit.from_file or Audit.from_counts."
            )
        super().__init__(**fields)

    def report(
        self,
        *,
        metrics: Metrics = (),
        reference: dict | None = None,
        confidence_level: float = CONFIDENCE_LEVEL,
        min_published: int | None = None,
        min_share: float = 0.02,
        subgroups: SubgroupReport | None = None,
        by_threshold: bool = False,
        title: str | None = None,
        salt: str | None = None,
        population: Population | None = None,
        tolerance: float | None = None,
    ) -> FairnessReport:
        """Rates, errors and gaps by groups, with intervals, on one page.

        Without a target it has what needs none: selection rates of decisions, or of each class, and
        means of numbers, such as premiums or scores.

        Parameters
        ----------
        metrics : list or dict, default=()
            Further metrics, as in :func:`skfair.metrics.group_report`: names, rates, metrics and
            functions; and "scoring_rate", the share of predictions above the median of all samples.
            Their gaps count among all gaps of the report. Rates of more than two classes
            are those of each class. Functions of single samples are not for counts.
        reference : dict, default=None
            Group that the others are compared with, by attribute, such as ``{"sex": "male"}``.
            By default it is the one with the highest selection rate or mean prediction among those
            that are known and not small. Intervals of comparisons with a named group hold one at a
            time, and are narrower.
        confidence_level : float, default=0.95
            Probability with which each interval of a group or gap holds, and with which all
            intervals of comparisons with groups chosen from the data hold together.
        min_published : int, default=None
            Smallest count that may be published. Groups with a count from 1 to one less are not
            shown, and as many others as keep their counts from being computed as the difference of
            those that are published; or no number counts the samples of groups that have fewer,
            where that keeps fewer samples back. Rates that count outcomes may leave out more groups
            than selection rates, whose counts are larger. Findings and status are about all groups,
            but gaps and ratios that compare a group which is not shown are not printed. Counts are
            those of samples, of samples that a metric is over, and of these with and without its
            event. Not for clusterings. The page states the number of groups that are not shown, and
            of their samples.
        min_share : float, default=0.02
            Share of all samples below which a group is left out of adverse impact.
        subgroups : SubgroupReport, default=None
            A section of the page, made by :meth:`subgroups`. Its departures are findings too.
        by_threshold : bool, default=False
            Also tabulate and draw rates and gaps at every score, or at 100 quantiles of the scores,
            where a score above the threshold is positive: selection, true and false positive rates.
            Limits hold for all thresholds, groups, metrics and attributes together ([1]_). The
            findings name the threshold of the smallest gap, which is a choice on these data. The
            table is ``thresholds``. Not with `min_published`, weights or clusters.
        title : str, default=None
            Heading of the page. None states the widest gap in outcomes: that of two groups which
            are not small, among significant gaps if there are any.
        salt : str, default=None
            Secret text with which the report states a digest of the samples, as in :meth:`certify`.
        population : dict, default=None
            Share of each group in a population, by attribute, such as ``{"sex": {"f": 0.51, "m":
            0.49}}``, or a Series of ``value_counts(normalize=True)``. The report then has the
            shares of the samples beside them (``shares``), with exact limits ([2]_). Samples of
            unknown group are left out where ``missing="exclude"``. Weighted or clustered samples,
            overlapping groups and estimated ones have no such shares.
        tolerance : float, default=None
            Largest difference allowed between a share and that of the population, as a fraction;
            None asks whether they differ at all. A share that differs by more is a finding.

        Returns
        -------
        report : FairnessReport

        Raises
        ------
        ValueError
            If groups are too many, a reference does not occur, or no group can be published; or
            thresholds are asked for without scores, or subgroups are no result of a search; or the
            shares of a population do not sum to 1, or lack a group of the samples.

        Warns
        -----
        UserWarning
            If weights are so uneven that intervals are too narrow.

        References
        ----------
        .. [1] P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality",
           Annals of Probability 18, 1990.
        .. [2] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits
           illustrated in the case of the binomial", Biometrika 26, 1934.

        Examples
        --------
        >>> from skfair.audit import Audit
        >>> hired, sex = ["yes", "no", "no", "no"] * 150, ["f"] * 270 + ["m"] * 330
        >>> audit = Audit.from_predictions(hired, None, sensitive_features=sex, pos_label="yes")
        >>> people = {"attribute 1": {"f": 0.51, "m": 0.49}}
        >>> report = audit.report(population=people, tolerance=0.05)
        >>> report.shares[["group", "estimate", "low", "high", "verdict"]].round(3).values.tolist()
        [['f', 0.45, 0.41, 0.491, 'open'], ['m', 0.55, 0.509, 0.59, 'open']]
        """
        audit = self
        if isinstance(metrics, list | tuple) and SCORING_RATE in metrics:
            audit = replace(self, has_scoring_rate=True)
            metrics = [one for one in metrics if one != SCORING_RATE]
        settings = ReportSettings(
            metrics=metrics,
            reference=reference,
            confidence_level=confidence_level,
            min_share=check_share(min_share),
            subgroups=subgroups,
            by_threshold=by_threshold,
            title=title,
            digest=digest_with_salt(self, salt),
            population=population,
            tolerance=tolerance,
        )
        report = report_audit(audit, settings, min_published)
        return replace(report, title=write_headline(report)) if title is None else report

    def certify(
        self,
        constraint: str | Constraint = "demographic_parity",
        tolerance: float | dict[Any, float] | None = None,
        *,
        confidence_level: float = CONFIDENCE_LEVEL,
        ledger: str | PathLike[str] | None = None,
        salt: str | None = None,
        min_published: int | None = None,
        population: Population | None = None,
    ) -> Claim:
        r"""Claim on held-out data that the gap in the population is within a tolerance.

        The gap is the largest of many differences, such as the statistical parity differences of
        all pairs of groups. The claim is shown if each of them is shown to be within the tolerance
        at the full confidence level: no correction for their number is needed ([1]_). Differences
        of rates of unweighted samples in disjoint groups are tested exactly: where Clopper and
        Pearson's limits do not decide, by Berger and Boos's test. Other limits are those of
        :func:`skfair.statistics.gap_interval`, and of ratios
        :func:`skfair.statistics.ratio_interval`, which hold for large samples. Where samples belong
        together (`groups`), limits of rates and of other values in a known range are Gaffke's of
        means of clusters, and of the differences within pairs (:ref:`audit_clusters`).

        Of models that break the tolerance at most one in twenty is shown to keep it at .95. The
        level is that of one claim, read once: of 24 monthly ones on the edge of the tolerance at
        least one is false in 71 % of cases. To look repeatedly use
        :class:`skfair.monitoring.GapMonitor`.

        Parameters
        ----------
        constraint : str or Constraint, default="demographic_parity"
            Name in :data:`skfair.constraints.CONSTRAINTS`, "calibration" (of probabilities), or an
            instance with its reference, aggregate and so on. Of decisions about more than two
            classes, each class is certified against the rest. Of a regressor, constraints on
            predictions can be certified
            ("mean_parity", "loss_parity", partial parity of ranks), but not those on classes or
            decisions, and of a table of counts only constraints on decisions. Mean losses are of
            the constraint's loss, as ``LossParity(loss="squared")`` (the squared error) or
            "absolute" of a regressor, or a callable (scores, target) -> Pointwise. Without one they
            are of the loss of an estimator of this package, and of the logistic loss of the
            decision function of other classifiers.
        tolerance : float or dict, default=None
            Largest gap allowed in the population; None takes that of the constraint, or its ratio,
            from which it must not differ. A dict has one for each attribute, whose groups are then
            compared with one another, as in ``{"sex": 0.03, "race": 0.05}``.
            For rates and shares a fraction: 0.05 are five percentage points. For "mean_parity" in
            units of the target (of a classifier, of its predicted probability, else of its decision
            function), for losses in units of the loss, for "partial_group_auc" in units of the
            area.
        confidence_level : float, default=0.95
            Probability with which a model that violates the tolerance is not shown to keep it, at
            least.
        ledger : str or path-like, default=None
            File that counts the claims tried on these samples: attempt t has the error of the
            level over t (t + 1). It names samples by a digest. Without `salt` small counts can be
            recovered from that, so such a ledger is as secret as the data. The first attempt with
            a salt puts it into all digests of the file, and all later attempts must pass it.
        salt : str, default=None
            Secret text of at least 16 characters, with which the claim states a digest of the
            samples, and the ledger files one. Its owner keeps it, and passes it to :func:`verify`.
        min_published : int, default=None
            Smallest count that may be published, as in :meth:`report`. The verdict is about all
            groups; a gap that compares one which is not published is not printed.
        population : dict, default=None
            Shares of groups in a population, as in :meth:`report`. The claim is then that no share
            of the samples differs from it by more than `tolerance`, by exact limits, and
            `constraint` is left out.

        Returns
        -------
        claim : Claim
            ``print`` shows it as sentences. It names the groups of which a rate counts fewer
            samples than `min_group_size`, such as positives, which are not compared.

        Raises
        ------
        ValueError
            If groups are missing, the tolerance or the confidence level is out of range, there is
            no tolerance or also a ratio, the constraint is not about what is predicted (the error
            names those that are), the loss of a regressor is not known, or predictions, groups or
            weights are invalid for the metric.
        TypeError
            If a model is neither a classifier nor a regressor.

        Warns
        -----
        UserWarning
            If groups are too small for any claim of rates, or their values too skewed for one of
            means (the message names them), or if weights are very uneven.

        References
        ----------
        .. [1] R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling",
           Technometrics 24, 1982.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skfair.audit import Audit
        >>> rng = np.random.default_rng(0)
        >>> X, group = rng.normal(size=(4000, 1)), rng.choice(["a", "b"], size=4000)
        >>> y = (X[:, 0] + rng.logistic(size=4000) > 0).astype(int)
        >>> model = LogisticRegression().fit(X[:1000], y[:1000])
        >>> held_out = {"sensitive_features": group[1000:], "X_fit": X[:1000]}
        >>> audit = Audit.from_estimator(model, X[1000:], y[1000:], **held_out)
        >>> audit.certify(tolerance=0.1).verdict
        'shown'
        """
        if population is not None and min_published is not None:
            raise argument_error(
                "population compares the numbers of samples of all groups, some of which "
                "min_published may not let be published. Leave one of the two out."
            )
        # Warnings state the numbers of samples of small groups.
        with nullcontext() if min_published is None else mute_warnings(UserWarning):
            claim = certify_audit(
                self, constraint, tolerance, confidence_level, ledger, salt, population
            )
        return claim if min_published is None else protect_claim(claim, self, min_published)

    def subgroups(
        self,
        metrics: str | Sequence[str] = "selection_rate",
        *,
        max_conditions: int = 2,
        direction: Literal["both", "above", "below"] = "both",
        confidence_level: float = CONFIDENCE_LEVEL,
        min_published: int | None = None,
    ) -> SubgroupReport:
        r"""Find the subgroups whose rates differ most from the rest, such as women below 30.

        Every search has a worst subgroup. This one says which departures are real and at least how
        large. A subgroup meets up to `max_conditions` conditions on different columns of the
        sensitive features. A condition is a label of a column of labels, or a range of the
        quartiles of a column of numbers. It depends on the columns, never on outcomes. All
        subgroups are searched that have `min_group_size` samples which the rate counts, and of
        which the rest has as many. The first sentence names the groups of single columns of which
        it counts fewer.

        The departure of a subgroup is its rate minus that of the rest of the samples. The limits of
        all departures hold together with the probability `confidence_level`, whichever subgroups
        are read afterwards. With :math:`M_d` subgroups of d conditions, and D numbers of
        conditions, each of two limits errs with the probability :math:`(1 - c) / (2 D M_d)` at
        most. They combine Clopper and Pearson's limits of both rates ([1]_, [2]_), which hold in
        far tails too.

        The short list of ten has the subgroup of the limit furthest from 0, then those of which
        half lies outside the subgroups listed before, and which depart from the rest there too.

        The metric "calibration_error" compares the share of positives of each subgroup with the
        mean of its own predicted probabilities, `y_score`, which are one more column of conditions
        (multicalibration, [3]_). All samples are a subgroup too, and there need be no rest. Limits
        are those of the share, given the probabilities of these samples: Clopper and Pearson's,
        narrowed by the part of the variance that the probabilities explain. A claim about
        calibration is about new samples, and its limits are wider.

        Means of numbers have the nearer of two limits, Clopper and Pearson's ([4]_) and one by the
        variance ([5]_), if all numbers of the population lie between the smallest and the largest
        of these samples.

        Decisions are between two classes, and samples independent. With
        ``SensitiveFeatures(columns, missing="group")`` being missing is a condition, and with
        "exclude" samples whose value is missing meet no condition on the column.

        Parameters
        ----------
        metrics : str or list of str, default="selection_rate"
            Rate that is compared: "selection_rate", "true_positive_rate", "false_positive_rate",
            "positive_predictive_value", "accuracy" or "base_rate"; or "calibration_error", which
            needs no decisions. Several share the error equally.
            Of prediction sets the coverage is compared, and of numbers "mean_prediction" (the
            default), or with outcomes "mean_error", "mean_absolute_error" or "mean_target".
        max_conditions : {1, 2, 3}, default=2
            Largest number of conditions of a subgroup.
        direction : {"both", "above", "below"}, default="both"
            Whether a subgroup's rate is sought that differs from the rest, is higher, or is lower.
        confidence_level : float, default=0.95
            Probability with which all limits hold together.
        min_published : int, default=None
            Smallest count that may be published. ``flagged`` has the listed subgroups alone,
            without those with which others of fewer samples, or of fewer samples of an outcome,
            could be computed as differences. Numbers of flagged subgroups are those of all.

        Returns
        -------
        report : SubgroupReport
            ``print`` shows its findings.

        Raises
        ------
        ValueError
            If an argument is out of its range, classes are more than two, the calibration is asked
            for without outcomes or probabilities, a column has more than 50
            labels, has missing values or equals the outcomes or decisions, samples have unequal
            weights, no subgroup is large enough, or there are more than 5,000,000 subgroups.

        Notes
        -----
        ``largest_possible`` is a statement of its own: no subgroup searched departs by more, with
        the probability `confidence_level`. Both statements are about the subgroups of one search.
        They do not cover a second search with other bins, columns or numbers of conditions.

        References
        ----------
        .. [1] R. G. Newcombe, "Interval estimation for the difference between independent
           proportions: comparison of eleven methods", Statistics in Medicine 17, 1998.
        .. [2] G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a
           general approach", Statistics in Medicine 27, 2008.
        .. [3] U. Hebert-Johnson, M. P. Kim, O. Reingold and G. N. Rothblum, "Multicalibration:
           calibration for the (computationally-identifiable) masses", ICML 2018.
        .. [4] V. Bentkus, "On Hoeffding's inequalities", Annals of Probability 32, 2004.
        .. [5] A. Maurer and M. Pontil, "Empirical Bernstein bounds and sample variance
           penalization", COLT 2009.

        Examples
        --------
        Young women are selected less often than all others:

        >>> import numpy as np
        >>> import pandas as pd
        >>> from skfair.audit import Audit
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"sex": rng.choice(["f", "m"], 4000)})
        >>> people["age"] = rng.integers(20, 60, size=4000)
        >>> is_young_woman = (people["sex"] == "f") & (people["age"] < 30)
        >>> selected = rng.random(4000) < np.where(is_young_woman, 0.2, 0.6)
        >>> report = Audit.from_predictions(None, selected, sensitive_features=people).subgroups()
        >>> report.subgroups["subgroup"].tolist(), bool(report.subgroups["high"].max() < -0.3)
        (['sex = f and age <= 29'], True)
        """
        return search_audit(
            self,
            metrics,
            max_conditions=max_conditions,
            direction=direction,
            confidence_level=confidence_level,
            min_published=min_published,
        )

    def compare(
        self,
        other: Audit | ArrayLike,
        *,
        metrics: Metrics = (),
        confidence_level: float = CONFIDENCE_LEVEL,
        ids: tuple[ArrayLike, ArrayLike] | None = None,
        min_published: int | None = None,
    ) -> Changes:
        r"""Rates and gaps beside those of another period, or of another model on the same samples.

        With :math:`D_t(i, j)` the difference of the rates of two groups at time t, the gap is
        :math:`\max D_t`. Its change is bounded by the change of the difference of those pairs that
        may attain the later gap. Limits of changes combine Wilson's or exact limits of the four
        rates ([1]_), with the correlation of the predictions if the samples are the same. Outcomes
        that are missing by decision (:class:`Outcomes`) are weighed by the decision that was made,
        for two models also by what both decide.

        Parameters
        ----------
        other : Audit or array-like of shape (n_samples,)
            An audit of different samples, such as those of a later period, with the same sensitive
            features; or the predictions of another model for the samples of this one.
        metrics : list or dict, default=()
            Further metrics, which must be rates, such as a mean cost
            (:class:`skfair.metrics.Rate`).
        confidence_level : float, default=0.95
            Probability with which each interval holds.
        ids : tuple of two array-likes, default=None
            Names of the samples of both audits, one for each row that was passed. Samples whose
            name occurs once in both are the same, where 7 and "7.0 " are one name. None takes all
            samples as different ones. If both audits have `groups`, limits count these instead, and
            equal groups of both are the same.
        min_published : int, default=None
            Smallest count that may be published, as in :meth:`report`, in each period and, where
            one may consist of the other and further samples, of these. Verdicts are about all
            groups. Numbers of changed decisions, and limits that depend on them, are not printed.
            It must be None for two models whose outcomes are weighed.

        Returns
        -------
        report : PageReport
            ``frame`` has the values of each group before and after, and ``gaps`` the gaps, with
            changes and limits; ``moves`` has the number of samples of each group that became
            positive or negative, for the same samples; ``findings`` are the main results.

        Raises
        ------
        ValueError
            If attributes or tasks differ, predictions of single samples are passed for a table of
            counts, ids do not name the samples of two audits or none is in both, or one of these
            has no groups.

        References
        ----------
        .. [1] R. G. Newcombe, "Improved confidence intervals for the difference between binomial
           proportions based on paired data", Statistics in Medicine 17, 1998.

        Examples
        --------
        >>> from skfair.audit import Audit
        >>> sex = ["f"] * 500 + ["m"] * 500
        >>> old = [1, 0, 0, 0, 0] * 100 + [1, 1, 0, 0, 0] * 100
        >>> new = [1, 1, 0, 0, 0] * 200
        >>> changes = Audit.from_predictions(None, old, sensitive_features=sex).compare(new)
        >>> changes.gaps[["before", "after", "change", "change_high"]].iloc[0].round(2).tolist()
        [0.2, 0.0, -0.2, -0.09]
        """
        return compare_audits(self, other, metrics, confidence_level, ids, min_published)

    def alternatives(
        self,
        candidates: dict[str, Any],
        constraint: str | Constraint = "demographic_parity",
        *,
        margin: float,
        performance: str | Callable = "accuracy",
        min_reduction: float = 0.0,
        order: str | None = None,
        reference: Mapping[str, Sequence[Label]] | None = None,
        confidence_level: float = CONFIDENCE_LEVEL,
        ledger: str | PathLike[str] | None = None,
        salt: str | None = None,
        min_published: int | None = None,
    ) -> Alternatives:
        r"""Which of several candidates are less discriminatory alternatives of this model.

        This audit is of the model in use, on held-out samples. A candidate is an alternative if, in
        the population, its gap :math:`g` is smaller, by `min_reduction` at least, and its
        performance :math:`p` is worse by `margin` at most:

        .. math:: g_0 - g \ge \text{min\_reduction}, \quad p_0 - p \le \text{margin}.

        It is shown if both are, each by a limit at the full level ([1]_), on the same samples, so
        that errors which both models share cancel. All candidates that are shown are alternatives
        with the confidence level: by Holm's procedure, or in a fixed order. Of two areas under ROC
        curves the limits combine logit limits of both by DeLong's covariance, of weights and
        clusters too. Limits of a difference of ratios combine those of their quotient, at 98 % of
        the error, and of the ratio in use.

        Parameters
        ----------
        candidates : dict
            Candidates by name: decisions of these samples, audits of the same samples, or, if this
            audit is :meth:`from_estimator`, fitted models. Also a DataFrame with a column for each,
            or a list.
        constraint : str or Constraint, default="demographic_parity"
            Criterion of the gap, on differences or ratios, as in :meth:`certify`. Of more than two
            classes without ``pos_label`` the largest gap of all classes counts.
        margin : float
            By how much the performance may be worse, in its own unit: .01 is a point of accuracy.
            It is a decision of the business, to be written down before the candidates are seen.
        performance : str, scorer or callable, default="accuracy"
            "accuracy", "roc_auc", "neg_log_loss" or "neg_brier_score" of
            classifiers, "neg_mean_squared_error" or "neg_mean_absolute_error" of regressors; a
            scorer that scikit-learn's ``make_scorer`` made of one of these or of a mean over
            samples; or a function of `y_true` and `y_pred`, of the samples whose outcome is known,
            that returns the gain of each decision, such as its profit. Larger is better.
        min_reduction : float, default=0.0
            By how much the gap must be smaller, at least. Of ratios, by how much the smallest one
            must be larger: .1 is from .70 to .80.
        order : {None, "given", "front"}, default=None
            What is known of the candidates without these samples. None: nothing; the error is
            divided among them by Holm's procedure. "given": they are passed from the most promising
            on, such as by cross-validation of the training samples, and each is tested at the full
            level up to the first that is not shown. "front": they are passed from the smallest
            expected gap to the best expected performance, as tolerances from tight to loose are;
            gaps are tested from the first on and performances from the last on, each with half of
            the error. Any order is valid if it is fixed without these samples; a good one shows
            more. From the least disparate on is a bad one for "given": the first candidates of a
            front cost most performance.
        reference : dict, default=None
            Two groups by their labels, the one with the larger rate first, such as ``{"race":
            ("white", "black")}``. The gap is then how far the rate of the first is above that of
            the second (a ratio is the second over the first), and nothing is said of others. Name
            them without these samples, such as the two that differ most among the training samples.
            None compares all groups: the error is divided among their pairs, which shows less. The
            answer says which of both was done.
        confidence_level : float, default=0.95
            Probability, over samples, with which all that are shown are alternatives.
        ledger : path-like, default=None
            File that counts attempts on these samples, as in :meth:`certify`.
        salt : str, default=None
            Secret text for the digests of the ledger, as in :meth:`certify`.
        min_published : int, default=None
            Smallest count that is published, as in :meth:`certify`. Verdicts are those of all
            samples. Numbers that compare groups are nan where one of them is not published, and
            limits of changes are where fewer decisions of a group changed.

        Returns
        -------
        report : Alternatives
            A table (``to_frame``), a sentence for each candidate (``findings``), a page
            (``to_html``), a picture (``plot``), and JSON that :func:`verify` recomputes.

        Raises
        ------
        ValueError
            If candidates are not of the same samples, have no decisions or scores that the
            performance needs, the performance is no mean over samples, or the constraint bounds the
            rate of each group (a floor or a ceiling); or the two groups of a reference do not
            occur.

        Warns
        -----
        UserWarning
            If differences of gains are so skewed that limits of their mean hold less often than
            stated.

        See Also
        --------
        skfair.model_selection.fit_ladder : Fits candidates of several tolerances.

        References
        ----------
        .. [1] R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling",
           Technometrics 24, 1982.

        Examples
        --------
        >>> import numpy as np
        >>> from skfair.audit import Audit
        >>> rng = np.random.default_rng(0)
        >>> sex = rng.choice(["f", "m"], size=4000)
        >>> merit = rng.normal(size=4000)
        >>> y = merit + rng.normal(size=4000) > 0
        >>> in_use = merit + 0.4 * (sex == "m") > 0.2
        >>> audit = Audit.from_predictions(y, in_use, sensitive_features=sex)
        >>> answer = audit.alternatives({"without sex": merit > 0}, margin=0.01)
        >>> answer.shown_names
        ['without sex']
        """
        return find_alternatives(
            self,
            candidates,
            constraint,
            performance,
            margin,
            min_reduction,
            order,
            confidence_level,
            reference,
            ledger,
            salt,
            min_published,
        )

    def top(self, k: float) -> Audit:
        """The audit of decisions that select the k highest scores.

        Parameters
        ----------
        k : int or float
            Number of places, or their share of all samples. Samples that tie at the cut share the
            places that are left.

        Returns
        -------
        audit : Audit
            For reports; its rates have limits given the number of places.

        Raises
        ------
        ValueError
            If there are no scores, or k is neither a number of places nor a share.
        """
        if "y_score" not in self.columns:
            raise ValueError("top selects the highest scores, so pass them as y_score or score.")
        refuse_clusters(self.clusters, "the k highest scores")
        check_places(k, self.n_samples)
        columns = {name: one for name, one in self.columns.items() if name != "y_pred"}
        made = self.columns.get("y_pred")
        if made is not None and ("has_outcome" in columns or (made == made[0]).all()):
            columns = {"decided": made} | columns  # it says whose outcome is known
        task = infer_task(None, columns)
        pos_label = find_positive_label(task, columns, self.pos_label)
        return replace(self, k=k, columns=columns, task=task, pos_label=pos_label)

    def _repr_html_(self) -> str:
        return render_fragment("Audit", [self.reading.section()], is_full=True)

    def __repr__(self) -> str:
        attributes = self.samples.groups.attributes or ["groups that overlap"]
        names = [name if isinstance(name, str) else "sensitive_features" for name in attributes]
        return (
            f"<Audit of {self.n_samples:,} samples by {join_names(dict.fromkeys(names))}: "
            f"{self.task}>"
        )
