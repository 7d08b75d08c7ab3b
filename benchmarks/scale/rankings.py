"""Time of `rerank`: sizes of one query, and many short queries."""

from functools import partial
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately, time_call
from skfair._postprocessing import quotas
from skfair._utils.checks import mute_warnings
from skfair.ranking import rerank

SIZES = {  # (candidates, places, attributes): maximum of CPU seconds
    (200, 20, 2): 0.1,
    (400, 40, 2): 0.2,
    (1000, 100, 2): 2.0,
    (200, 20, 3): 1.0,
    (400, 40, 3): 5.0,
    (600, 60, 3): 30.0,
}
PROGRAMS = {(200, 20, 2), (1000, 100, 2)}
"""Sizes whose integer program is solved, too: its value must be equal."""
N_QUERIES, N_DOCUMENTS, N_PLACES = 500, 20, 10
QUOTAS = {"sex": {"f": 0.4}, "race": {"other": 0.2}, "age": {"young": 0.35, "old": 0.3}}
"""Minimum shares, of about a third, an eighth and twice .3 of the candidates."""


@smallest(
    SIZES={(40, 5, 2): 1.0, (40, 5, 3): 1.0},
    PROGRAMS={(40, 5, 2)},
    N_QUERIES=4,
)
def rankings(budget):
    """CPU seconds of rerank by candidates, places and attributes, with shares and with lists."""
    records, checks = [], []
    for size, bound in SIZES.items():
        runs = run_alternately(_list_contenders(size), budget.n_runs)
        seconds = {name: median_seconds(of_name) for name, of_name in runs.items()}
        n_candidates, n_places, n_attributes = size
        what = f"{n_candidates:,} x {n_places}, {n_attributes} attributes"
        record = {"candidates": n_candidates, "places": n_places, "attributes": n_attributes}
        records.append(record | {f"CPU s, {name}": one for name, one in seconds.items()})
        checks.append(Check(f"CPU s, {what}", [*seconds.values()], "<=", bound))
        if size in PROGRAMS:
            difference = _compare_with_program(*size)
            checks.append(Check(f"value - program's, {what}", [difference], ">=", -1e-9))
    seconds = time_call(partial(_rank_queries, N_QUERIES), 0).seconds
    checks.append(
        Check(f"CPU s, {N_QUERIES} queries of {N_DOCUMENTS} documents", [seconds], "<=", 1.0)
    )
    return Report("Rankings with quotas", records, checks)


def _list_contenders(size):
    """Rankings of one size, with minimum shares of the places, and of each prefix of them."""
    n_candidates, n_places, n_attributes = size
    minimum = dict([*QUOTAS.items()][:n_attributes])
    lists = {
        attribute: {label: _list_prefixes(share, n_places) for label, share in of_labels.items()}
        for attribute, of_labels in minimum.items()
    }
    return {
        "shares": partial(_rank, n_candidates, n_places, minimum),
        "lists": partial(_rank, n_candidates, n_places, lists),
    }


def _list_prefixes(share, n_places):
    """The share of each prefix, rounded down."""
    return [int(share * rank) for rank in range(1, n_places + 1)]


def _draw(n_candidates, seed):
    """Scores of candidates, lower for minorities, and their sex, race and age."""
    rng = np.random.default_rng(seed)
    columns = pd.DataFrame(
        {
            "sex": np.where(rng.random(n_candidates) < 0.31, "f", "m"),
            "race": np.where(rng.random(n_candidates) < 0.12, "other", "white"),
            "age": rng.choice(["young", "middle", "old"], n_candidates, p=[0.3, 0.4, 0.3]),
        }
    )
    is_major = 0.15 * (columns["sex"] == "m") + 0.1 * (columns["race"] == "white")
    return rng.beta(2, 5, n_candidates) + is_major.to_numpy(), columns


def _rank(n_candidates, n_places, minimum, seed):
    """Rank one query; return the sum of score times attention."""
    scores, columns = _draw(n_candidates, seed)
    ranks = rerank(
        scores,
        np.zeros(n_candidates),
        sensitive_features=columns[[*minimum]],
        k=n_places,
        minimum=minimum,
    )
    return float((scores / np.log2(1.0 + ranks))[ranks <= n_places].sum())


def _rank_queries(n_queries, seed):
    """Rank many queries with lists for both of two attributes."""
    n_documents = n_queries * N_DOCUMENTS
    scores, columns = _draw(n_documents, seed)
    shares = {"sex": {"f": 0.3}, "race": {"other": 0.1}}
    minimum = {
        attribute: {label: _list_prefixes(share, N_PLACES) for label, share in of_labels.items()}
        for attribute, of_labels in shares.items()
    }
    query = np.repeat(np.arange(n_queries), N_DOCUMENTS)
    # Some queries of 20 documents have fewer than a group needs, which warnings name.
    with mute_warnings():
        rerank(
            scores,
            query,
            sensitive_features=columns[["sex", "race"]],
            k=N_PLACES,
            minimum=minimum,
        )


def _compare_with_program(n_candidates, n_places, n_attributes):
    """The value of the search minus that of the integer program, for shares."""
    rank = _list_contenders((n_candidates, n_places, n_attributes))["shares"]
    value = rank(0)
    with patch.object(quotas, "_MAX_STATES", 0):
        return value - rank(0)
