"""Data of an audit, loaded and checked once for all questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skfair._columns.files import check_columns, file_digest, read_columns
from skfair._columns.reading import (
    UNREAD,
    Reading,
    check_counts,
    check_marks_among_numbers,
    check_numbers_of_file,
    check_optional_column,
    check_same_notation,
    find_label,
    holds_numbers,
    parse_column,
    place_outcomes,
    read_as,
    read_outcomes,
    write_labels,
)
from skfair._groups import Groups, Samples
from skfair._groups.groups import attribute_columns, normalize_label
from skfair._groups.ids import check_clusters
from skfair._groups.known import MISSING, check_group_probabilities, fill_missing
from skfair._groups.samples import check_metric_input, cover_truth, merge_samples
from skfair._partitions.collections import check_alignment, is_default, is_lazy, is_partitioned
from skfair._utils.api import Label, MatrixLike
from skfair._utils.checks import (
    argument_error,
    check_flag,
    check_in_memory,
    check_path,
    check_shared_classes,
    mute_warnings,
    refuse_clusters,
)
from skfair._utils.copies import refuse_training_data, warn_of_training_rows
from skfair._utils.parameters import MIN_AUDITED_GROUP
from skfair._utils.sklearn import safe_indexing, transform_before_last_step
from skfair._utils.tables import Table, TableLike, is_pandas, to_pandas_table
from skfair.audit._bins import (
    Bins,
    bin_groups,
    find_group_bins,
    read_bins,
    warn_of_integers,
)
from skfair.audit._known_outcomes import KnownOutcomes, find_known_outcomes
from skfair.audit._outcomes import (
    MissingOutcomes,
    Outcomes,
    as_outcomes,
    list_columns,
    list_names,
    replace_columns,
)
from skfair.audit._partitioned import are_counted, count_predictions
from skfair.audit._predictions import check_fitted_model, predict_columns
from skfair.audit._report_input import check_group_size, sums_suffice, warn_of_counts
from skfair.audit._sensitive_features import SensitiveFeatures, as_sensitive_features
from skfair.audit._tables import attribute_name, group_text
from skfair.audit._task_metrics import find_positive_label, infer_task
from skfair.metrics._group_metrics import to_numbers
from skfair.metrics._group_report import Metrics, check_strata
from skfair.metrics._scoring import find_positive_class
from skfair.metrics._top_k import select_top

if TYPE_CHECKING:
    from collections.abc import Iterator


_FILE_ROLES = (
    *("y_true", "y_pred", "y_score", "sample_weight", "counts"),
    *("sensitive_features", "control_features", "groups"),
)
"""What columns of a file may hold."""

TaskName = Literal["classification", "regression", "clustering"]
"""What predictions are."""

_OF_OUTCOMES = ("y_true", "has_outcome", "decided", "period")
"""Columns of outcomes, and of what says which of them are known."""


class EstimatorAndData(NamedTuple):
    """A fitted estimator and the samples that it predicts."""

    estimator: BaseEstimator
    X: Any
    y: Any
    sensitive_features: Any


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AuditData:
    """Predictions and groups, checked once; the base of `Audit`, which asks the questions.

    ``samples`` are groups and weights, ``columns`` predictions "y_pred", outcomes "y_true" and
    scores "y_score", as far as there are any, and ``known`` is what is known of groups. Where some
    outcomes are unknown, the column "has_outcome" is the mask of the others. Rows of zero weight
    are left out: ``is_used`` is the mask of the others among all rows passed.
    ``k`` is the share or number of the highest scores that are decided for, and ``model`` the
    `EstimatorAndData` of the predictions. ``burden`` labels a decision that is bad for people, None
    if it is good. ``unbinned`` are the groups before numbers are divided
    into ``bins``, and ``described`` is what was read, or a function that returns it. ``ids`` name
    the samples, if there are any, and ``clusters`` has the label of what each sample belongs to,
    None if all are independent. ``cluster_labels`` has it even then, for pairs with another audit.
    ``has_scoring_rate`` is whether reports have the share of predictions above the median of all.
    ``index`` is the pandas index of the columns that were passed, None if it is the default one.
    ``missing_outcomes`` is what the user says of outcomes that are missing, or None. Where some
    are, the column "decided" has the decision that was made, if it is another than "y_pred", and
    "period" the month of each sample, if there are dates.
    """

    known: SensitiveFeatures
    samples: Samples
    columns: dict[str, np.ndarray]
    is_used: np.ndarray
    task: str
    pos_label: Label | None
    min_group_size: int
    source: dict[str, str] | None
    unbinned: Groups
    bins: dict[int, Bins]
    described: Reading | Callable[[], Reading] = UNREAD
    model: EstimatorAndData | None = None
    k: float | None = None
    ids: np.ndarray | None = None
    strata: Groups | None = None
    clusters: pd.Series | None = None
    cluster_labels: pd.Series | None = None
    has_scoring_rate: bool = False
    burden: str | None = None
    index: pd.Index | None = None
    missing_outcomes: MissingOutcomes | None = None

    @classmethod
    def from_columns(
        cls,
        columns: dict[str, Any],
        known: SensitiveFeatures,
        *,
        task: str | None = None,
        pos_label: Label | None = None,
        min_group_size: int = MIN_AUDITED_GROUP,
        source: dict[str, str] | None = None,
        are_counts: bool = False,
        table: pd.DataFrame | None = None,
        burden: bool = False,
    ) -> Self:
        """The audit of columns by name; with `are_counts` rows stand for `sample_weight` samples.

        `columns` are "y_pred", "y_true", "y_score", "sample_weight", "control_features" and
        "groups"; None is no column. `task` is what the predictions are; None infers it. `table` are
        the columns of a file, as they are written.
        """
        check_group_size(min_group_size)
        check_source(source)
        outcomes = as_outcomes(columns.get("y_true"))
        if outcomes is not None:
            columns = columns | list_columns(outcomes)
        names = {
            role: name
            for role, one in columns.items()
            if isinstance(name := getattr(one, "name", None), str)  # or it is a column of a table
        }
        checked = _check_audit_columns(columns, known, are_counts)
        is_file = table is not None
        if not is_file and task != "clustering":  # files are checked as they are read
            for name in [one for one in ("y_true", "y_pred", "y_score") if one in checked.columns]:
                column = pd.Series(checked.columns[name], name=names.get(name, name))
                if holds_numbers(column):
                    check_marks_among_numbers(column, task)
        task = infer_task(task, checked.columns)
        if task == "classification" and {"y_true", "y_pred"} <= set(checked.columns):
            check_shared_classes(
                {
                    names.get(name, name): {*pd.Series(checked.columns[name]).dropna().unique()}
                    for name in ("y_true", "y_pred")
                },
                len(checked.columns["y_true"]),
            )
        cluster_labels = _find_clusters(checked, task, known, names.get("groups", "groups"))
        clusters = cluster_labels
        if clusters is not None and clusters.is_unique:
            clusters = None
        if clusters is not None:
            about = f"{clusters.nunique():,} by {clusters.name}"
            source = {"clusters": about} | (source or {})
        missing_outcomes = None if outcomes is None else outcomes.missing
        if missing_outcomes == "by_decision":
            _check_can_weigh(checked)
        samples = _count_rows(checked.samples, task, known) if are_counts else checked.samples
        pos_label = find_positive_label(task, checked.columns, pos_label)
        has_decision = pos_label is not None and {"y_pred", "y_score"} & set(checked.columns)
        if check_flag("burden", burden) and (not has_decision or "covered" in checked.columns):
            raise argument_error(
                "burden says that the decision pos_label is bad for people, but these predictions "
                f"of a {task} have no such decision. Pass decisions and pos_label, or no burden."
            )
        unbinned = samples.groups
        bins = find_group_bins(unbinned, None if is_file else known.labels, known.bins)
        if is_file and known.labels is not None:  # searches have ranges of numbers
            known = known.replace_labels(known.labels.apply(parse_column))
        audit = cls(
            known=known,
            samples=samples._replace(groups=bin_groups(unbinned, bins)),
            columns={name: one for name, one in checked.columns.items() if name != "groups"},
            is_used=checked.is_used,
            task=task,
            pos_label=pos_label,
            burden=str(pos_label) if burden else None,
            min_group_size=min_group_size,
            source=source,
            unbinned=unbinned,
            bins=bins,
            strata=checked.strata,
            clusters=clusters,
            cluster_labels=cluster_labels,
            index=_find_index({"sensitive_features": known.labels} | columns),
            missing_outcomes=missing_outcomes,
        )
        describe = partial(_describe, audit, names)
        warn_of_counts(audit.samples, audit.columns)
        # Nothing that is written is kept.
        return replace(audit, described=describe(table) if is_file else describe)

    def check_index(self, **named: TableLike) -> None:
        """Raise for columns whose pandas index is not that of the audit."""
        if self.index is not None:
            check_alignment(audit=pd.Series(0, index=self.index), **named)

    def warn_of_integers(self) -> None:
        """Warn of more than 30 whole numbers that are groups; a search divides them."""
        warn_of_integers(self.unbinned, self.known.labels, self.bins)

    @cached_property
    def reading(self) -> Reading:
        """What was read, described when a page first asks: monitors read many small batches."""
        return self.described() if callable(self.described) else self.described

    @cached_property
    def known_outcomes(self) -> KnownOutcomes | None:
        """Which samples have an outcome, by the decision made; None if all have one."""
        return self.find_known_outcomes(self.samples, self.columns)

    def find_known_outcomes(
        self, samples: Samples, columns: dict[str, np.ndarray]
    ) -> KnownOutcomes | None:
        """As `known_outcomes`, of samples of this audit and their columns, such as merged ones."""
        if self.task != "classification":  # predictions are no decisions
            columns = {name: one for name, one in columns.items() if name != "y_pred"}
        if self.k is not None and "decided" in columns:
            columns = columns | self._decide_top(samples, columns, self.k)
        clusters = self.cluster_codes
        return find_known_outcomes(
            samples, columns, self.pos_label, self.missing_outcomes, clusters
        )

    def _decide_top(
        self, samples: Samples, columns: dict[str, np.ndarray], k: float
    ) -> dict[str, np.ndarray]:
        """Decisions for the k highest scores as a column; {} if samples share places."""
        selection = select_top(to_numbers(columns["y_score"], "y_score"), samples, k)
        if selection.n_tied:
            return {}
        decisions = np.full(len(selection.decisions), None, dtype=object)
        decisions[selection.decisions > 0.5] = self.pos_label
        return {"y_pred": decisions}

    def check_known_outcomes(self, rate: Any, name: str) -> None:
        """Raise for a rate, or another metric of some name, that the known outcomes do not tell."""
        if self.known_outcomes is not None:
            self.known_outcomes.check(rate, name)

    @cached_property
    def empty_groups(self) -> dict[str, list[str]]:
        """Declared categories of pandas that no sample has, by attribute."""
        return _find_empty_groups(self.known, self.unbinned)

    @property
    def cluster_codes(self) -> np.ndarray | None:
        """Code of the cluster of each sample, None if all are independent."""
        return None if self.clusters is None else pd.factorize(self.clusters)[0]

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | Outcomes | None,
        y_pred: ArrayLike | None,
        *,
        sensitive_features: MatrixLike | SensitiveFeatures,
        y_score: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        control_features: MatrixLike | None = None,
        groups: ArrayLike | None = None,
        task: TaskName | None = None,
        pos_label: Label | None = None,
        burden: bool = False,
        min_group_size: int = MIN_AUDITED_GROUP,
        source: dict[str, str] | None = None,
    ) -> Self:
        """Audit of the predictions of any model.

        Collections of Dask and :func:`~skfair.datasets.open_blocks` are counted where they lie:
        decisions between classes, of groups that are known or missing. Scores, weights, real values
        and models of missing groups must be in memory.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,), Outcomes or None
            True classes or values; None if outcomes are not known. Single ones may be missing:
            numbers that need an outcome, such as error rates, are then of the other samples, and
            selection rates of all. Where one decision has outcomes less often, as of applicants
            who were refused, such rates are left out or refused: :class:`Outcomes` says how
            outcomes are missing.
        y_pred : array-like of shape (n_samples,) or None
            Predicted classes or values; None if decisions are made of scores, see :meth:`top`, or
            there is no model: then the shares of outcomes, or their means, are compared. Also
            prediction sets, with `y_true`: booleans in a column for each class, or two columns, low
            and high; decisions are then whether a set has the true value.
            Without `y_true` numbers with decimals, such as premiums or scores, are compared by
            their means.
        sensitive_features : array-like or sparse matrix
            Group of each sample, one column per attribute; a DataFrame names them. A sparse matrix
            of booleans is one of overlapping groups. Where groups are not all known, a
            :class:`SensitiveFeatures`. Columns of more than 20 numbers, such as ages,
            are divided into four bins of equally many samples.
        y_score : array-like of shape (n_samples,), default=None
            Scores of the positive class. They count as probabilities, and have a calibration, if
            all are in [0, 1].
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sampling weights, such as inverse probabilities of having been drawn; a
            sample of weight zero counts as absent. Intervals rest on effective sample sizes, as in
            :func:`skfair.statistics.gap_interval`. Numbers of samples are no weights: pass these to
            :meth:`from_counts`.
        control_features : array-like of shape (n_samples,) or (n_samples, n_features), default=None
            Stratum of each sample, such as an occupation, within which reports compare groups too:
            in rows with a ``stratum`` such as "region = north".
        groups : array-like of shape (n_samples,), default=None
            Id of the cluster of each sample, as in ``fit`` and ``GroupKFold``: samples of equal id
            belong together, such as those of a person or household, two versions of a text, or two
            models' answers to it. Limits count clusters, not samples. Areas, calibration and
            adverse impact, whose limits count samples one by one, are left out of reports. (The
            groups to compare are `sensitive_features`.)
        task : {"classification", "regression", "clustering"}, default=None
            What predictions are. None infers it: numbers with decimals are a regression. Whole
            numbers such as days, visits or ages look like classes, so pass "regression".
        pos_label : label, default=None
            The class that means success; of more than two it is compared with all others, and None
            reports each of them. Of two None takes 1 if the labels are 0 and 1, -1 and 1 or
            booleans.
        burden : bool, default=False
            Whether the decision `pos_label` is bad for people, such as to be flagged as fraud.
            Ratios of selection rates, as of the four-fifths rule, are then of the samples that are
            *not* decided so. Other numbers stay, and answers say "share decided 'flagged'" instead
            of "selection rate".
        min_group_size : int, default=30
            Samples that the rate of a group must count to be compared.
        source : dict of str to str, default=None
            Facts about the data that reports state, as ``provenance`` of :class:`FairnessReport`.

        Returns
        -------
        audit : Audit

        Raises
        ------
        ValueError
            If inputs differ in length or in their pandas index, or hold missing values, predictions
            are of another type than the truth, there are integers without a target and `task`, or
            neither predictions nor scores nor outcomes.

        Warns
        -----
        UserWarning
            If weights look like numbers of samples, or a label like the mark of an unknown group.
        """
        outcomes = as_outcomes(y_true)
        columns = {"y_pred": y_pred, "y_true": y_true, "y_score": y_score}
        if outcomes is not None:
            columns |= {"y_true": outcomes.y, "decided": outcomes.decided}
        known = as_sensitive_features(sensitive_features)
        weights = sample_weight
        are_counts = are_counted(
            *columns.values(), known.labels, known.probabilities, weights, control_features
        )
        time = None if outcomes is None else outcomes.time
        if are_counts:
            _refuse_time(time)
            columns, known, control_features, weights = count_predictions(
                columns, known, weights, control_features
            )
        if outcomes is not None:
            decided = columns.pop("decided", None)
            columns["y_true"] = replace_columns(outcomes, columns["y_true"], decided, time)
        columns |= {"sample_weight": weights, "control_features": control_features}
        return cls.from_columns(
            columns | {"groups": groups},
            known,
            task=task,
            pos_label=pos_label,
            burden=burden,
            min_group_size=min_group_size,
            source=source,
            are_counts=are_counts,
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike | Outcomes | None = None,
        *,
        sensitive_features: MatrixLike | SensitiveFeatures,
        sample_weight: ArrayLike | None = None,
        control_features: MatrixLike | None = None,
        groups: ArrayLike | None = None,
        pos_label: Label | None = None,
        burden: bool = False,
        min_group_size: int = MIN_AUDITED_GROUP,
        source: dict[str, str] | None = None,
        X_fit: MatrixLike | None = None,
    ) -> Self:
        """Audit of a fitted classifier, regressor or clusterer on held-out data.

        Parameters
        ----------
        estimator : estimator
            Fitted classifier, regressor or clusterer of any package. Its ``predict`` is called, and
            ``predict_proba`` or ``decision_function`` of a classifier of two classes, with the
            sensitive features if it requires them.
        X : array-like of shape (n_samples, n_features)
            Held-out data, used in no step of the model's making: neither for the fit, nor for the
            choice among models. If all columns are partitioned (Dask, ``open_blocks``), predictions
            are made and counted where the rows are, without scores.
        y : array-like of shape (n_samples,) or Outcomes, default=None
            True classes or values; None if they are not known. Single ones may be missing, as in
            :meth:`from_predictions`.
        sensitive_features, sample_weight, control_features, groups, pos_label
            As in :meth:`from_predictions`.
        burden, min_group_size, source
            As in :meth:`from_predictions`.
        X_fit : array-like of shape (n_fitted, n_features), default=None
            Features of the training data, if available: rows of X that are among them are reported.

        Returns
        -------
        audit : Audit

        Raises
        ------
        TypeError
            If the estimator has no ``fit`` or ``predict``.
        sklearn.exceptions.NotFittedError
            If it is not fitted.
        ValueError
            As for :meth:`from_predictions`, and if most rows of X are in `X_fit`, or X is
            partitioned and the estimator no classifier, or `X_fit` is passed.

        Warns
        -----
        UserWarning
            If some rows of X are in `X_fit`, or without it most are in the digest of training rows
            that a classifier or regressor of this package keeps, samples look like several of one
            person or household, which are not independent, or X is partitioned and the estimator
            has scores.
        """
        outcomes = as_outcomes(y)
        decided = time = None
        if outcomes is not None:
            y, decided, time = outcomes.y, outcomes.decided, outcomes.time
        check_in_memory(X=X, y=y)
        known = as_sensitive_features(sensitive_features)
        if known.missing == "at_random" and known.X is None:
            known = known.replace_features(X)
        are_counts = are_counted(X, y, decided, known.labels, sample_weight, control_features)
        if are_counts:
            check_fitted_model(estimator)
            if X_fit is not None:
                raise argument_error(
                    "X_fit must be None where X is partitioned, since equal rows are found in "
                    "memory. Leave it out, or pass samples in memory, as in X.compute()."
                )
            _refuse_time(time)
            counted = {"y_true": y, "decided": decided}
            columns, known, control_features, weights = count_predictions(
                counted, known, sample_weight, control_features, estimator, X
            )
            decided = columns.pop("decided", None)
            task = "classification"
            if len(estimator.classes_) <= 2:
                pos_label, _ = find_positive_class(estimator, pos_label)
        else:
            refuse_training_data(X, X_fit)
            if X_fit is None:
                _warn_of_training_rows(estimator, X)
            columns = _fill_outcomes({"y_true": y})
            weights = sample_weight
            y = columns.get("y_true")
            predicted = predict_columns(estimator, X, y, known.labels, pos_label, groups)
            task, y_pred, pos_label, y_score = predicted
            columns = {} if task == "clustering" else columns
            columns |= {"y_pred": y_pred, "y_score": y_score}
        if outcomes is not None and columns.get("y_true") is not None:
            columns["y_true"] = replace_columns(outcomes, columns["y_true"], decided, time)
        columns |= {"sample_weight": weights, "control_features": control_features}
        audit = cls.from_columns(
            columns | {"groups": groups},
            known,
            task=task,
            pos_label=pos_label,
            burden=burden,
            min_group_size=min_group_size,
            source=source,
            are_counts=are_counts,
        )
        if are_counts:
            return audit
        labels = known.labels
        rows = np.flatnonzero(audit.is_used)
        if not audit.is_used.all():
            X, y, labels = (
                None if one is None else safe_indexing(one, rows) for one in (X, y, labels)
            )
        return replace(audit, model=EstimatorAndData(estimator, X, y, labels))

    @classmethod
    def from_counts(
        cls,
        table: Any,
        *,
        counts: str,
        sensitive_features: str | Sequence[str] | SensitiveFeatures,
        y_true: str | Outcomes | None = None,
        y_pred: str | None = None,
        y_score: str | None = None,
        control_features: str | Sequence[str] | None = None,
        task: TaskName | None = None,
        pos_label: Label | None = None,
        burden: bool = False,
        min_group_size: int = MIN_AUDITED_GROUP,
        source: dict[str, str] | None = None,
    ) -> Self:
        """Audit of a table of counts, such as ``SELECT ..., COUNT(*) AS n ... GROUP BY ...``.

        Parameters
        ----------
        table : DataFrame
            One row for each combination of values: a table of pandas, polars or pyarrow, what
            exports a stream of Arrow, or a mapping of names to columns. A combination may have
            several rows.
        counts : str
            Column of the number of samples that a row stands for: whole numbers. Rows of none are
            left out.
        sensitive_features : str or list of str
            Columns of the protected attributes.
        y_true : str or Outcomes, default=None
            Column of the true classes, which may be missing; None if outcomes are not known.
        y_pred : str, default=None
            Column of the decisions or predicted classes; None if :meth:`top` makes them of scores.
        y_score : str, default=None
            Column of scores. Scores that are rounded, as to thousandths, make a table smaller.
        control_features : str or list of str, default=None
            Columns of the strata within which reports compare groups too.
        task : {"classification"}, default=None
            "classification" says that whole numbers without outcomes are classes.
        pos_label, burden, min_group_size, source
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
        >>> audit = Audit.from_counts(table, counts="n", sensitive_features="sex", y_pred="hired")
        >>> audit
        <Audit of 200,000,000 samples by sex: classification>
        >>> audit.report().gaps[["gap", "gap_low", "gap_high"]].round(4).to_numpy().tolist()
        [[0.05, 0.0499, 0.0501]]
        """
        table = to_pandas_table(table)
        is_table = isinstance(table, pd.DataFrame | Mapping | Sequence | np.ndarray)
        if isinstance(table, str) or not is_table:
            raise argument_error(
                "table must be a table with a row for each combination of values, such as a pandas "
                f"or polars DataFrame; got {table!r}."
            )
        table = pd.DataFrame(table)
        known = as_sensitive_features(sensitive_features)
        groups, control_features = map(_as_list, (known.labels, control_features))
        outcomes = as_outcomes(y_true)
        roles = {"y_pred": y_pred, "y_score": y_score}
        if outcomes is not None:
            roles |= list_names(outcomes)
        for role, name in (roles | {"counts": counts}).items():
            if name is not None and not isinstance(name, str):
                raise argument_error(
                    f"{role} must be the name of a column, as a str; got {name!r}."
                )
        named = [name for name in (counts, *roles.values()) if name is not None]
        check_columns(table.columns, [*named, *groups, *control_features], "The table")
        columns = {role: table[name] for role, name in roles.items() if name is not None}
        if outcomes is not None:
            of_outcomes = (columns.pop(role, None) for role in list_names(outcomes))
            columns["y_true"] = replace_columns(outcomes, *of_outcomes)
        columns["sample_weight"] = check_counts(table[counts], counts)
        columns["control_features"] = table[control_features] if control_features else None
        return cls.from_columns(
            columns,
            known.replace_labels(table[groups]),
            task=task,
            pos_label=pos_label,
            burden=burden,
            min_group_size=min_group_size,
            source=source,
            are_counts=True,
        )

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        columns: dict[str, Any],
        *,
        task: TaskName | None = None,
        pos_label: Label | None = None,
        burden: bool = False,
        min_group_size: int = MIN_AUDITED_GROUP,
        source: dict[str, str] | None = None,
    ) -> Self:
        """Audit of a file of predictions or counts: CSV, Parquet, or a spreadsheet of one sheet.

        Parameters
        ----------
        path : str or path-like
            File, or a folder of files, whose column "file" names the file of each row unless
            these have such a column. Reports state its name and SHA-256 digest.
        columns : dict of str
            Names of columns by what they hold: "sensitive_features" (one name, several, or a
            :class:`SensitiveFeatures` of them), "y_true", "y_pred", "y_score" and
            "control_features", as in :meth:`from_counts` ("y_true" may be :class:`Outcomes` of
            names), and "groups", as in
            :meth:`from_predictions`. With "counts" rows stand for as many samples; else
            "sample_weight" may name a column of weights. Groups are text. Outcomes may be missing:
            empty entries, or a usual mark such as NA that is never predicted.
        task : {"classification", "regression", "clustering"}, default=None
            As in :meth:`from_predictions`.
        pos_label : label, default=None
            The class that means success, as it is written in the file.
        burden, min_group_size, source
            As in :meth:`from_predictions`.

        Returns
        -------
        audit : Audit

        Raises
        ------
        FileNotFoundError, ValueError
            If the file cannot be read, lacks a column, or holds missing values of others than
            outcomes.
        """
        path = check_path(path)
        roles = dict.fromkeys(_FILE_ROLES) | columns
        if set(roles) != set(_FILE_ROLES) or "sensitive_features" not in columns:
            raise ValueError(
                f"columns must map some of {list(_FILE_ROLES)}, the sensitive features among them, "
                f"to names of columns; got {list(columns)}."
            )
        known = as_sensitive_features(roles.pop("sensitive_features"))
        sensitive, control_features = map(_as_list, (known.labels, roles.pop("control_features")))
        outcomes = as_outcomes(roles["y_true"])
        if outcomes is not None:
            roles |= list_names(outcomes)
        named = {role: name for role, name in roles.items() if name is not None}
        if "counts" in named and "sample_weight" in named:
            raise ValueError(
                "counts are of samples of equal weight, but sample_weight was passed too; pass one "
                "row for each sample, or leave one of them out."
            )
        names = dict.fromkeys([*named.values(), *sensitive, *control_features])
        table = read_columns([path], list(names))
        others = ("y_pred", "y_score", "sample_weight", "counts", "groups")
        y_pred, y_score, weights, counts, ids = (
            check_optional_column(table, roles[role]) for role in others
        )
        y_true = read_outcomes(table, roles["y_true"], y_pred)
        check_numbers_of_file(y_true, y_score if y_pred is None else y_pred, y_score, task)
        if y_pred is not None:
            check_same_notation(y_true, y_pred)
        if pos_label is not None:
            pos_label = find_label(pos_label, y_pred if y_true is None else y_true)
        facts = {"file": path.name}
        if counts is None:  # small counts could be guessed from the digest
            facts["sha256"] = file_digest([path])
        placed = place_outcomes(y_true, table)
        if outcomes is not None:
            decided, time = (
                check_optional_column(table, roles[one]) for one in ("decided", "time")
            )
            placed = replace_columns(outcomes, placed, decided, time)
        return cls.from_columns(
            {
                "y_pred": y_pred,
                "y_true": placed,
                "y_score": y_score,
                "sample_weight": weights if counts is None else check_counts(counts, counts.name),
                "control_features": table[control_features] if control_features else None,
                "groups": ids,
            },
            known.replace_labels(table[sensitive].apply(write_labels)),
            task=task,
            pos_label=pos_label,
            burden=burden,
            min_group_size=min_group_size,
            source=facts | (source or {}),
            are_counts=counts is not None,
            table=table,
        )

    def check_same_burden(self, other: Self) -> None:
        """Raise for another audit of which another decision, or none, is a burden."""
        if self.burden != other.burden:
            raise argument_error(
                "burden must be the same decision in all audits that are compared, or none, but "
                f"it is {self.burden!r} in one and {other.burden!r} in another. Make all of them "
                "with the same pos_label and burden."
            )

    def rebin(self, other: Self) -> Self:
        """A copy whose attributes of many numbers are divided into the bins of another audit."""
        return self.regroup(bin_groups(self.unbinned, other.bins))

    def regroup(self, groups: Groups) -> Self:
        """A copy of the same samples in other groups."""
        return replace(self, samples=self.samples._replace(groups=groups))

    def restrict(self, rows: np.ndarray) -> Self:
        """A copy with some rows of the samples alone, by their positions."""
        groups = self.samples.groups.take(rows)
        samples = self.samples._replace(groups=groups, weights=self.samples.weights[rows])
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, samples=samples, columns=columns)

    @property
    def n_samples(self) -> int:
        """Number of samples of positive weight."""
        return self.samples.groups.n_samples

    @property
    def outcomes(self) -> dict[str, np.ndarray]:
        """The column of outcomes, and the mask of those that are known where some are not."""
        names = ("y_true", "has_outcome")
        return {name: self.columns[name] for name in names if name in self.columns}

    @property
    def outcomes_and_decisions(self) -> dict[str, np.ndarray]:
        """The columns of outcomes, and where some are unknown the decision that was made.

        Another model on these samples has the same.
        """
        made = {name: self.columns[name] for name in _OF_OUTCOMES if name in self.columns}
        if "has_outcome" in made and "y_pred" in self.columns:
            made = {"decided": self.columns["y_pred"]} | made
        return made

    @property
    def are_outcomes(self) -> bool:
        """Whether these are the outcomes of data without a model."""
        return not {"y_pred", "y_score"} & set(self.columns)

    @property
    def n_without_outcome(self) -> int:
        """Number of samples whose outcome is unknown, where others have one."""
        is_unknown = ~self.columns.get("has_outcome", np.ones(len(self.samples.weights), bool))
        return int(self.samples.groups.row_counts[is_unknown].sum())

    @property
    def n_excluded(self) -> int:
        """Number of samples of unknown group that are left out."""
        counts = self.samples.groups.row_counts * mask_unknown(self.samples.groups)
        return int(counts.sum()) if self.known.treatment == "exclude" else 0

    @cached_property
    def _distinct_rows(self) -> tuple:
        """Samples, columns and strata with one row for all that are equal in all of them."""
        columns = dict(self.columns)
        strata = self.strata
        if strata is not None:
            columns["stratum"] = strata.codes
        samples, columns = merge_samples(self.samples, columns)
        if strata is not None:
            strata = strata.regroup(columns.pop("stratum"), strata.labels).rename(strata.attributes)
        return samples, columns, strata

    def rows(self, metrics: Metrics = ()) -> tuple[Samples, dict[str, np.ndarray], Any]:
        """Samples, columns and strata: of rows that count, where sums are all that is needed."""
        # Clusters need their samples one by one.
        is_merged = self.clusters is None and not self.known.is_modelled
        if is_merged and sums_suffice(self.task, self.columns, metrics):
            return self._distinct_rows
        return self.samples, self.columns, self.strata

    def list_samples(self) -> tuple[Samples, dict[str, np.ndarray], np.ndarray]:
        """Samples of known group one by one, their columns, and the row of each in `samples`."""
        groups = self.samples.groups
        counts = self.samples.groups.row_counts.astype(int)
        if self.known.treatment == "exclude":
            counts *= ~mask_unknown(groups)
        rows = np.repeat(np.arange(len(counts)), counts)
        weights = np.ones(len(rows))
        if groups.multiplicity is None:
            weights = self.samples.weights[rows]
        groups = groups.copy_with_multiplicity(None).take(rows)
        columns = {name: column[rows] for name, column in self.columns.items()}
        return self.samples._replace(groups=groups, weights=weights), columns, rows

    def list_attributes(self) -> Table:
        """The columns of the attributes as they were passed; unknown labels are missing values."""
        known = self.known
        rows = np.flatnonzero(self.is_used)
        labels = fill_missing(known.labels, known.unknown) if known.unknown else known.labels
        labels = labels if self.is_used.all() else safe_indexing(labels, rows)
        if not known.bins:
            return labels
        names = self.unbinned.attributes
        table = pd.DataFrame(dict(zip(names, attribute_columns(labels), strict=True)))
        groups = self.samples.groups
        for place, one in self.bins.items():
            if one.are_named:
                column = groups.labels[groups.codes, place]
                table[names[place]] = pd.Series(column, table.index).mask(column == MISSING)
        return table

    def find_decisions(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Decisions or predicted values; a ValueError where there are scores alone."""
        if self.are_outcomes:
            raise ValueError(
                "These are outcomes without predictions, about which there are reports and claims. "
                "Pass predictions or decisions as y_pred to ask about these."
            )
        if "y_pred" not in columns:
            raise ValueError(
                "These are scores without decisions. Pass decisions as y_pred, such as scores "
                "above a threshold. The k highest scores have reports alone, since limits given k "
                "are those of rates in a report."
            )
        return columns["y_pred"]


