"""The command ``python -m skfair example``: a file of decisions on which to try the others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.datasets import make_loans

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_N_TRAINING = 3000
_N_ROWS = 3000


def add_example_options(example: ArgumentParser) -> None:
    """Add the options of ``python -m skfair example`` to its parser."""
    example.description = (
        "Write a CSV file of 3,000 generated loan decisions, to try the other commands. All "
        "outcomes are known, since the applicants are generated. The exit status is 0, and 2 after "
        "an error."
    )
    example.add_argument("file", type=Path, metavar="FILE", help="file to write, such as loans.csv")
    example.set_defaults(run=_run_example)


def _run_example(options: Namespace) -> int:
    """Write the file, and print what to call next; return the exit status."""
    if options.file.exists():
        raise FileExistsError(
            f"FILE must not exist, so that no data are lost, but {options.file} does. Name another."
        )
    draw_decisions().to_csv(options.file, index=False)
    print(f"{_N_ROWS:,} loan decisions are in {options.file}. The next command lists its columns:")
    print(f"python -m skfair report {options.file}")
    return 0


def draw_decisions() -> pd.DataFrame:
    """Return a table of held-out applicants: features, sex, decisions by a model, and outcomes."""
    X, y, sex = make_loans(_N_TRAINING + _N_ROWS, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(X[:_N_TRAINING], y[:_N_TRAINING])
    held_out = slice(_N_TRAINING, None)
    days = pd.date_range("2026-01-01", "2026-12-31", periods=_N_ROWS)
    return (
        X[held_out]
        .round(1)
        .assign(
            sex=sex[held_out],
            date=days.strftime("%Y-%m-%d"),
            decision=np.where(model.predict(X[held_out]), "approved", "denied"),
            repaid=np.where(y[held_out], "yes", "no"),
        )
    )
