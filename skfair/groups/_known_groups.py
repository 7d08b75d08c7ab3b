"""Encode sensitive features by the groups that were known at fit."""

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
    """Group of each sample as a row of ``summary.labels``, (n_samples,).

    Raises a ValueError if a group was not seen at fit, and a TypeError if labels are of another
    type than at fit, such as True for 1.
    """
    # Encode the samples, then translate their groups to those known at fit.
    groups = check_groups(sensitive_features, n_samples)
    _check_attributes(groups.labels.shape[1], summary.labels.shape[1])
    known = {name: code for code, name in enumerate(group_names(summary.labels))}
    _check_known([name for name in group_names(groups.labels) if name not in known], known)
    # A dict takes True for 1, so types are compared as well.
    check_equal_label_types(map(tuple, [*summary.labels.tolist(), *groups.labels.tolist()]))
    matched = [known[name] for name in group_names(groups.labels)]
    return np.array(matched, dtype=np.intp)[groups.codes]


def encode_groups_to_predict(sensitive_features, n_samples, summary, reason):
    """As `encode_known_groups`, for predictions that depend on the group.

    `sensitive_features` may be None if there was one group at fit. `reason` says why predictions
    depend on the group, and how to do without, as sentences for the error: a
    MissingSensitiveFeaturesError, or a `SearchError` in a search that would score it as nan.
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
    """Groups of each sample by single attributes, as rows of ``summary.labels``.

    The summary is one of groups called by pairs (attribute, value); the codes are of shape
    (n_samples, n_attributes).
    """
    groups = check_groups(sensitive_features, n_samples)
    codes_by_attribute = {}
    for code, (attribute, value) in enumerate(summary.labels[:, 0]):
        codes_by_attribute.setdefault(attribute, {})[value] = code
    _check_attributes(groups.labels.shape[1], len(codes_by_attribute))
    # Attributes are matched by position, since their names may differ from those at fit.
    columns = []
    for (attribute, codes), column in zip(codes_by_attribute.items(), groups.labels.T, strict=True):
        _check_known([value for value in column if value not in codes], codes, attribute)
        check_one_label_type([*codes, *column.tolist()], f"attribute {attribute!r}")
        columns.append([codes[value] for value in column])
    return np.array(columns, dtype=np.intp).T[groups.codes]


def _check_attributes(n_attributes, expected):
    """Refuse another number of attributes than at fit."""
    if n_attributes != expected:
        raise ValueError(
            f"sensitive_features has {n_attributes} attribute(s) but the estimator was fitted with "
            f"{expected}; pass the same attributes as at fit, in the same order."
        )


def _check_known(unknown, known, attribute=None):
    """Refuse groups, or values of an attribute, that were not known at fit."""
    if unknown:
        place = "" if attribute is None else f" of attribute {attribute!r}"
        raise ValueError(
            f"sensitive_features has groups{place} not seen at fit: "
            f"{join_names(map(repr, dict.fromkeys(unknown)))}; the known groups are "
            f"{join_names(map(repr, known))}. Map these samples to a known group, or fit on data "
            "that has theirs."
        )