# Errors of Python about arguments name the class that users call.
for _door in ("from_predictions", "from_estimator", "from_counts", "from_file"):
    vars(AuditData)[_door].__func__.__qualname__ = f"Audit.{_door}"


# An audit is made in three steps: columns are checked, rows are counted, and both are described.


class _Checked(NamedTuple):
    """Columns that fit one another, of the samples that count, and the mask of these."""

    samples: Samples
    columns: dict[str, np.ndarray]
    is_used: np.ndarray
    strata: Groups | None


def check_source(source: dict[str, str] | None) -> None:
    """Raise unless facts about data are texts by name."""
    facts = source.items() if isinstance(source, dict) else [(source, "")]
    if source is not None and not all(isinstance(one, str) for fact in facts for one in fact):
        raise argument_error(
            "source must be a dict of str to str, as in {'data': 'applications of 2025'}; got "
            f"{source!r}."
        )


def _refuse_time(time: Any) -> None:
    """Raise for times of samples that are counted where they lie."""
    if time is not None:
        raise argument_error(
            "time must be None where data are partitioned, of which an audit takes counts of few "
            "distinct rows. Leave it out, or pass all columns in memory, as in y.compute()."
        )


def _find_index(columns: dict[str, Any]) -> pd.Index | None:
    """The pandas index of columns, None if it is the default one."""
    in_memory = (one for one in columns.values() if not hasattr(one, "__dask_graph__"))
    indices = (one.index for one in in_memory if is_pandas(one))
    return next((one for one in indices if not is_default(one)), None)


