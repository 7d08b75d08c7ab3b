"""Audits: data that are loaded and checked once, and the questions that are asked about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone

from skfair.audit._certify import certify_predictions
from skfair.audit._changes import ChangeReport
from skfair.audit._claims import Claim
from skfair.audit._estimators import find_positive_label, infer_kind
from skfair.audit._files import (
    check_complete_column,
    check_missing_marks,
    check_same_notation,
    file_digest,
    find_label,
    read_columns,
)
from skfair.audit._predictions import are_probabilities, predict_columns, resolve_constraint
from skfair.audit._report import FairnessReport
from skfair.audit._report_input import check_group_size, check_input, sums_suffice, warn_of_counts
from skfair.audit._subgroups import SubgroupReport, find_subgroups
from skfair.groups import Samples, merge_samples
from skfair.metrics import Measures, check_strata, to_numbers
from skfair.utils._api import Label, MatrixLike
from skfair.utils._checks import join_names

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skfair.constraints import Constraint


class Audit:
    """Predictions and groups, checked once, about which any number of questions is asked.

    Made by :meth:`from_predictions` of arrays, :meth:`from_estimator` of a fitted model,
    :meth:`from_file` of a file of predictions, and :meth:`from_counts` of a table of counts, such
    as a database makes by ``GROUP BY``. Each row of a table of counts stands for as many samples as
    it says. The answers are those of the samples one by one, in time and memory that grow with the
    number of rows of the table.

    The task follows from the predictions: real numbers with a real target are a regression,
    anything else is a classification.

    Parameters
    ----------
    samples : Samples
        Groups and weights.
    columns : dict of str to ndarray
        Predictions "y_pred", outcomes "y_true" and scores "y_score", as far as there are any.
    pos_label : label or None
        The class that means success.
    min_group_size : int
        Number of samples below which a group is left out of comparisons.
    source : dict of str to str, or None
        Facts about the data that reports state.
    control_features : DataFrame or None, default=None
        Strata.
    k : float or None, default=None
        Share or number of the highest scores that are decided for.

    Attributes
    ----------
    n_samples : int
        Number of samples of positive weight.
    min_group_size : int
        Number of samples below which a group is left out of comparisons, in all answers.

    See Also
    --------
    FairnessReport : The report, with parameters for groups that are not all known.

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

    def __init__(
        self,
        samples: Samples,
        columns: dict[str, np.ndarray],
        *,
        pos_label: Label | None,
        min_group_size: int,
        source: dict[str, str] | None,
        control_features: Any = None,
        k: float | None = None,
    ):
        check_group_size(min_group_size)
        self._samples, self._columns, self._k = samples, columns, k
        self.min_group_size, self._source = min_group_size, source
        self._strata = control_features
        kind = None if "y_pred" in columns else "classification"
        self._kind = infer_kind(kind, columns)
        self._pos_label = find_positive_label(self._kind, columns, pos_label)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike | None,
        *,
        sensitive_features: MatrixLike,
        y_score: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        control_features: MatrixLike | None = None,
        pos_label: Label | None = None,
        min_group_size: int = 30,
        source: dict[str, str] | None = None,
    ) -> Self:
        """Audit of the predictions of any model.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True classes or values; None if outcomes are not known.
        y_pred : array-like of shape (n_samples,) or None
            Predicted classes or values; None if decisions are made of scores, see :meth:`top`.
        sensitive_features : array-like or sparse matrix
            Group of each sample, one column per attribute; a DataFrame names them. A sparse matrix
            of booleans is one of overlapping groups.
        y_score : array-like of shape (n_samples,), default=None
            Scores of the positive class. They count as probabilities, and have a calibration, if
            all are in [0, 1].
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sampling weights. Numbers of samples are no weights: pass these to
            :meth:`from_counts`.
        control_features : array-like of shape (n_samples,) or (n_samples, n_features), default=None
            Stratum of each sample, within which reports compare groups too.
        pos_label : label, default=None
            The class that means success; None takes 1 if the labels are 0 and 1, -1 and 1 or
            booleans.
        min_group_size : int, default=30
            Number of samples below which a group is left out of comparisons.
        source : dict of str to str, default=None
            Facts about the data that reports state, as ``provenance`` of :class:`FairnessReport`.

        Returns
        -------
        audit : Audit

        Raises
        ------
        ValueError
            If inputs differ in length or in their pandas index, or hold missing values, or there
            are neither predictions nor scores.

        Warns
        -----
        UserWarning
            If weights look like numbers of samples.
        """
        columns = {"y_pred": y_pred, "y_true": y_true, "y_score": y_score}
        if y_pred is None and y_score is None:
            raise ValueError(
                "y_pred must hold predictions, one per sample, but None was passed. Pass them, or "
                "y_score, of which Audit.top(k) selects the highest."
            )
        if control_features is not None:
            strata = check_strata(control_features, y_score if y_pred is None else y_pred)
            columns["stratum"] = strata.codes
        samples, columns = check_input(columns, sensitive_features, sample_weight, "error", [])
        if control_features is not None:
            # Samples of zero weight are left out of the strata as well.
            control_features = strata.regroup(columns.pop("stratum"), strata.labels).rename(
                strata.attributes
            )
        warn_of_counts(samples, columns)
        return cls(
            samples,
            columns,
            pos_label=pos_label,
            min_group_size=min_group_size,
            source=source,
            control_features=control_features,
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike,
        sample_weight: ArrayLike | None = None,
        control_features: MatrixLike | None = None,
        pos_label: Label | None = None,
        min_group_size: int = 30,
        source: dict[str, str] | None = None,
    ) -> Self:
        """Audit of a fitted classifier or regressor on held-out data.

        Parameters
        ----------
        estimator : estimator
            Fitted classifier or regressor of any package.
        X : array-like of shape (n_samples, n_features)
            Held-out data.
        y : array-like of shape (n_samples,), default=None
            True classes or values; None if they are not known.
        sensitive_features, sample_weight, control_features, pos_label, min_group_size, source
            As in :meth:`from_predictions`.

        Returns
        -------
        audit : Audit

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            As for :meth:`from_predictions`, and for a clusterer.
        """
        kind, y_pred, pos_label, scores = predict_columns(
            estimator, X, y, sensitive_features, pos_label
        )
        if kind == "clustering":
            raise ValueError(
                f"An audit is of a classifier or a regressor, but {type(estimator).__name__} is "
                "neither. Pass a clustering to FairnessReport.from_estimator."
            )
        return cls.from_predictions(
            y,
            y_pred,
            sensitive_features=sensitive_features,
            y_score=next(iter(scores.values()), None),
            sample_weight=sample_weight,
            control_features=control_features,
            pos_label=pos_label,
            min_group_size=min_group_size,
            source=source,
        )

    @classmethod
    def from_counts(
        cls,
        table: pd.DataFrame,
        *,
        n: str,
        sensitive_features: str | Sequence[str],
        outcome: str | None = None,
        decision: str | None = None,
        score: str | None = None,
        control_features: str | Sequence[str] | None = None,
        pos_label: Label | None = None,
        min_group_size: int = 30,
        source: dict[str, str] | None = None,
    ) -> Self:
        """Audit of a table of counts, such as ``SELECT ..., COUNT(*) AS n ... GROUP BY ...``.

        Parameters
        ----------
        table : DataFrame
            One row for each combination of values, or a mapping of names to columns. A combination
            may have several rows.
        n : str
            Column of the number of samples that a row stands for: whole numbers. Rows of none are
            left out.
        sensitive_features : str or list of str
            Columns of the protected attributes.
        outcome : str, default=None
            Column of the true classes; None if outcomes are not known.
        decision : str, default=None
            Column of the decisions or predicted classes; None if :meth:`top` makes them of scores.
        score : str, default=None
            Column of scores. Scores that are rounded, as to thousandths, make a table smaller.
        control_features : str or list of str, default=None
            Columns of the strata within which reports compare groups too.
        pos_label, min_group_size, source
            As in :meth:`from_predictions`.

        Returns
        -------
        audit : Audit

        Raises
        ------
        ValueError
            If the table lacks a column, counts are negative or no whole numbers, predictions are no
            classes, or values are missing.

        Examples
        --------
        >>> import pandas as pd
        >>> from skfair.audit import Audit
        >>> table = pd.DataFrame(
        ...     {
        ...         "sex": ["f", "f", "m", "m"],
        ...         "hired": [False, True, False, True],
        ...         "n": [60_000_000, 40_000_000, 55_000_000, 45_000_000],
        ...     }
        ... )
        >>> audit = Audit.from_counts(table, n="n", sensitive_features="sex", decision="hired")
        >>> audit
        <Audit of 200,000,000 samples by sex: classification>
        >>> audit.report().gaps[["gap", "gap_low", "gap_high"]].round(4).to_numpy().tolist()
        [[0.05, 0.0499, 0.0501]]
        """
        table = pd.DataFrame(table)
        sensitive_features, control_features = map(_as_list, (sensitive_features, control_features))
        roles = [name for name in (n, outcome, decision, score) if name is not None]
        _check_columns(table, [*roles, *sensitive_features, *control_features])
        counts = check_counts(table[n], n)
        table = table[counts > 0.0].reset_index(drop=True)
        if not len(table):
            raise ValueError(f"The column {n!r} of counts must count samples, but all are 0.")
        audit = cls.from_predictions(
            None if outcome is None else table[outcome],
            None if decision is None else table[decision],
            sensitive_features=table[sensitive_features],
            y_score=None if score is None else table[score],
            control_features=table[control_features] if control_features else None,
            pos_label=pos_label,
            min_group_size=min_group_size,
            source=source,
        )
        if audit._kind != "classification":
            raise ValueError(
                f"Counts are of classes, but the column {decision!r} holds numbers with decimals. "
                "Pass predicted values one by one, to Audit.from_predictions."
            )
        counts = counts[counts > 0.0]
        groups = audit._samples.groups.copy_with_multiplicity(counts)
        audit._samples = audit._samples._replace(groups=groups, weights=counts)
        return audit

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        *,
        sensitive_features: str | Sequence[str],
        outcome: str | None = None,
        decision: str | None = None,
        score: str | None = None,
        n: str | None = None,
        sample_weight: str | None = None,
        control_features: str | Sequence[str] | None = None,
        pos_label: Label | None = None,
        min_group_size: int = 30,
        source: dict[str, str] | None = None,
    ) -> Self:
        """Audit of a file of predictions, or of counts of them: CSV or Parquet.

        Parameters
        ----------
        path : str or path-like
            File, or a folder of Parquet files. Reports state its name and SHA-256 digest.
        sensitive_features, outcome, decision, score, control_features
            Names of columns, as in :meth:`from_counts`. Groups are text.
        n : str, default=None
            Column of the number of samples that a row stands for; None: a row is a sample.
        sample_weight : str, default=None
            Column of sampling weights, where rows are samples.
        pos_label : label, default=None
            The class that means success, as it is written in the file.
        min_group_size, source
            As in :meth:`from_predictions`.

        Returns
        -------
        audit : Audit

        Raises
        ------
        FileNotFoundError, ValueError
            If the file cannot be read, lacks a column, or holds missing values.
        """
        path = Path(path)
        sensitive_features, control_features = map(_as_list, (sensitive_features, control_features))
        roles = {"outcome": outcome, "decision": decision, "score": score}
        roles |= {"weight": sample_weight, "number": n}
        named = {role: name for role, name in roles.items() if name is not None}
        if n is not None and sample_weight is not None:
            raise ValueError(
                "n counts samples of equal weight, but sample_weight was passed too; pass one row "
                "for each sample, or leave one of them out."
            )
        names = dict.fromkeys([*named.values(), *sensitive_features, *control_features])
        table = read_columns(path, list(names))
        columns = {role: check_complete_column(table, name) for role, name in named.items()}
        classes = [columns.get(role) for role in ("outcome", "decision")]
        check_missing_marks(*classes)
        if classes[1] is not None:
            check_same_notation(*classes)
        if pos_label is not None:
            pos_label = find_label(pos_label, next(one for one in classes if one is not None))
        groups = table[sensitive_features].astype(object)
        table[sensitive_features] = groups.map(str).where(groups.notna(), None)
        for role, name in named.items():
            table[name] = columns[role]
        described = [f"{role} {name}" for role, name in named.items()]
        described.append(f"sensitive {', '.join(sensitive_features)}")
        facts = {"file": path.name, "columns": "; ".join(described)}
        # Small counts could be guessed from the digest of a table of counts.
        facts |= {"sha256": file_digest(path)} if n is None else {}
        settings: dict[str, Any] = {"pos_label": pos_label, "min_group_size": min_group_size}
        settings["source"] = facts | {"rows": f"{len(table):,}"} | (source or {})
        if n is not None:
            return cls.from_counts(
                table,
                n=n,
                sensitive_features=sensitive_features,
                outcome=outcome,
                decision=decision,
                score=score,
                control_features=control_features or None,
                **settings,
            )
        y_true, y_pred, y_score, weights, _ = map(columns.get, roles)
        return cls.from_predictions(
            y_true,
            y_pred,
            sensitive_features=table[sensitive_features],
            y_score=y_score,
            sample_weight=weights,
            control_features=table[control_features] if control_features else None,
            **settings,
        )

    @property
    def n_samples(self) -> int:
        """Number of samples of positive weight."""
        return self._samples.groups.n_samples

    @cached_property
    def _distinct_rows(self):
        """Samples and columns with one row for all that are equal in all of them."""
        columns = dict(self._columns)
        if self._strata is not None:
            columns["stratum"] = self._strata.codes
        samples, columns = merge_samples(self._samples, columns)
        strata = self._strata
        if strata is not None:
            strata = strata.regroup(columns.pop("stratum"), strata.labels).rename(strata.attributes)
        return samples, columns, strata

    def _data(self, metrics=()):
        """Samples, columns and strata: of rows that count, where sums are all that is needed."""
        if sums_suffice(self._kind, self._columns, "error", metrics):
            return self._distinct_rows
        return self._samples, self._columns, self._strata

    def report(
        self,
        *,
        metrics: Measures = (),
        reference: dict | None = None,
        confidence_level: float = 0.95,
        min_published: int | None = None,
    ) -> FairnessReport:
        """Rates, errors and gaps by groups, with intervals, on one page.

        Parameters
        ----------
        metrics : list or dict, default=()
            Further metrics: names, rates, measures and functions. Functions of single samples are
            not for counts.
        reference : dict, default=None
            Group that the others are compared with, by attribute, such as ``{"sex": "male"}``.
        confidence_level : float, default=0.95
            Probability with which each interval holds.
        min_published : int, default=None
            Smallest count that may be published.

        Returns
        -------
        report : FairnessReport

        Raises
        ------
        ValueError
            As for :meth:`FairnessReport.from_predictions`.
        """
        samples, columns, strata = self._data(metrics)
        columns = dict(columns)
        scores = columns.pop("y_score", None)
        if scores is not None:
            is_share = self._k is None and are_probabilities(to_numbers(scores, "y_score"))
            columns["y_proba" if is_share else "y_score"] = scores
        if "y_pred" not in columns and self._k is None:
            raise ValueError(
                "There are scores, but no decisions to report. Ask Audit.top(k) for decisions "
                "about the k highest scores, or pass y_pred."
            )
        return FairnessReport.from_predictions(
            columns.pop("y_true", None),
            columns.pop("y_pred", None),
            sensitive_features=samples.groups,
            sample_weight=samples.weights,
            k=self._k,
            kind=self._kind,
            pos_label=self._pos_label,
            reference=reference,
            measures=metrics,
            control_features=strata,
            confidence_level=confidence_level,
            min_group_size=self.min_group_size,
            provenance=self._source,
            min_published=min_published,
            **columns,
        )

    def certify(
        self,
        constraint: str | Constraint = "demographic_parity",
        tolerance: float | None = None,
        *,
        confidence_level: float = 0.95,
        loss: str | Callable | None = None,
        ledger: str | PathLike[str] | None = None,
    ) -> Claim:
        """Claim that the gap in the population is within a tolerance, as of :func:`certify`.

        Groups below `min_group_size` are not compared, and the claim names them.

        Parameters
        ----------
        constraint : str or Constraint, default="demographic_parity"
            Name in :data:`skfair.constraints.CONSTRAINTS`, or an instance. Of a table of counts
            only constraints on decisions can be certified.
        tolerance : float, default=None
            Largest gap allowed; None takes that of the constraint, or its ratio.
        confidence_level : float, default=0.95
            Probability with which a model that violates the tolerance is not certified, at least.
        loss : str, callable or None, default=None
            Loss that constraints on mean losses compare, as in :func:`certify`.
        ledger : str or path-like, default=None
            File that counts the certificates tried on these samples, as in :func:`certify`.

        Returns
        -------
        claim : Claim

        Raises
        ------
        ValueError
            As for :func:`certify`.
        """
        resolved = resolve_constraint(constraint)
        if resolved.get_params(deep=False).get("min_group_size", 0) is None:
            resolved = clone(resolved).set_params(min_group_size=self.min_group_size)
        compares_scores = not resolved.counts_decisions and self._kind == "classification"
        rows = self._samples, self._columns
        samples, columns = rows if compares_scores else self._data()[:2]
        name = "y_score" if compares_scores and "y_score" in columns else "y_pred"
        return certify_predictions(
            columns.get("y_true"),
            self._find_decisions(columns) if name == "y_pred" else columns[name],
            sensitive_features=samples.groups,
            sample_weight=samples.weights,
            constraint=resolved,
            tolerance=tolerance,
            confidence_level=confidence_level,
            pos_label=self._pos_label,
            kind=self._kind,
            loss=loss,
            ledger=ledger,
            source=self._source,
        )

    def subgroups(
        self,
        metrics: str | Sequence[str] = "selection_rate",
        *,
        max_conditions: int = 2,
        direction: Literal["both", "above", "below"] = "both",
        confidence_level: float = 0.95,
        min_share: float = 0.01,
        n_bins: int = 4,
    ) -> SubgroupReport:
        """Subgroups of the sensitive features whose rates depart most, as :func:`find_subgroups`.

        Parameters
        ----------
        metrics : str or list of str, default="selection_rate"
            Rates that are compared, as ``measure`` of :func:`find_subgroups`.
        max_conditions, direction, confidence_level, min_share, n_bins
            As in :func:`find_subgroups`.

        Returns
        -------
        report : SubgroupReport

        Raises
        ------
        ValueError
            As for :func:`find_subgroups`, and if samples have unequal weights.
        """
        samples, columns, _ = self._data()
        if not samples.is_equally_weighted:
            raise ValueError(
                "A search of subgroups counts samples of equal weight, but these have "
                "sample_weight; leave it out."
            )
        return find_subgroups(
            columns.get("y_true"),
            self._find_decisions(columns),
            sensitive_features=samples.groups,
            measure=metrics,
            max_conditions=max_conditions,
            direction=direction,
            confidence_level=confidence_level,
            min_group_size=self.min_group_size,
            min_share=min_share,
            n_bins=n_bins,
            pos_label=self._pos_label,
        )

    def compare(self, other: Audit | ArrayLike, *, confidence_level: float = 0.95) -> ChangeReport:
        """Rates and gaps beside those of another period, or of another model on the same samples.

        Parameters
        ----------
        other : Audit or array-like of shape (n_samples,)
            An audit of different samples, such as those of a later period, with the same sensitive
            features; or the predictions of another model for the samples of this one.
        confidence_level : float, default=0.95
            Probability with which each interval holds.

        Returns
        -------
        report : ChangeReport

        Raises
        ------
        ValueError
            If attributes or tasks differ, or predictions of single samples are passed for a table
            of counts.
        """
        settings: dict[str, Any] = {"kind": self._kind, "pos_label": self._pos_label}
        settings |= {"confidence_level": confidence_level, "min_group_size": self.min_group_size}
        if isinstance(other, Audit):
            return ChangeReport.from_periods(self._period(), other._period(), **settings)
        groups, weights = self._samples.groups, self._samples.weights
        if groups.multiplicity is not None:
            raise ValueError(
                "Predictions of another model are compared sample by sample, but this is an audit "
                "of counts. Pass the Audit of the other counts, or audit the samples one by one."
            )
        return ChangeReport.from_predictions(
            self._columns.get("y_true"),
            self._find_decisions(self._columns),
            other,
            sensitive_features=groups,
            sample_weight=weights,
            **settings,
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
            If there are no scores.
        """
        if "y_score" not in self._columns:
            raise ValueError("top selects the highest scores, so pass them as y_score or score.")
        return Audit(
            self._samples,
            {name: column for name, column in self._columns.items() if name != "y_pred"},
            pos_label=self._pos_label,
            min_group_size=self.min_group_size,
            source=self._source,
            control_features=self._strata,
            k=k,
        )

    def _period(self):
        """The data of this audit as those of a period."""
        samples, columns, _ = self._data()
        period = {"y_pred": self._find_decisions(columns), "sensitive_features": samples.groups}
        period |= {name: columns[name] for name in ("y_true",) if name in columns}
        return period | {"sample_weight": samples.weights}

    def _find_decisions(self, columns):
        """Decisions or predicted values; a ValueError where there are scores alone."""
        if "y_pred" not in columns:
            raise ValueError(
                "The k highest scores have reports alone, since limits given k are those of rates "
                "in a report. Pass decisions as y_pred, such as scores above a threshold."
            )
        return columns["y_pred"]

    def __repr__(self) -> str:
        attributes = self._samples.groups.attributes or ["groups that overlap"]
        names = [name if isinstance(name, str) else "sensitive_features" for name in attributes]
        return (
            f"<Audit of {self.n_samples:,} samples by {join_names(dict.fromkeys(names))}: "
            f"{self._kind}>"
        )


def _as_list(names):
    """One name of a column, several or none, as a list."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


def _check_columns(table, names):
    """Raise for columns that a table of counts does not have, or has twice."""
    known = list(table.columns)
    if wrong := [name for name in names if known.count(name) != 1]:
        raise ValueError(
            f"The table has no column {wrong[0]!r}, or has it twice; its columns are "
            f"{join_names(map(repr, known), 20)}."
        )


def check_counts(column, name):
    """Counts of samples as numbers; a ValueError unless they are whole and not negative."""
    counts = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    is_count = np.isfinite(counts) & (counts >= 0.0) & (counts == np.floor(counts))
    if not is_count.all():
        wrong = column.tolist()[int((~is_count).argmax())]
        raise ValueError(
            f"The column {name!r} must hold numbers of samples, which are whole and not negative, "
            f"but it holds {wrong!r}. Sampling weights are sample_weight of "
            "Audit.from_predictions."
        )
    return counts
