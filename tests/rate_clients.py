"""What each rate works for: ``python -m tests.rate_clients`` prints the table.

Twelve rates are measured, scored, reported, constrained, certified and monitored, on samples in
memory, in a file of blocks, and on a Dask DataFrame. A cell is "yes" if the client gives a finite
answer, or the message of the error by which it refuses. ``tests/test_rate_clients.py`` states which
cells are refused.
"""

import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from skfair._partitions.blocks import Blocks, open_blocks
from skfair._partitions.collections import load_rows
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import MinimumRate, RateParity
from skfair.metrics import Rate, group_report, make_scorer
from skfair.metrics._rates import find_rate
from skfair.monitoring import GapMonitor
from tests.audit.doors import certify_model, report_model

RATES = (
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "true_negative_rate",
    "false_negative_rate",
    "accuracy",
    "positive_predictive_value",
    "negative_predictive_value",
    "f1_score",
    "jaccard_score",
    Rate("cost", {"fn": 5, "fp": 1}),
    "treatment_equality",
)

STORAGES = ("memory", "file", "dask")

N_SAMPLES, N_FEATURES = 600, 2


class Columns(NamedTuple):
    """The samples in one storage."""

    X: object
    y: object
    group: object


def make_columns(storage, folder, noise=0.0):
    """Samples of two groups with unequal rates, in memory, in a file or in Dask.

    The second group has that much more noise in its outcomes.
    """
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, N_FEATURES)) + 0.5 * group[:, np.newaxis]
    scale = 1.0 + noise * group
    y = (X.sum(axis=1) + scale * rng.normal(size=N_SAMPLES) > 0.5).astype(int)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, group=group)
    if storage == "file":
        path = Path(folder) / "samples.parquet"
        frame.to_parquet(path, row_group_size=200, index=False)
        frame = open_blocks(path)
    elif storage == "dask":
        import dask.dataframe as dd

        frame = dd.from_pandas(frame, npartitions=3)
    return Columns(frame[["a", "b"]], frame["y"], frame["group"])


def name_of(rate):
    """Name of a rate."""
    return find_rate(rate).name


def fit_plain(columns, constraint=None, **settings):
    """A linear classifier under a constraint, or without."""
    model = ConstrainedERMClassifier(constraint, **settings)
    return model.fit(columns.X, columns.y, sensitive_features=columns.group)


def metric(rate, columns, model):
    """Rates of decisions by group."""
    y = columns.y
    group = columns.group
    decisions = model.predict(columns.X)
    if isinstance(y, Blocks):  # decisions about the blocks of a file are in memory
        y, group = load_rows(y), load_rows(group)
    report = group_report(y, decisions, sensitive_features=group, metrics=[rate])
    return report[name_of(rate)]


def score(rate, columns, model):
    """The smallest rate of a group, as a scorer for searches."""
    scorer = make_scorer(rate, transform="group_min")
    return scorer(model, columns.X, columns.y, sensitive_features=columns.group)


def report(rate, columns, model):
    """An audit of the model with the rate."""
    audit = report_model(
        model, columns.X, columns.y, sensitive_features=columns.group, metrics=[rate]
    )
    return audit.to_frame()["estimate"]


def keep_parity(rate, columns, model):
    """A fit whose rates differ by .1 at most."""
    return fit_plain(columns, RateParity(rate, tolerance=0.1)).constraint_violation_


def keep_ratio(rate, columns, model):
    """A fit whose smallest rate is .8 of the largest at least."""
    return fit_plain(columns, RateParity(rate, ratio=0.8)).constraint_violation_


def keep_floor(rate, columns, model):
    """A fit with a smallest rate."""
    return fit_plain(columns, MinimumRate(rate, 0.1)).constraint_violation_


def give_certificate(rate, columns, model):
    """A certificate of held-out data."""
    constraint = RateParity(rate, tolerance=0.9)
    certificate = certify_model(
        model,
        columns.X,
        columns.y,
        sensitive_features=columns.group,
        constraint=constraint,
        min_group_size=1,
    )
    return certificate.estimate


def monitor(rate, columns, model):
    """A monitor of decisions."""
    watch = GapMonitor(RateParity(rate), tolerance=0.9)
    watch.update(columns.y, model.predict(columns.X), sensitive_features=columns.group)
    return watch.summary()["gap"]


CLIENTS = {
    "metric": metric,
    "scorer": score,
    "report": report,
    "parity": keep_parity,
    "ratio": keep_ratio,
    "floor": keep_floor,
    "certificate": give_certificate,
    "monitor": monitor,
}


def try_client(client, rate, columns, model):
    """ "yes" if the client gives finite numbers, else why not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = np.asarray(CLIENTS[client](rate, columns, model), dtype=float)
        except (TypeError, ValueError, NotImplementedError, AttributeError) as error:
            return f"{type(error).__name__}: {error}"
    return "yes" if np.isfinite(answer).all() else f"not finite: {answer}"


def tabulate(storages=STORAGES):
    """One row per storage, rate and client, with the outcome."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for storage in storages:
            columns = make_columns(storage, folder)
            model = fit_plain(make_columns("memory", folder))
            for rate in RATES:
                for client in CLIENTS:
                    outcome = try_client(client, rate, columns, model)
                    rows.append((storage, name_of(rate), client, outcome))
    return pd.DataFrame(rows, columns=["storage", "rate", "client", "outcome"])


def main():
    """Print the table, and the messages of refusals."""
    table = tabulate()
    is_offered = table["outcome"] == "yes"
    short = table.assign(outcome=np.where(is_offered, "yes", "-"))
    for storage in STORAGES:
        print(f"\n{storage}")
        rows = short[short["storage"] == storage]
        table_of = rows.pivot(index="rate", columns="client", values="outcome")
        print(table_of.loc[[name_of(rate) for rate in RATES], [*CLIENTS]].to_string())
    print(f"\n{is_offered.sum()} of {len(table)} work")
    for message, rows in table[~is_offered].groupby("outcome"):
        where = sorted({f"{row.storage} {row.client} {row.rate}" for row in rows.itertuples()})
        print(f"\n{message}\n  {', '.join(where)}")


if __name__ == "__main__":
    main()