def _warn_of_training_rows(estimator: BaseEstimator, X: TableLike) -> None:
    """Warn if most rows of X are training rows of the model at the end of an estimator."""
    pipelines = []
    while True:
        if isinstance(estimator, Pipeline):
            pipelines.append(estimator)
            estimator = estimator.steps[-1][1]
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            break
    sketch = getattr(estimator, "_training_rows", None)
    if sketch is None:
        return
    for pipeline in pipelines:
        X = transform_before_last_step(pipeline, X)
    warn_of_training_rows(X, sketch)


def _find_empty_groups(known: SensitiveFeatures, groups: Groups) -> dict[str, list[str]]:
    """Categories of pandas that are groups of no sample, by attribute."""
    if known.labels is None or is_lazy(known.labels) or not groups.is_disjoint:
        return {}
    unknown = {*map(normalize_label, known.unknown)}
    empty = {}
    columns = attribute_columns(known.labels)
    for place, (name, column) in enumerate(zip(groups.attributes, columns, strict=True)):
        if isinstance(column, pd.Categorical):
            occurring = {*map(group_text, groups.labels[:, place])}
            labels = [one for one in column.categories if normalize_label(one) not in unknown]
            if declared := [one for one in map(group_text, labels) if one not in occurring]:
                empty[attribute_name(name, place)] = declared
    return empty


