"""Which columns carry a gap: how far it falls when they are permuted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import check_random_state

from skfair._bound.bound import Sums, sample_values
from skfair._utils.api import Label, MatrixLike
from skfair._utils.checks import argument_error, is_int, join_names, mute_warnings
from skfair.audit._audit import Audit
from skfair.audit._certify import bind_model
from skfair.audit._sentences import event_text
from skfair.constraints import Constraint

if TYPE_CHECKING:
    from skfair._utils.tables import Table, TableLike


_N_FOLDS = 5
"""Folds of the model that tells the group by a column."""


def gap_importance(
    estimator: BaseEstimator,
    X: pd.DataFrame | np.ndarray,
    y: ArrayLike | None = None,
    *,
    sensitive_features: MatrixLike,
    constraint: str | Constraint = "demographic_parity",
    columns: Sequence[Hashable] | Mapping[str, Sequence[Hashable]] | None = None,
    n_repeats: int = 5,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> pd.DataFrame:
    r"""How far a gap falls when a column of X is permuted: which columns carry the gap.

    The gap is the difference between the two groups that differ most, :math:`g = \bar v_a - \bar
    v_b`, where v_i is what the constraint counts of sample i, such as its decision. To permute a
    column over all samples makes it independent of the group, and of the other columns. With
    :math:`v_i'` the mean of what is counted after `n_repeats` permutations, the importance is
    :math:`\bar d_a - \bar d_b` of :math:`d_i = v_i - v_i'`. The groups a and b stay the same, so
    that importances may be negative: the gap grows without the column. Standard errors are those
    of means of d in the two groups; they count that samples and permutations are random, and not
    that of more than two groups the two that differ most are partly chosen by luck.

    An importance is no cause. Columns that depend on each other share what they carry, or neither
    shows it: name them as one set. Permuted samples may be ones that do not occur.

    Read more in the :ref:`guide <audit_importance>`.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier or regressor, perhaps a pipeline, as in :meth:`Audit.from_estimator`.
    X : DataFrame or ndarray of shape (n_samples, n_features)
        Held-out data as the estimator takes them, before all steps of a pipeline.
    y : array-like of shape (n_samples,), default=None
        True classes or values, if the constraint compares errors.
    sensitive_features : array-like or SensitiveFeatures
        Group of each sample. It is not permuted.
    constraint : str or Constraint, default="demographic_parity"
        What is compared: a constraint that compares means over groups which do not depend on
        predictions, such as "equal_opportunity", "mean_parity" or "loss_parity".
    columns : list or dict, default=None
        Names of columns (positions of an array), or lists of these by the name of a set that is
        permuted as one. By default each column by itself.
    n_repeats : int, default=5
        Number of permutations, each of which costs one prediction of all samples.
    sample_weight, pos_label
        As in :meth:`Audit.from_estimator`.
    random_state : int, RandomState instance or None, default=None
        Draws permutations and folds.

    Returns
    -------
    table : DataFrame
        One row for each column or set, the largest importance first. ``importance`` is in the unit
        of the gap, with its ``standard_error``; ``share`` is that of the gap, with its
        ``share_error``; ``group_auc`` says how well the column alone tells the two groups apart, by
        a decision tree out of fold: the area under the ROC curve, .5 if it does not. Its
        attrs name the gap, and the highest and lowest group, or groups, that it compares.

    Raises
    ------
    ValueError
        If X lacks a column or is partitioned, the constraint compares ratios, ranks or rates of
        selected samples, or there is no gap.

    See Also
    --------
    sklearn.inspection.permutation_importance : The same of a score instead of a gap.

    Examples
    --------
    Scores are income + 3 debt. Debt is a point higher in the group "a", income is equal:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LinearRegression
    >>> from skfair.audit import gap_importance
    >>> rng = np.random.default_rng(0)
    >>> group = rng.choice(["a", "b"], size=2000)
    >>> X = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["income", "debt"])
    >>> X["debt"] += group == "a"
    >>> model = LinearRegression().fit(X, X["income"] + 3 * X["debt"])
    >>> table = gap_importance(
    ...     model, X, sensitive_features=group, constraint="mean_parity", random_state=0
    ... )
    >>> table.index.tolist()
    ['debt', 'income']
    >>> print(f"{table.loc['debt', 'share']:.0f}")
    1
    """
    if not is_int(n_repeats):
        raise argument_error(f"n_repeats must be a positive whole number; got {n_repeats!r}.")
    random = check_random_state(random_state)
    if not isinstance(X, pd.DataFrame):
        X = np.asarray(X)
        if X.ndim != 2:
            raise argument_error("X must be a DataFrame of pandas or a dense array in memory.")
    sets = _list_columns(X, columns)
    settings = {
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "pos_label": pos_label,
    }
    bound, counted, used = _count(estimator, X, y, constraint, settings)
    events = counted.events
    values = counted.values
    # The contrast of events that is largest: the groups that differ most.
    averaging = events.averaging_matrix
    forms = bound.gap.linear_forms(events.n_events)
    contrast = forms[[(forms @ events.means(values)).argmax()]].toarray().ravel()
    weights = averaging.T @ contrast
    gap = weights @ values
    if not gap > 1e-12:  # rounding
        raise ValueError(f"{bound.name} has no gap in these data, which a column could carry.")

    def standard_error(differences: np.ndarray) -> float:
        means = events.means(differences)
        return float(np.linalg.norm(weights * differences - averaging.T @ (contrast * means)))

    features = pd.DataFrame(X).iloc[used]
    rows = {}
    for name, members in sets.items():
        permuted = np.zeros(len(values))
        for _ in range(n_repeats):
            moved = _permute(X, members, random.permutation(len(X)))
            with mute_warnings(UserWarning):  # the first evaluation has warned
                _, again, _ = _count(estimator, moved, y, constraint, settings)
            permuted += again.values / n_repeats
        fall = values - permuted
        share = weights @ fall / gap
        rows[name] = {
            "importance": weights @ fall,
            "standard_error": standard_error(fall),
            "share": share,
            "share_error": standard_error(fall - share * values) / gap,
            "group_auc": _separate(features[[*members]], weights, random),
        }
    table = pd.DataFrame.from_dict(rows, orient="index").sort_values("importance", ascending=False)
    labels = bound.sums.cells.labels
    cells = {cell for cell, _ in labels}
    names = [event_text(cell, group, cells) for cell, group in labels]
    table.attrs = {
        "gap": float(gap),
        "highest": join_names(names[at] for at in np.flatnonzero(contrast > 0.0)),
        "lowest": join_names(names[at] for at in np.flatnonzero(contrast < 0.0)),
    }
    return table


def _list_columns(X: Table, columns: Table) -> Mapping[int | str, list]:
    """Lists of columns by the name under which they are permuted."""
    known = [*X] if isinstance(X, pd.DataFrame) else [*range(X.shape[1])]
    columns = known if columns is None else columns
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise argument_error(f"columns must be a list of columns of X, or a dict; got {columns!r}.")
    sets = columns if isinstance(columns, Mapping) else {name: [name] for name in columns}
    if absent := [one for members in sets.values() for one in members if one not in known]:
        raise argument_error(
            f"columns must name columns of X, but {join_names(map(repr, absent))} is none of "
            f"{join_names(map(repr, known), 20)}."
        )
    return sets


def _count(
    estimator: BaseEstimator,
    X: TableLike,
    y: TableLike,
    constraint: Constraint | str,
    settings: dict[str, TableLike | None],
) -> tuple:
    """The constraint bound to predictions of X, what it counts of samples, and which count."""
    audit = Audit.from_estimator(estimator, X, y, **settings)  # type: ignore[arg-type]
    bound, scores, rows = bind_model(audit, constraint)
    sums = bound.sums
    if not isinstance(sums, Sums) or sums.is_quotient or bound.gap.is_ratio:
        raise argument_error(
            "constraint must compare differences of means over groups that do not depend on "
            f"predictions, such as demographic_parity or equal_opportunity; got {constraint}."
        )
    return bound, sample_values(sums, scores), rows


def _permute(X: Table, members: list, order: np.ndarray) -> np.ndarray | pd.DataFrame:
    """X with some columns of its samples in another order."""
    moved = X.copy()
    if isinstance(X, pd.DataFrame):
        for name in members:
            moved[name] = X[name].iloc[order].set_axis(X.index)
    else:
        moved[:, members] = X[order][:, members]
    return moved


def _separate(features: pd.DataFrame, weights: np.ndarray, random: np.random.RandomState) -> float:
    """Area under the out-of-fold ROC curve of a model of the two groups by some columns."""
    rows = np.flatnonzero(weights)
    target = weights[rows] > 0.0
    if min(target.sum(), (~target).sum()) < _N_FOLDS:
        return np.nan
    numbers = (
        features.iloc[rows]
        .apply(lambda one: one if pd.api.types.is_numeric_dtype(one) else pd.factorize(one)[0])
        .to_numpy(np.float64)
    )
    from sklearn.tree import DecisionTreeClassifier  # takes long to import

    model = DecisionTreeClassifier(max_leaf_nodes=16, min_samples_leaf=20, random_state=0)
    folds = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=random)
    predicted = cross_val_predict(model, numbers, target, cv=folds, method="predict_proba")
    return roc_auc_score(target, predicted[:, 1])
