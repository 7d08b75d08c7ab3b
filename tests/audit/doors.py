"""Audits of settings by name, which tests vary one at a time."""

from dataclasses import replace

import numpy as np
from sklearn.utils.multiclass import type_of_target

from skfair.audit import Audit, SensitiveFeatures, _certify
from skfair.audit._sensitive_features import as_sensitive_features

_OF_GROUPS = {"missing", "unknown", "X", "odds_ratio"}
_OF_DATA = {"sample_weight", "control_features", "task", "pos_label", "min_group_size", "source"}
_OF_MODEL = _OF_DATA - {"task"} | {"X_fit"}


def skip_unexamined_numbers(monkeypatch):
    """Leave out of claims the required size, which takes most of the time."""
    monkeypatch.setattr(_certify, "_required_size", lambda *_: None)


def make_audit(y_true, y_pred, *, y_score=None, y_proba=None, sensitive_features=None, **settings):
    """The audit of predictions, and the settings that are none of its data."""
    known = {name: settings.pop(name) for name in _OF_GROUPS & set(settings)}
    known["probabilities"] = settings.pop("group_probabilities", None)
    if any(value is not None for value in known.values()):
        groups = SensitiveFeatures(sensitive_features, **known)
    else:
        groups = as_sensitive_features(sensitive_features)
    data = {name: settings.pop(name) for name in _OF_DATA & set(settings)}
    columns = {
        "y_pred": y_pred,
        "y_true": y_true,
        "y_score": y_proba if y_score is None else y_score,
    }
    columns |= {name: data.pop(name, None) for name in ("sample_weight", "control_features")}
    return Audit.from_columns(columns, groups, **data), settings


def report_predictions(
    y_true, y_pred, *, k=None, subgroups=False, title=None, min_share=0.02, **settings
):
    """The report of predictions, or of the decisions for the k highest scores."""
    audit, settings = make_audit(y_true, y_pred, **settings)
    subgroups = audit.subgroups() if subgroups else None
    settings |= {"title": title, "min_share": min_share, "subgroups": subgroups}
    return (audit if k is None else audit.top(k)).report(**settings)


def search_predictions(y_true, y_pred, **settings):
    """The subgroups of decisions that depart most."""
    audit, settings = make_audit(y_true, y_pred, **{"task": "classification"} | settings)
    return audit.subgroups(**settings)


def audit_model(estimator, X, y, *, sensitive_features=None, **settings):
    """The audit of a model whose groups may not all be known, and the settings of its answers."""
    known = {name: settings.pop(name) for name in _OF_GROUPS & set(settings)}
    known["probabilities"] = settings.pop("group_probabilities", None)
    groups = sensitive_features
    if any(value is not None for value in known.values()):
        groups = SensitiveFeatures(groups, **known)
    data = {name: settings.pop(name) for name in _OF_MODEL & set(settings)}
    return Audit.from_estimator(estimator, X, y, sensitive_features=groups, **data), settings


def report_model(estimator, X, y=None, **settings):
    """The report of a model."""
    audit, settings = audit_model(estimator, X, y, **settings)
    return audit.report(**settings)


def certify_model(estimator, X, y, **settings):
    """The claim about a model."""
    audit, settings = audit_model(estimator, X, y, **settings)
    return audit.certify(**settings)


def certify_predictions(y_true, y_pred, **settings):
    """The certificate of decisions, or of scores where classes are the outcomes."""
    task = settings.get("task")
    are_scores = task is None and np.asarray(y_pred).dtype.kind == "f"
    if are_scores and (y_true is None or type_of_target(y_true) != "continuous"):
        are_scores = type_of_target(y_pred) == "continuous"
    else:
        are_scores = False
    if are_scores:
        settings = settings | {"y_score": y_pred}
        y_pred = None
    audit, settings = make_audit(y_true, y_pred, **settings)
    return audit.certify(**settings)


def compare_models(y_true, before, after, **settings):
    """The changes between two models on the same samples."""
    names = settings.pop("names", ("before", "after"))
    audit, settings = make_audit(y_true, before, **settings)
    return replace(audit.compare(after, **settings), names=names)


def compare_periods(before, after, **settings):
    """The changes between two periods, each of which is a dict of columns."""
    audits = [
        make_audit(one.get("y_true"), **{n: v for n, v in one.items() if n != "y_true"})[0]
        for one in (before, after)
    ]
    return audits[0].compare(audits[1], **settings)