def _check_audit_columns(columns, known, are_counts):
    """The samples, columns and strata of columns by role, without rows of zero weight."""
    if are_counts:
        refuse_clusters(columns.get("groups"), "counts of samples")
    columns = dict(columns)
    weights = columns.pop("sample_weight", None)
    control_features = columns.pop("control_features", None)
    columns = _fill_outcomes(cover_truth(columns))
    if "has_outcome" not in columns:  # what says which outcomes are known matters in one case
        columns.pop("period", None)
    if not {"y_pred", "y_score", "y_true"} & set(columns):
        raise argument_error(
            "y_pred must hold predictions, one per sample, but None was passed. Pass them, or "
            "y_score, of which Audit.top(k) selects the highest, or the outcomes of data without a "
            "model as y_true."
        )
    first = next(iter(columns.values()))
    strata = None
    if known.is_modelled and not {"y_pred", "y_score"} & set(columns):
        raise argument_error(
            f"y_pred must hold predictions, since {known.argument} models groups of their samples. "
            "Pass them, or outcomes with samples of known group alone, by missing='exclude'."
        )
    if control_features is not None:
        strata = check_strata(control_features, first)
        columns["stratum"] = strata.codes
    if known.probabilities is not None:
        check_group_probabilities(known.probabilities, first)
    columns["row"] = np.arange(len(first))
    if known.unknown and known.missing == "error":
        with mute_warnings():  # of what is named as unknown
            # None is missing.
            check_metric_input(known.labels, weights, takes_numbers=True, **columns)
    labels = known.fill(len(first))
    samples, arrays = check_metric_input(labels, weights, takes_numbers=True, **columns)
    columns = dict(zip(columns, arrays, strict=True))
    # Decisions that were made matter if outcomes are missing, or if all are equal, which is said.
    if "has_outcome" not in columns and len(np.unique(columns.get("decided", 0))) > 1:
        del columns["decided"]
    is_used = np.isin(np.arange(len(first)), columns.pop("row"))
    has_outcome = columns.get("has_outcome", np.ones(1, dtype=bool))
    if not has_outcome.any():  # of the samples that count
        for name in _OF_OUTCOMES:
            columns.pop(name, None)
    elif known.is_modelled and not has_outcome.all():
        raise ValueError(
            f"{known.argument} models groups by decisions and outcomes, but some outcomes "
            "in y_true are unknown. Leave y_true out, or pass missing='exclude' or 'group'."
        )
    if strata is not None:
        # Samples of zero weight are left out of the strata as well.
        codes = columns.pop("stratum")
        strata = strata.regroup(codes, strata.labels).rename(strata.attributes)
    return _Checked(samples, columns, is_used, strata)


