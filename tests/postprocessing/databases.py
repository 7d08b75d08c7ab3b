"""Databases that compute an expression of SQL from scores and probabilities of events."""

import sqlite3
from importlib.util import find_spec

import numpy as np


def _make_table(scores, probabilities):
    """Names and rows of the columns that rules take."""
    events = np.ndindex(probabilities.shape[1:])
    names = ["score", *(f"p_{event}_{group}" for event, group in events)]
    return names, np.column_stack([scores, probabilities.reshape(len(scores), -1)]).tolist()


def query_sqlite(expression, scores, probabilities):
    """Values of the expression in SQLite, in the order of the samples."""
    names, rows = _make_table(scores, probabilities)
    with sqlite3.connect(":memory:") as connection:
        connection.create_function("EXP", 1, lambda x: float(np.exp(x)))
        connection.create_function("LN", 1, lambda x: float(np.log(x)))
        connection.execute(f"CREATE TABLE inputs ({', '.join(f'{one} REAL' for one in names)})")
        marks = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO inputs VALUES ({marks})", rows)
        query = f"SELECT {expression} FROM inputs ORDER BY rowid"
        return [value for (value,) in connection.execute(query)]


def query_duckdb(expression, scores, probabilities):
    """Values of the expression in DuckDB."""
    import duckdb

    names, rows = _make_table(scores, probabilities)
    with duckdb.connect() as connection:
        columns = ", ".join(f"{one} DOUBLE" for one in ("row", *names))
        connection.execute(f"CREATE TABLE inputs ({columns})")
        marks = ", ".join("?" * (len(names) + 1))
        rows = [[number, *row] for number, row in enumerate(rows)]
        connection.executemany(f"INSERT INTO inputs VALUES ({marks})", rows)
        query = f"SELECT {expression} FROM inputs ORDER BY row"
        return [value for (value,) in connection.execute(query).fetchall()]


DATABASES = [query_sqlite] + [query_duckdb] * (find_spec("duckdb") is not None)
"""Functions of the databases that are installed."""
