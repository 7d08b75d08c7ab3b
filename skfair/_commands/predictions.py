"""The audit of a file of predictions."""

import sys
from argparse import Namespace
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from skfair._columns.files import count_repeated_lines
from skfair._columns.reading import (
    Reading,
    check_are_numbers,
    check_complete_column,
    check_counts,
    check_numbers_of_file,
    check_optional_column,
    check_same_notation,
    count_shared_ids,
    find_label,
    has_decimals,
    place_outcomes,
    read_as,
    read_outcomes,
    refuse_one_known_class,
    refuse_repeats,
    write_labels,
)
from skfair._commands.listing import refuse_other_words
from skfair._commands.options import describe_file, read_table
from skfair._groups.samples import cover_truth
from skfair._utils.api import Label
from skfair._utils.checks import join_names
from skfair.audit import Audit, Outcomes, SensitiveFeatures


def read_audit(options: Namespace, facts: dict[str, str], *, odds_ratio: float = 1.0) -> Audit:
    """The audit of the file; `facts` has what the user states about the data, by name."""
    written, table = _read_file(options)
    if options.interval:
        if options.target is None:
            raise ValueError("--interval needs --target, the column of the true values.")
        sets = {"y_true": table[options.target], "y_pred": table[options.interval]}
        written, table = (
            one.assign(covered=cover_truth(sets)["y_pred"]) for one in (written, table)
        )
        options = Namespace(**vars(options) | {"prediction": "covered", "target": None})
    columns, positive, threshold, k = _read_columns(options, table)
    if options.interval:
        columns["covered"] = columns["y_pred"]  # says what the decisions mean
    if threshold is not None:
        facts = {"threshold": f"{threshold:g}: scores above it are positive"} | facts
    audit = Audit.from_columns(
        columns,
        _read_groups(options, table, odds_ratio),
        task=options.task,
        min_group_size=options.min_size,
        source=describe_file(options) | facts,
        pos_label=positive,
        burden=options.burden,
        are_counts=options.count is not None,
        table=written,
    )
    ids = None if options.id is None else written[options.id].to_numpy()[audit.is_used]
    audit = replace(audit, described=add_repeats(options, audit.reading, written), ids=ids)
    return audit if k is None else audit.top(k)


def add_repeats(options: Namespace, reading: Reading, written: pd.DataFrame) -> Reading:
    """The reading with rows that are repeated, and with the ids of --id, which find them."""
    n_repeated = count_repeated_lines(options.file, options.encoding, options.sheet)
    if options.id is None:
        return replace(reading, n_repeated=n_repeated)
    if options.repeats == "refuse":
        refuse_repeats(written, options.id, ", ".join(map(str, options.file)))
    return replace(
        reading,
        columns=(*reading.columns, read_as("id", written[options.id])),
        n_repeated=int(written.duplicated().sum()),
        n_shared_ids=count_shared_ids(written, options.id),
    )