def _find_clusters(
    checked: _Checked, task: str, known: SensitiveFeatures, name: str
) -> pd.Series | None:
    """The cluster of each sample, as limits count them; None without."""
    groups = checked.columns.get("groups")
    if groups is None:
        return None
    check_clusters(groups, len(groups))
    if task == "clustering" or known.is_modelled:
        refuse_clusters(groups, "clusterings and models of groups")
    return pd.Series(groups, name=name)


def _check_can_weigh(checked: _Checked) -> None:
    """Raise unless outcomes can be weighed by a decision."""
    columns = checked.columns
    made = columns.get("decided", columns.get("y_pred"))
    if "has_outcome" in columns and (made is None or len(np.unique(made)) < 2):
        are = "there is none" if made is None else f"all samples are decided {str(made[0])!r}"
        raise argument_error(
            "y_true must have the decision that was made with missing='by_decision', but "
            f"{are}. Pass Outcomes(y, missing='by_decision', decided=...), or --decided."
        )


def _count_rows(samples: Samples, task: str, known: SensitiveFeatures) -> Samples:
    """The samples of which each row stands for as many as its weight."""
    if task != "classification":
        raise ValueError(
            "Counts are of classes, but the predictions are numbers with decimals or clusters. "
            "Pass these one by one and in memory, to Audit.from_predictions."
        )
    if known.is_modelled:
        raise ValueError(
            f"{known.argument} models the groups of single samples, but these are counts "
            "of samples; pass missing='exclude' or 'group'."
        )
    return samples._replace(groups=samples.groups.copy_with_multiplicity(samples.weights))


