"""Other methods for fair k-means, each compared with ours at its balance."""

from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from benchmarks.kmeans_cases import problem
from benchmarks.peers.kmeans_methods import fair_assignment_lp, fairlet_kmeans, vfairkm
from benchmarks.sizes import smallest
from benchmarks.tables import Report
from benchmarks.timing import time_call
from skfair.cluster import FairKMeans


@smallest()
def peer_methods(budget):
    """Cost, balance and time of other methods, and of ours at the same balance."""
    case = problem("Adult_K10")
    X, codes, n_clusters = case.X, case.codes, case.n_clusters

    def kmeans():
        return KMeans(n_clusters, n_init=10, random_state=0).fit(X).labels_

    def assignment(level):
        model = KMeans(n_clusters, n_init=10, random_state=0).fit(X)
        distances = cdist(X, model.cluster_centers_, "sqeuclidean")
        _, shares = fair_assignment_lp(distances, codes, level * case.balance)
        return shares.argmax(axis=1)

    methods = {"k-means": kmeans}
    for level in (0.5, 0.8, 0.95):
        methods[f"k-means, fair assignment at {level:.0%}"] = lambda level=level: assignment(level)
    for mu in (500, 1500, 3260):
        methods[f"VfairKM, mu = {mu}"] = lambda mu=mu: vfairkm(
            X, codes, n_clusters, mu, random_state=0
        )
    methods["fairlets"] = lambda: fairlet_kmeans(X, codes, n_clusters, random_state=0)
    FairKMeans(n_clusters, random_state=0).fit(X, sensitive_features=codes)  # warms up
    records = [_compare(case, name, time_call(method)) for name, method in methods.items()]
    return Report("Other methods and FairKMeans at their balance, Adult_K10", records, [])


def _compare(case, name, peer):
    cost, balance = case.objectives(peer.result)
    model = FairKMeans(
        case.n_clusters, min_balance=min(1.0, balance / case.balance), random_state=0
    )
    ours = time_call(lambda: model.fit(case.X, sensitive_features=case.codes).labels_)
    our_cost, our_balance = case.objectives(ours.result)
    return {
        "method": name,
        "relative balance": balance / case.balance,
        "ours, balance": our_balance / case.balance,
        "cost": cost,
        "ours, cost": our_cost,
        "saved, %": 100 * (1 - our_cost / cost),
        "CPU s": peer.seconds,
        "ours, CPU s": ours.seconds,
    }
