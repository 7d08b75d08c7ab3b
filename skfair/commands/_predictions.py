"""Predictions of a file, as arguments of reports and certificates."""

import sys

import pandas as pd

from skfair.audit import (
    check_complete_column,
    check_counts,
    check_missing_marks,
    check_same_notation,
    find_label,
    has_decimals,
    holds_numbers,
    read_columns,
)
from skfair.groups import check_groups, fill_missing


def read_predictions(options):
    """The columns of the file as arguments of `from_predictions`, and the threshold of scores."""
    roles = [options.target, options.prediction, options.probability, options.weight]
    roles.append(options.count)
    control = getattr(options, "control", None) or []
    groups = *options.sensitive, *options.group_probability
    names = [name for name in (*roles, *groups, *control) if name is not None]
    # Read the columns as numbers, booleans or text, and check what each must hold.
    table = read_columns(options.file, list(dict.fromkeys(names)))
    y_true, y_pred, y_proba, weights, counts = (
        check_complete_column(table, name) for name in roles
    )
    check_missing_marks(y_true, y_pred)
    _check_numbers(options, y_true, y_pred, y_proba, weights)
    positive = find_label(options.positive, y_true if y_true is not None else y_pred)
    columns = {"sample_weight": weights, "pos_label": positive}
    columns |= {} if y_proba is None else {"y_proba": y_proba}
    if counts is not None:
        columns["counts"] = pd.Series(check_counts(counts, options.count), index=counts.index)
    columns |= {"control_features": table[control]} if control else {}
    # Turn scores into decisions, if the predictions are scores.
    k = _parse_top_k(options)
    threshold = _threshold(options, y_true, y_pred) if k is None else None
    if k is not None:
        name = "y_proba" if y_pred.between(0.0, 1.0).all() else "y_score"
        columns |= {name: y_pred, "k": k}
        y_pred = None
    if threshold is not None:
        name = "y_proba" if y_pred.between(0.0, 1.0).all() else "y_score"
        columns[name], y_pred = y_pred, _apply_threshold(y_pred, y_true, threshold, positive)
    if y_pred is not None:
        check_same_notation(y_true, y_pred)
    columns |= {"y_true": y_true, "y_pred": y_pred} | _read_groups(table, options)
    return columns, threshold


def count_samples_of_rows(columns, missing, unknown):
    """Columns of rows that stand for as many samples as ``counts`` says, if there are counts."""
    if "counts" not in columns:
        return columns
    groups, counts = columns["sensitive_features"], columns.pop("counts").to_numpy()
    if missing != "error" or unknown:
        groups = fill_missing(groups, unknown or ())
    groups = check_groups(groups, len(counts)).copy_with_multiplicity(counts)
    return columns | {"sensitive_features": groups, "sample_weight": counts}


def _read_groups(table, options):
    """What the file has of groups: labels, and probabilities with what is assumed of them."""
    known = {"sensitive_features": None, "X": read_features(options), "assume": options.assume}
    if options.sensitive:
        groups = table[options.sensitive].astype(object)
        known["sensitive_features"] = groups.map(str).where(groups.notna(), None)
    if options.group_probability:
        names = options.group_probability
        by_name = {name: check_complete_column(table, name) for name in names}
        _check_are_numbers(by_name.values())
        known["group_probabilities"] = pd.DataFrame(by_name)
    return known


def _parse_top_k(options):
    """The number of places, or their share, of --top; None without it."""
    text = getattr(options, "top", None)
    if text is None:
        return None
    unused = [name for name in ("threshold", "probability") if getattr(options, name) is not None]
    if unused:
        raise ValueError(
            f"--top makes decisions of the scores in --prediction; leave out --{unused[0]}."
        )
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise ValueError(
            f"--top must be a number of places, such as 100, or a share, such as 0.1; got {text!r}."
        ) from None


def _check_numbers(options, y_true, y_pred, y_proba, weights):
    """Raise for text where numbers are needed, and numbers with decimals where classes are."""
    is_regression = options.kind == "regression"
    numeric = [y_proba, weights]
    are_scores = options.threshold is not None or getattr(options, "top", None) is not None
    numeric += [y_true, y_pred] if is_regression else [y_pred] * are_scores
    _check_are_numbers(column for column in numeric if column is not None)
    if y_true is None or options.kind == "regression":
        return
    if options.kind == "classification" and has_decimals(y_true):
        raise ValueError(
            f"--kind classification needs classes, but the target {options.target!r} has numbers "
            "with decimals; pass --kind regression."
        )
    if not has_decimals(y_true) and has_decimals(y_pred) and y_true.nunique() != 2:
        raise ValueError(
            f"The prediction {options.prediction!r} has decimals, but the target "
            f"{options.target!r} holds {y_true.nunique()} classes or integers. Pass --kind "
            "regression if both are quantities; else pass the predicted classes as --prediction."
        )


def _check_are_numbers(columns):
    """Raise for a column that holds text."""
    for column in columns:
        if not holds_numbers(column):
            numbers = pd.to_numeric(column, errors="coerce")
            wrong = column[numbers.isna()].iloc[0] if numbers.isna().any() else column.iloc[0]
            raise ValueError(
                f"The column {column.name!r} must hold numbers, but it holds {wrong!r}. Write "
                "decimals with a point, and no separators of thousands."
            )


def _threshold(options, y_true, y_pred):
    """Threshold of scores; None if the predictions are not scores."""
    if options.kind == "regression":
        return None
    if options.threshold is not None or y_true is None or y_true.nunique() != 2:
        return options.threshold
    if not pd.api.types.is_float_dtype(y_pred) or set(y_pred.unique()) <= {0.0, 1.0, -1.0}:
        return None
    if not y_pred.between(0.0, 1.0).all():
        raise ValueError(
            f"{options.target} has two classes, but {options.prediction} holds numbers from "
            f"{y_pred.min():g} to {y_pred.max():g}; pass --threshold, above which scores count as "
            "positive."
        )
    print(
        f"{options.prediction} holds probabilities: those above 0.5 count as positive; "
        "--threshold changes that.",
        file=sys.stderr if options.json == "-" else sys.stdout,
    )
    return 0.5


def _apply_threshold(scores, y_true, threshold, positive):
    """Classes of scores: positive above the threshold; booleans without a target."""
    if y_true is None:
        return scores > threshold
    labels = sorted(y_true.unique().tolist(), key=str)
    if len(labels) != 2:
        raise ValueError(
            "--threshold turns scores into decisions between two classes, but the target has "
            f"{len(labels)}; leave it out."
        )
    positive = labels[1] if positive is None else positive
    other = next(label for label in labels if label != positive)
    return (scores > threshold).map({True: positive, False: other})


def read_features(options):
    """The columns of --features, as numbers or categories; None without any."""
    if not options.features:
        return None
    table = read_columns(options.file, options.features)
    return pd.DataFrame({name: check_complete_column(table, name) for name in options.features})
