"""People of whom only the groups of an earlier fit are known."""

import numpy as np

from skfair.exceptions import MissingSensitiveFeaturesError
from skfair.groups._groups import check_groups, group_names
from skfair.groups._labels import check_equal_label_types, check_one_label_type
from skfair.utils._messages import join_names
from skfair.utils._sklearn import search_error

HOW_TO_PASS_GROUPS = (
    "In a search or cross-validation, call sklearn.set_config(enable_metadata_routing=True) first, "
    "then search.fit(X, y, sensitive_features=...) or cross_validate(..., "
    'params={"sensitive_features": ...})'
)
"""Advice for errors about missing groups."""


def encode_known_groups(sensitive_features, n_samples, summary):
    """Encode sensitive features by the groups seen at fit.

    Parameters
    ----------
    sensitive_features, n_samples
        As in `check_groups`.
    summary : GroupSummary
        The groups seen at fit.

    Returns
    -------
    codes : ndarray of intp, shape (n_samples,)
        Group of each sample, as a row of ``summary.labels``.

    Raises
    ------
    ValueError
        If a group was not seen at fit, or for what `check_groups` refuses.
    TypeError
        If labels are of another kind than at fit, such as True for 1.
    """
    groups = check_groups(sensitive_features, n_samples)
    _check_attributes(groups.labels.shape[1], summary.labels.shape[1])
    known = {name: code for code, name in enumerate(group_names(summary.labels))}
    _check_known([name for name in group_names(groups.labels) if name not in known], known)
    # To Python True equals 1.
    check_equal_label_types(map(tuple, [*summary.labels.tolist(), *groups.labels.tolist()]))
    matched = [known[name] for name in group_names(groups.labels)]
    return np.array(matched, dtype=np.intp)[groups.codes]


def encode_groups_to_predict(sensitive_features, n_samples, summary, reason):
    """Encode the groups of samples whose predictions depend on them.

    Parameters
    ----------
    sensitive_features, n_samples
        As in `check_groups`; None is allowed if there was one group at fit.
    summary : GroupSummary
        The groups seen at fit.
    reason : str
        Why predictions depend on the group, and how to do without, as sentences for the error.

    Returns
    -------
    codes : ndarray of intp, shape (n_samples,)
        Group of each sample, as a row of ``summary.labels``.

    Raises
    ------
    MissingSensitiveFeaturesError
        If the groups are missing; in a search that would score this as nan, a `SearchError`.
    ValueError
        As in `encode_known_groups`.
    """
    if sensitive_features is not None:
        return encode_known_groups(sensitive_features, n_samples, summary)
    if len(summary.labels) == 1:
        return np.zeros(n_samples, dtype=np.intp)
    error = MissingSensitiveFeaturesError(
        f"{reason} Pass each sample's group, as in predict(X, sensitive_features=...) and score(X, "
        f"y, sensitive_features=...). {HOW_TO_PASS_GROUPS}, and score with scoring=None or with "
        'skfair.metrics.get_scorer("accuracy"): scorers of scikit-learn, such as '
        'scoring="accuracy", do not pass groups to predict.'
    )
    raise search_error(error)


def encode_known_values(sensitive_features, n_samples, summary):
    """Encode several attributes by the groups of single attributes seen at fit.

    Parameters
    ----------
    sensitive_features, n_samples
        As in `check_groups`.
    summary : GroupSummary
        The groups seen at fit, called by pairs (attribute, value).

    Returns
    -------
    values : ndarray of intp, shape (n_samples, n_attributes)
        Groups of each sample, as rows of ``summary.labels``; of each attribute one.

    Raises
    ------
    ValueError
        If a value was not seen at fit, or for what `check_groups` refuses.
    """
    groups = check_groups(sensitive_features, n_samples)
    known = {}
    for code, (attribute, value) in enumerate(summary.labels[:, 0]):
        known.setdefault(attribute, {})[value] = code
    _check_attributes(groups.labels.shape[1], len(known))
    # Attributes go by their order, as in `encode_known_groups`: at fit they may have had names.
    columns = []
    for (attribute, codes), column in zip(known.items(), groups.labels.T, strict=True):
        _check_known([value for value in column if value not in codes], codes, attribute)
        check_one_label_type([*codes, *column.tolist()], f"attribute {attribute!r}")
        columns.append([codes[value] for value in column])
    return np.array(columns, dtype=np.intp).T[groups.codes]


def _check_attributes(given, expected):
    if given != expected:
        raise ValueError(
            f"sensitive_features has {given} attribute(s) but the estimator was fitted with "
            f"{expected}; pass the same attributes as at fit, in the same order."
        )


def _check_known(unseen, known, attribute=None):
    if unseen:
        of = "" if attribute is None else f" of attribute {attribute!r}"
        raise ValueError(
            f"sensitive_features has groups{of} not seen at fit: "
            f"{join_names(map(repr, dict.fromkeys(unseen)))}; the known groups are "
            f"{join_names(map(repr, known))}. Map these samples to a known group, or fit on data "
            "that has theirs."
        )