def _read_file(options: Namespace) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All columns of the file that the options name, as they are written and as they are read."""
    single = [options.target, options.prediction, options.probability, options.weight]
    single += [options.decided, options.time]
    lists = [options.sensitive, options.group_probability, options.features]
    lists += [getattr(options, "control", None) or [], [options.count, options.id, options.cluster]]
    lists.append(options.interval or [])
    names = [*single, *(name for one in lists for name in one)]
    return read_table(options, [name for name in names if name is not None])


def _read_columns(options: Namespace, table: pd.DataFrame) -> tuple[Any, ...]:
    """Columns by role, the positive label, the threshold of scores, and --top."""
    roles = [options.prediction, options.probability, options.weight, options.count]
    control = getattr(options, "control", None) or []
    # Read the columns as numbers, booleans or text, and check what each must hold.
    y_pred, y_score, weights, counts = (check_optional_column(table, name) for name in roles)
    y_true = read_outcomes(table, options.target, y_pred)
    refuse_one_known_class(y_true, table)
    _check_numbers(options, y_true, y_pred, y_score, weights)
    check_numbers_of_file(y_true, y_pred, y_score, options.task)
    refuse_other_words(options, y_true, y_pred)
    classes = y_true if y_true is not None else y_pred
    positive = find_label(options.positive, classes)
    if positive is None and options.task != "regression" and pd.api.types.is_bool_dtype(classes):
        positive = True  # so that sentences name it as the file does, and not as 1
    if counts is not None:
        weights = check_counts(counts, options.count)
    # Turn scores into decisions, if the predictions are scores.
    k = _parse_top_k(options)
    threshold = _threshold(options, y_true, y_pred) if k is None else None
    if k is not None:
        y_score, y_pred = y_pred, None
    if threshold is not None:
        y_score = y_pred
        y_pred = apply_threshold(y_pred, y_true, threshold, positive)
    if y_pred is None:
        check_same_notation(None, y_true if y_score is None else y_score)
    else:
        check_same_notation(y_true, y_pred)
    outcomes = place_outcomes(y_true, table)
    if outcomes is not None:
        decided = check_optional_column(table, options.decided)
        time = check_optional_column(table, options.time)
        outcomes = Outcomes(outcomes, missing=options.missing_outcomes, decided=decided, time=time)
    columns = {
        "y_true": outcomes,
        "y_pred": y_pred,
        "y_score": y_score,
        "sample_weight": weights,
        "control_features": table[control] if control else None,
        "groups": check_optional_column(table, options.cluster),
    }
    return columns, positive, threshold, k


def _read_groups(options: Namespace, table: pd.DataFrame, odds_ratio: float) -> SensitiveFeatures:
    """What the file has of groups: labels, and probabilities with what is assumed of them."""
    names = options.group_probability
    labels = probabilities = None
    if options.sensitive:
        labels = table[options.sensitive].apply(write_labels)
    if names:
        by_name = {name: check_complete_column(table, name) for name in names}
        check_are_numbers(by_name.values())
        probabilities = pd.DataFrame(by_name)
    known = SensitiveFeatures(
        labels,
        unknown=options.unknown,
        missing=options.missing or ("exclude" if options.sensitive else "error"),
        X=_read_features(options, table),
        probabilities=probabilities,
        odds_ratio=odds_ratio,
        bins=parse_bins(options),
    )
    refuse_empty_groups(known)
    return known


def parse_bins(options: Namespace) -> dict[Label, list[float]]:
    """The numbers of --bins by column."""
    bins: dict[Label, list[float]] = {}
    for text in options.bins:
        name, _, numbers = text.rpartition("=")
        bins[name] = pd.to_numeric(pd.Series(numbers.split(",")), errors="coerce").tolist()
        if np.isnan(bins[name]).any() or name not in options.sensitive:
            raise ValueError(
                "--bins must be a column of --sensitive and the numbers at which it is divided, as "
                f"in age=40,65, but is {text!r}."
            )
    return bins


def refuse_empty_groups(known: SensitiveFeatures) -> None:
    """Raise for samples without a group where that is an error; messages name options."""
    is_empty = None if known.labels is None else known.labels.isna().any(axis=1).to_numpy()
    if is_empty is not None and known.missing == "error" and is_empty.any():
        raise ValueError(
            f"Every sample needs a group, but {int(is_empty.sum()):,} of {len(is_empty):,} rows "
            f"have none in {join_names(map(repr, known.labels))}, first in row "
            f"{is_empty.argmax() + 1}. Pass --missing exclude to leave these samples out, or "
            "--missing group to compare them as a group."
        )


def _parse_top_k(options: Namespace) -> int | float | None:
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


def _check_numbers(
    options: Namespace,
    y_true: pd.Series | None,
    y_pred: pd.Series | None,
    y_proba: pd.Series | None,
    weights: np.ndarray | None,
) -> None:
    """Raise for text where numbers are needed, and numbers with decimals where classes are."""
    is_regression = options.task == "regression"
    numeric = [y_proba, weights]
    are_scores = options.threshold is not None or getattr(options, "top", None) is not None
    numeric += [y_true, y_pred] if is_regression else [y_pred] * are_scores
    check_are_numbers(column for column in numeric if column is not None)
    if y_proba is not None and not y_proba.between(0.0, 1.0).all():
        raise ValueError(
            f"--probability must name a column of probabilities in [0, 1], but {y_proba.name!r} "
            f"has numbers from {y_proba.min():g} to {y_proba.max():g}."
        )
    if y_true is None or options.task == "regression":
        return
    if options.task == "classification" and has_decimals(y_true):
        raise ValueError(
            f"--task classification needs classes, but the target {options.target!r} has numbers "
            "with decimals; pass --task regression."
        )
    if y_pred is None:
        return  # outcomes of data without a model
    if not has_decimals(y_true) and has_decimals(y_pred) and y_true.nunique() != 2:
        raise ValueError(
            f"The prediction {options.prediction!r} has decimals, but the target "
            f"{options.target!r} holds {y_true.nunique()} classes or integers. Pass --task "
            "regression if both are quantities; else pass the predicted classes as --prediction."
        )


def _threshold(
    options: Namespace, y_true: pd.Series | None, y_pred: pd.Series | None
) -> float | None:
    """Threshold of scores; None if the predictions are not scores."""
    if options.task == "regression" or y_pred is None:
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


def _refuse_percentages(scores: pd.Series, threshold: float) -> None:
    """Raise for scores up to 100 with a threshold between 0 and 1."""
    if 0.0 < threshold < 1.0 and scores.min() >= 0.0 and 10.0 < scores.max() <= 100.0:
        raise ValueError(
            f"--threshold {threshold:g} may be a share, or a number among the scores of "
            f"{scores.name!r}, which go from {scores.min():g} to {scores.max():g}. Pass it in the "
            f"unit of the scores, as --threshold {100 * threshold:g}, or scores from 0 to 1."
        )


def apply_threshold(
    scores: pd.Series, y_true: pd.Series | None, threshold: float, positive: Label | None
) -> pd.Series:
    """Classes of scores: positive above the threshold; booleans without a target."""
    _refuse_percentages(scores, threshold)
    name = f"{scores.name} above {threshold:g}"
    if y_true is None:
        return (scores > threshold).rename(name)
    labels = sorted(y_true.unique().tolist(), key=str)
    if len(labels) != 2:
        raise ValueError(
            "--threshold turns scores into decisions between two classes, but the target has "
            f"{len(labels)}; leave it out."
        )
    positive = labels[1] if positive is None else positive
    other = next(label for label in labels if label != positive)
    return (scores > threshold).map({True: positive, False: other}).rename(name)


def _read_features(options: Namespace, table: pd.DataFrame) -> pd.DataFrame | None:
    """The columns of --features, as numbers or categories; None without any."""
    if not options.features:
        return None
    return pd.DataFrame({name: check_complete_column(table, name) for name in options.features})