def _describe(
    audit: AuditData, names: dict[str, str], written: pd.DataFrame | None = None
) -> Reading:
    """The reading of the columns, by their names, or by their roles without any.

    `written` are the columns of a file as they are written, or None.
    """
    groups = audit.samples.groups
    is_file = written is not None
    entries = {}
    if is_file:
        entries = written.iloc[np.flatnonzero(audit.is_used)].reset_index(drop=True)  # type: ignore[union-attr]
    positive = dict.fromkeys(("decision", "outcome"), audit.pos_label)
    attributes = audit.unbinned.attributes
    binned = {
        ("group", attribute_name(attributes[place], place)): one
        for place, one in audit.bins.items()
    }
    read = []
    # Counts that no column holds are of collections, whose rows are samples.
    is_counted = groups.multiplicity is not None and "sample_weight" not in names
    n_rows = audit.n_samples if is_counted else len(audit.is_used)
    for role, column in _columns_by_role(audit, names):
        if is_counted and role == "count":
            continue
        if (role, column.name) in binned:
            read.append(read_bins(role, column, binned[role, column.name], groups.row_counts))
            continue
        old = entries.get(column.name)
        read.append(read_as(role, column, old, positive.get(role), groups.row_counts))
    left_out = {
        "rows have weight 0": int((~audit.is_used).sum()),
        **_count_excluded(audit),
        "samples have no outcome": audit.n_without_outcome,
    }
    left_out = {reason: n for reason, n in left_out.items() if n}
    return Reading(
        tuple(read), n_rows, audit.n_samples, left_out, is_file=is_file, burden=audit.burden
    )


