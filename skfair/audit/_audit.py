"""Audits: data that are loaded and checked once, and the questions that are asked about them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from os import PathLike
from typing import TYPE_CHECKING, Literal

from numpy.typing import ArrayLike

from skfair.audit._bins import N_BINS
from skfair.audit._certify import certify_audit
from skfair.audit._changes import Changes, compare_audits
from skfair.audit._claims import Claim
from skfair.audit._data import AuditData
from skfair.audit._estimators import find_positive_label, infer_task
from skfair.audit._ledger import digest_with_salt
from skfair.audit._report import FairnessReport, report_audit
from skfair.audit._report_input import check_share
from skfair.audit._subgroups import SubgroupReport, search_audit
from skfair.metrics._group_report import Metrics
from skfair.utils._checks import join_names

if TYPE_CHECKING:
    from skfair.constraints import Constraint


class Audit(AuditData):
    """Predictions and groups, checked once, about which any number of questions is asked.

    Made by :meth:`from_predictions` of arrays, :meth:`from_estimator` of a fitted model,
    :meth:`from_file` of a file of predictions, and :meth:`from_counts` of a table of counts, such
    as a database makes by ``GROUP BY``. Each row of a table of counts stands for as many samples as
    it says. The answers are those of the samples one by one, in time and memory that grow with the
    number of rows of the table.

    The task follows from the predictions: real numbers with a real target are a regression,
    anything else is a classification.

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

    def report(
        self,
        *,
        metrics: Metrics = (),
        reference: dict | None = None,
        confidence_level: float = 0.95,
        min_published: int | None = None,
        min_share: float = 0.02,
        subgroups: SubgroupReport | None = None,
        title: str = "Fairness report",
        salt: str | None = None,
    ) -> FairnessReport:
        """Rates, errors and gaps by groups, with intervals, on one page.

        Parameters
        ----------
        metrics : list or dict, default=()
            Further metrics: names, rates, metrics and functions. Functions of single samples are
            not for counts.
        reference : dict, default=None
            Group that the others are compared with, by attribute, such as ``{"sex": "male"}``.
        confidence_level : float, default=0.95
            Probability with which each interval holds.
        min_published : int, default=None
            Smallest count that may be published. Groups with a count from 1 to one less are left
            out of everything, and as many others as keep their counts from being computed as the
            difference of those that are published. Counts are those of samples, of samples that a
            metric is over, and of these with and without its event. Not for clusterings. The page
            states the number of groups that were left out.
        min_share : float, default=0.02
            Share of all samples below which a group is left out of adverse impact.
        subgroups : SubgroupReport, default=None
            A section of the page, made by :meth:`subgroups`. Its departures are findings too.
        title : str, default="Fairness report"
            Heading of the page.
        salt : str, default=None
            Secret text with which the report states a digest of the samples, as in :meth:`certify`.

        Returns
        -------
        report : FairnessReport

        Raises
        ------
        ValueError
            As for :meth:`FairnessReport.from_predictions`, and if no group can be published.
        """
        settings = min_published, check_share(min_share), subgroups, title
        digest = digest_with_salt(self, salt)
        return report_audit(self, metrics, reference, confidence_level, *settings, digest)

    def certify(
        self,
        constraint: str | Constraint = "demographic_parity",
        tolerance: float | None = None,
        *,
        confidence_level: float = 0.95,
        ledger: str | PathLike[str] | None = None,
        salt: str | None = None,
    ) -> Claim:
        """Claim that the gap in the population is within a tolerance, as of :func:`certify`.

        Rates that count fewer samples than `min_group_size` are not compared, and the claim names
        their groups.

        Parameters
        ----------
        constraint : str or Constraint, default="demographic_parity"
            Name in :data:`skfair.constraints.CONSTRAINTS`, or an instance. Of a table of counts
            only constraints on decisions can be certified.
        tolerance : float, default=None
            Largest gap allowed; None takes that of the constraint, or its ratio.
        confidence_level : float, default=0.95
            Probability with which a model that violates the tolerance is not certified, at least.
        ledger : str or path-like, default=None
            File that counts the claims tried on these samples: attempt t has the error of the
            level over t (t + 1).
        salt : str, default=None
            Secret text with which the claim states a digest of the samples. Its owner keeps it, and
            passes it to :func:`verify`.

        Returns
        -------
        claim : Claim

        Raises
        ------
        ValueError
            As for :func:`certify`.
        """
        return certify_audit(self, constraint, tolerance, confidence_level, ledger, salt)

    def subgroups(
        self,
        metrics: str | Sequence[str] = "selection_rate",
        *,
        max_conditions: int = 2,
        direction: Literal["both", "above", "below"] = "both",
        confidence_level: float = 0.95,
        n_bins: int = N_BINS,
        max_listed: int = 10,
    ) -> SubgroupReport:
        """Subgroups of the sensitive features whose rates depart most, as :func:`find_subgroups`.

        Parameters
        ----------
        metrics, max_conditions, direction, confidence_level, n_bins, max_listed
            As in :func:`find_subgroups`.

        Returns
        -------
        report : SubgroupReport

        Raises
        ------
        ValueError
            As for :func:`find_subgroups`, and if samples have unequal weights.
        """
        settings = max_conditions, direction, confidence_level, n_bins, max_listed
        return search_audit(self, metrics, *settings)

    def compare(
        self, other: Audit | ArrayLike, *, metrics: Metrics = (), confidence_level: float = 0.95
    ) -> Changes:
        r"""Rates and gaps beside those of another period, or of another model on the same samples.

        With :math:`D_t(i, j)` the difference of the rates of two groups at time t, the gap is
        :math:`\max D_t`. Its change is bounded by the change of the difference of those pairs that
        may attain the later gap. Limits of changes combine Wilson's or exact limits of the four
        rates ([1]_), with the correlation of the predictions if the samples are the same.

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

        Returns
        -------
        report : PageReport
            ``frame`` has the values of each group before and after, and ``gaps`` the gaps, with
            changes and limits; ``moves`` has the number of samples of each group that became
            positive or negative, for the same samples; ``findings`` are the main results.

        Raises
        ------
        ValueError
            If attributes or tasks differ, or predictions of single samples are passed for a table
            of counts.

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
        >>> changes.gaps[["before", "after", "change"]].iloc[0].round(2).tolist()
        [0.2, 0.0, -0.2]
        >>> bool(changes.gaps["change_high"].item() < 0.0)
        True
        """
        return compare_audits(self, other, metrics, confidence_level)

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
            If there are no scores.
        """
        if "y_score" not in self.columns:
            raise ValueError("top selects the highest scores, so pass them as y_score or score.")
        selected = copy(self)
        selected.k = k
        selected.columns = {name: one for name, one in self.columns.items() if name != "y_pred"}
        selected.task = infer_task(None, selected.columns)
        selected.pos_label = find_positive_label(selected.task, selected.columns, self.pos_label)
        return selected

    def __repr__(self) -> str:
        attributes = self.samples.groups.attributes or ["groups that overlap"]
        names = [name if isinstance(name, str) else "sensitive_features" for name in attributes]
        return (
            f"<Audit of {self.n_samples:,} samples by {join_names(dict.fromkeys(names))}: "
            f"{self.task}>"
        )
