"""Pools of law students by score and offset of the group, next to FA*IR at the same exposure."""

import numpy as np
from scipy.stats import binom
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import ndcg_score

from benchmarks.data import fetch_law_school
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.constraints import ExposureParity
from skfair.metrics import exposure_ratio
from skfair.ranking import ConstrainedRankerCV

SEEDS = (10, 11, 12, 13)
"""Seeds of the halves and of the pools; none of them was used for any choice."""

SHARES = (0.17, 0.25, 0.33)
"""Smallest shares of the minority in the first ranks that FA*IR tests."""

N_POOLS, N_STUDENTS, N_TIMED = 250, 100, 1000
SIGNIFICANCE = 0.1


@smallest(SEEDS=(10,), SHARES=(0.25,), N_POOLS=6, N_STUDENTS=20, N_TIMED=10)
def exposure(budget):
    """Ranking of pools by offsets: NDCG at the exposure of FA*IR, and seconds."""
    records = []
    gains = []
    seconds = []
    for seed in SEEDS:
        X, y, is_minority, ranker, rng = _fit_scores(seed)
        rows, pool = _draw_pools(rng, len(y), N_POOLS)
        columns = {"sensitive_features": is_minority[rows], "query_id": pool}
        scores = ranker.predict(X[rows])
        for share in SHARES:
            peer = _rank_fair(scores, is_minority[rows], share)
            ratio = exposure_ratio(peer, **columns)
            fair = ConstrainedRankerCV(
                ranker, ExposureParity(ratio=ratio), group_estimator="sensitive_features"
            ).fit(X[rows], y[rows], **columns)
            ours = fair.predict(X[rows], sensitive_features=is_minority[rows])
            record = {"seed": seed, "share": share, "ratio of FA*IR": ratio}
            record["ratio"] = exposure_ratio(ours, **columns)
            for name, one in {"plain": scores, "FA*IR": peer, "ours": ours}.items():
                record[f"NDCG, {name}"] = _mean_ndcg(y[rows], one)
            records.append(record)
            gains.append(record["NDCG, ours"] - record["NDCG, FA*IR"])
        timed, pool = _draw_pools(rng, len(y), N_TIMED)
        run = time_call(_rank, fair, X[timed], is_minority[timed], pool)
        seconds.append(run.seconds)
    checks = [
        Check("NDCG above that of FA*IR", gains, ">=", 0.0),
        Check("ratio above that of FA*IR", _differences(records), ">=", -1e-9),
        Check(f"CPU seconds to rank {N_TIMED} pools of {N_STUDENTS}", seconds, "<=", 1.0),
    ]
    return Report(f"{N_POOLS} pools of {N_STUDENTS} law students", records, checks)


def _differences(records):
    return [record["ratio"] - record["ratio of FA*IR"] for record in records]


def _fit_scores(seed):
    """Features, grades and minority of half of the students, and scores fitted to the others."""
    bunch = fetch_law_school(drop_sensitive=True)
    data = bunch.data.select_dtypes("number").astype(float)
    X = data.drop(columns=["zfygpa", "zgpa"]).to_numpy()
    y = data["zgpa"].to_numpy()
    is_minority = np.asarray(bunch.sensitive_features, dtype=str) == "Non-White"
    rng = np.random.default_rng(seed)
    train, test = np.array_split(rng.permutation(len(y)), 2)
    boosting = HistGradientBoostingRegressor(max_iter=80, random_state=0).fit(X[train], y[train])
    return X[test], y[test], is_minority[test], FrozenEstimator(boosting), rng


def _draw_pools(rng, n_students, n_pools):
    """Rows of the students of each pool, and the number of the pool."""
    size = min(N_STUDENTS, n_students)
    rows = [rng.choice(n_students, size, replace=False) for _ in range(n_pools)]
    return np.concatenate(rows), np.repeat(np.arange(n_pools), size)


def _rank(fair, X, is_minority, pool):
    """Positions of the students, pool by pool, best first."""
    return np.lexsort((-fair.predict(X, sensitive_features=is_minority), pool))


def _rank_fair(scores, is_minority, share):
    """Scores that rank each pool as FA*IR, at least as many of the minority in the first k ranks.

    M. Zehlike et al., "FA*IR: A fair top-k ranking algorithm", CIKM 2017, algorithm 2 with all
    candidates as k, without the adjustment of the significance.
    """
    ranked = np.empty(len(scores))
    size = min(N_STUDENTS, len(scores))
    needed = binom.ppf(SIGNIFICANCE, np.arange(1, size + 1), share)
    for start in range(0, len(scores), size):
        of_pool = slice(start, start + size)
        order = np.argsort(-scores[of_pool], kind="stable")
        queues = {
            one: [k for k in order if is_minority[of_pool][k] == one] for one in (True, False)
        }
        n_minority = 0
        for rank in range(size):
            is_due = n_minority < needed[rank]
            best = {one: scores[of_pool][queue[0]] for one, queue in queues.items() if queue}
            taken = True if is_due and True in best else max(best, key=best.get)
            ranked[start + queues[taken].pop(0)] = -rank
            n_minority += taken
    return ranked


def _mean_ndcg(y, scores):
    size = min(N_STUDENTS, len(y))
    relevance = y.reshape(-1, size)
    relevance = relevance - relevance.min(axis=1, keepdims=True)
    return float(ndcg_score(relevance, scores.reshape(-1, size)))