def _count_excluded(audit: AuditData) -> dict[str, int]:
    """Numbers of samples of unknown group by what a reading says of them, by each table."""
    if not audit.n_excluded:
        return {}
    reason = "samples of unknown group are left out"
    groups = audit.samples.groups
    names = [attribute_name(name, place) for place, name in enumerate(groups.attributes)]
    if len(names) == 1:
        return {reason: audit.n_excluded}
    sizes = groups.counts @ (groups.labels == MISSING)
    sizes = dict(zip(names, sizes.astype(int).tolist(), strict=True))
    sizes[group_text(tuple(names))] = audit.n_excluded
    return {f"{reason} by {name}": n for name, n in sizes.items()}


def _columns_by_role(audit: AuditData, names: dict[str, str]) -> Iterator[tuple[str, pd.Series]]:
    """Yield the role and the entries of each column that counts, missing where unknown."""
    decision = {"regression": "prediction", "clustering": "cluster"}.get(audit.task, "decision")
    roles = {"y_pred": decision, "y_true": "outcome", "y_score": "score"}
    roles |= {"decided": "decision made", "period": "time"}
    for name in [one for one in roles if one in audit.columns]:
        column = pd.Series(audit.columns[name], name=names.get(name, name))
        if name == "y_true" and "has_outcome" in audit.columns:
            column = column.astype(object).where(audit.columns["has_outcome"], None)
        yield roles[name], column
    for role, groups in (("group", audit.samples.groups), ("stratum", audit.strata)):
        if groups is not None and groups.is_disjoint and audit.known.labels is not None:
            for place, attribute in enumerate(groups.attributes):
                # Codes of the attribute, -1 where it is missing: a table of labels, not rows.
                codes, labels = pd.factorize(groups.labels[:, place])
                known = np.where(labels == MISSING, -1, np.arange(len(labels)))
                column = pd.Categorical.from_codes(known[codes][groups.codes], labels)
                yield role, pd.Series(column, name=attribute_name(attribute, place))
    if not audit.samples.is_equally_weighted or audit.samples.groups.multiplicity is not None:
        role = "weight" if audit.samples.groups.multiplicity is None else "count"
        yield role, pd.Series(audit.samples.weights, name=names.get("sample_weight", role))
    if audit.clusters is not None:
        yield "cluster", audit.clusters


def _fill_outcomes(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns that there are, with the mask "has_outcome" if outcomes are missing.

    Another outcome takes their place, so that no class is added, and is never counted.
    """
    columns = {name: column for name, column in columns.items() if column is not None}
    y_true: Any = columns.get("y_true")
    if y_true is None or is_partitioned(y_true) or np.ndim(y_true) != 1:
        return columns
    filled = y_true if is_pandas(y_true) else pd.Series(y_true)
    has_outcome = filled.notna().to_numpy()
    if has_outcome.all():
        return columns
    if not has_outcome.any():
        return {name: column for name, column in columns.items() if name != "y_true"}
    # The least outcome by its text: a digest of samples does not depend on their order.
    filled = filled.where(has_outcome, min(filled[has_outcome].unique(), key=str)).infer_objects()
    if filled.dtype.kind == "f" and (filled % 1.0 == 0.0).all():
        filled = filled.astype(np.int64)  # numbers with decimals because of nan alone
    columns["y_true"] = filled if hasattr(y_true, "iloc") else filled.to_numpy()
    return columns | {"has_outcome": has_outcome}


def _as_list(names: str | list[str] | None) -> list[str]:
    """One name of a column, several or none, as a list."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


def mask_unknown(groups: Groups) -> np.ndarray:
    """Mask of the samples of which the group by some attribute is missing."""
    if not groups.is_disjoint:
        return np.zeros(groups.matrix.shape[0], dtype=bool)
    return (groups.labels == MISSING).any(axis=1)[groups.codes]


def is_audit(thing: object) -> TypeGuard[AuditData]:
    """Whether something is an audit, and no predictions or model."""
    return all(hasattr(thing, name) for name in ("samples", "columns", "known"))
