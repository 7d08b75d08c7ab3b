"""
Fair and unconstrained models compared
======================================

``make demo`` runs this script: the cost of balanced clusters, and of parity of the decisions of a
boosting model, as tables, and as figures in the folder ``demo``. The data are the census data Adult
or, without a network, patients that scikit-learn includes and generated applicants.
"""

import time
from concurrent.futures import Future
from pathlib import Path
from threading import Thread

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize, scale

from skfair._kernels import compile_at_first_call
from skfair.classification import ConstrainedClassifierCV
from skfair.cluster import FairKMeans, cluster_front
from skfair.datasets import fetch_adult, load_patients, make_fair_blobs
from skfair.metrics import balance_score, cluster_composition, group_report
from skfair.plotting import ClusterCompositionDisplay, GroupRateDisplay
from skfair.statistics import gap_interval

FOLDER = Path("demo")
TIMEOUT = 60  # of the download, in seconds
BOOSTING = HistGradientBoostingClassifier(max_iter=50, random_state=0)
TOLERANCE = 0.05


def main():
    """Print the tables and draw the figures."""
    for_clustering, for_classification = load_data()
    compile_kernels()
    FOLDER.mkdir(exist_ok=True)
    pictures = show_clusterings(*for_clustering)
    pictures += show_classifiers(*for_classification)
    for picture in pictures:
        print(f"Picture: {picture}")


def show_clusterings(name, bunch, n_clusters):
    """Compare fair and plain k-means: a table and two figures."""
    X = normalize(scale(bunch.data))
    groups = bunch.sensitive_features
    shares = groups.value_counts(normalize=True, sort=False)
    print(f"{n_clusters} clusters of {len(X):,} samples of {name}: {format_shares(shares)}\n")

    plain, seconds = time_call(KMeans(n_clusters, n_init=10, random_state=0).fit, X)
    rows = {"KMeans": describe_clusters(plain, plain, groups, seconds)}
    for min_balance in (0.5, 0.8, 0.95, 1.0):
        fair = FairKMeans(n_clusters, min_balance=min_balance, random_state=0)
        fair, seconds = time_call(fair.fit, X, sensitive_features=groups)
        title = f"FairKMeans, min_balance={min_balance}"
        rows[title] = describe_clusters(fair, plain, groups, seconds)
    print(format_table(rows), end="\n\n")
    print("cost: mean squared distance to the centre; balance: smallest over largest group in the")
    print("least balanced cluster; relative: to that of the data; seconds: without compilation.\n")

    fair = FairKMeans(n_clusters, random_state=0).fit(X, sensitive_features=groups)
    print("Least balanced cluster")
    print(f"  of KMeans:     {worst_cluster(plain.labels_, groups)}")
    print(f"  of FairKMeans: {worst_cluster(fair.labels_, groups)}\n")
    return [draw_front(X, groups, plain), draw_compositions(groups, plain, fair)]


def show_classifiers(name, X, y, groups):
    """Compare a boosting model with and without parity: a table and a figure."""
    X, X_test, y, y_test, groups, groups_test = train_test_split(
        X, y, groups, test_size=0.4, random_state=0, stratify=y
    )
    test = X_test, y_test, groups_test
    print(f"Classifiers of {len(X):,} samples of {name}, tested on {len(X_test):,} others\n")

    plain, seconds = time_call(clone(BOOSTING).fit, X, y)
    rows = {"HistGradientBoostingClassifier": describe_decisions(plain, test, seconds)}
    for level in (None, 0.95):
        fair = ConstrainedClassifierCV(BOOSTING, tolerance=TOLERANCE, confidence_level=level)
        fair, seconds = time_call(fair.fit, X, y, sensitive_features=groups)
        title = "ConstrainedClassifierCV" + (f", confidence_level={level}" if level else "")
        rows[title] = describe_decisions(fair, test, seconds)
    print(format_table(rows), end="\n\n")
    print(f"Tolerance {TOLERANCE}. gap: between the groups' rates of positive decisions on the")
    print("test set, and its 95% confidence interval; accuracy: on the test set; seconds: without")
    print("compilation. The last model keeps the tolerance in the population with a probability of")
    percent = int(100 * fair.guarantee_probability_)  # rounded down: no estimate is certain
    print(f"{percent}%, estimated from its training data.\n")
    return [draw_rates(test, plain, fair)]


def load_data():
    """Data to cluster and data to classify: Adult, or what needs no network.

    Returns (name, bunch, number of clusters) and (name, X, y, groups).
    """
    print("Looking for Adult: on disk first, then 6 MB from the network, once.")
    # The fetcher bounds every wait for the network, but not their sum. A daemon thread does not
    # keep the program alive.
    answer = Future()
    Thread(target=set_answer, args=(answer, fetch_adult), daemon=True).start()
    try:
        for_clustering, adult = answer.result(TIMEOUT)
        X = pd.get_dummies(adult.data, dtype=float)
        y = adult.target == ">50K"
        return ("Adult", for_clustering, 10), ("Adult", X, y, adult.sensitive_features)
    except TimeoutError:
        reason = f"no answer within {TIMEOUT} s"
    except OSError as error:
        reason = error
    print(f"Adult is not available. ({reason})")
    print("Patients that scikit-learn includes are clustered, and generated applicants classified.")
    patients = load_patients(drop_sensitive=True)
    return ("the patients", patients, 5), ("the applicants", *draw_applicants(20_000))


def draw_applicants(n_samples):
    """Features of applicants, whether they repaid, and their sex."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["men", "women"], size=n_samples)
    X = rng.normal(size=(n_samples, 4))
    X[:, 0] += sex == "men"
    return X, X.sum(axis=1) + rng.logistic(size=n_samples) > 0.5, sex


def set_answer(answer, fetch):
    """Set the fetched data, or the error, as the result."""
    try:
        answer.set_result((fetch(columns="clustering"), fetch(drop_sensitive=True)))
    except Exception as error:
        answer.set_exception(error)


def compile_kernels():
    """Compile the kernels of the timed fits, and print how long that took.

    scikit-learn's models are fitted once too, so that no timing includes a first call.
    """
    print("Compiling; the result is cached on disk ...", end=" ", flush=True)
    seconds = sum(time_call(fit)[1] for fit in (fit_clusterings, fit_classifier))
    print(f"{seconds:.1f} s, much less in later runs.\n")


def fit_clusterings():
    """Cluster a small data set with compiled kernels."""
    X, _, groups = make_fair_blobs(random_state=0)
    KMeans(3, n_init=1, random_state=0).fit(X)
    with compile_at_first_call():
        FairKMeans(3, random_state=0).fit(X, sensitive_features=groups)
        cluster_front(FairKMeans(3, random_state=0), X, sensitive_features=groups)


def fit_classifier():
    """Fit a classifier of few trees with compiled kernels."""
    X, y, sex = draw_applicants(12_000)
    rough = clone(BOOSTING).set_params(max_iter=2)
    model = ConstrainedClassifierCV(rough, tolerance=TOLERANCE, confidence_level=0.95)
    with compile_at_first_call():
        model.fit(X, y, sensitive_features=sex)


def time_call(function, *args, **kwargs):
    """Result of a call, and its seconds."""
    start = time.perf_counter()
    result = function(*args, **kwargs)
    return result, time.perf_counter() - start


def describe_clusters(model, plain, groups, seconds):
    """Row of the table of clusterings."""
    return {
        "cost": model.inertia_ / len(groups),
        "extra cost": model.inertia_ / plain.inertia_ - 1,
        "balance": balance_score(model.labels_, sensitive_features=groups),
        "relative": balance_score(model.labels_, sensitive_features=groups, relative=True),
        "seconds": seconds,
    }


def describe_decisions(model, test, seconds):
    """Row of the table of classifiers."""
    X, y, groups = test
    gap = gap_interval(model.predict(X), sensitive_features=groups)
    return {
        "accuracy": model.score(X, y),
        "gap": gap.estimate,
        "interval": f"{gap.low:.3f} to {gap.high:.3f}",
        "seconds": seconds,
    }


def format_table(rows):
    """Rows as aligned text."""
    formats = {
        "cost": "{:.4f}",
        "extra cost": "{:+.1%}",
        "balance": "{:.3f}",
        "relative": "{:.0%}",
        "accuracy": "{:.1%}",
        "gap": "{:.3f}",
        "interval": "{}",
        "seconds": "{:.2f}",
    }
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.to_string(formatters={name: formats[name].format for name in table})


def worst_cluster(labels, groups):
    """Size and shares of the least balanced cluster, as text."""
    counts = cluster_composition(labels, sensitive_features=groups)
    worst = counts.loc[(counts.min(axis=1) / counts.max(axis=1)).idxmin()]
    return f"{worst.sum():,.0f} samples, {format_shares(worst / worst.sum())}"


def format_shares(shares):
    """Shares of the groups as text."""
    return ", ".join(f"{share:.0%} {group}" for group, share in shares.items())


def draw_front(X, groups, plain):
    """Figure of cost against balance."""
    n_clusters = plain.n_clusters
    front = cluster_front(FairKMeans(n_clusters, random_state=0), X, sensitive_features=groups)
    selected = front.select(min_balance=0.8)
    display = front.plot(name="FairKMeans", selected=selected)
    balance = balance_score(plain.labels_, sensitive_features=groups)
    display.ax_.plot(balance, plain.inertia_ / len(X), "k*", markersize=13, label="KMeans")
    display.ax_.legend(loc="upper left")
    extra_cost = front.cost[selected] / plain.inertia_ * len(X) - 1
    display.figure_.suptitle(
        f"Four fifths of the data's balance cost {extra_cost:.1%} more than KMeans"
    )
    return save(display.figure_, "front.png")


def draw_compositions(groups, plain, fair):
    """Figure of the cluster compositions, without and with balance."""
    height = 2 + 0.36 * plain.n_clusters
    figure, axes = plt.subplots(1, 2, figsize=(12, height), layout="constrained")
    models = {"KMeans": plain, f"FairKMeans, min_balance={fair.min_balance}": fair}
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        labels = match_numbers(plain.labels_, model.labels_)
        ClusterCompositionDisplay.from_predictions(labels, sensitive_features=groups, ax=ax)
        ax.set_title(name, loc="left", pad=24)
        ax.get_legend().remove()
    add_legend(figure, axes[0])
    data = balance_score(np.zeros(len(groups)), sensitive_features=groups)
    worst = [balance_score(m.labels_, sensitive_features=groups) / data for m in (plain, fair)]
    figure.suptitle(
        f"Relative balance of the worst cluster: KMeans {worst[0]:.0%}, "
        f"FairKMeans {worst[1]:.0%} at {fair.inertia_ / plain.inertia_ - 1:.1%} more cost"
    )
    return save(figure, "compositions.png")


def match_numbers(first, labels):
    """Renumber clusters by their largest overlap with those of `first`."""
    overlap = confusion_matrix(first, labels)
    return linear_sum_assignment(-overlap.T)[1][labels]


def add_legend(figure, ax):
    """One legend for all axes, below them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def changes(rate, words, models, data):
    """Rates of the groups under the models, as text."""
    X, y, groups = data
    reports = [group_report(y, m.predict(X), sensitive_features=groups)[rate] for m in models]
    texts = [" / ".join(f"{share:.0%}" for share in report.iloc[:-1]) for report in reports]
    return f"{words} of {' / '.join(map(str, reports[0].index[:-1]))} go from {' to '.join(texts)}"


def draw_rates(data, plain, fair):
    """Figure of the groups' rates on the test set, without and with constraint."""
    figure, axes = plt.subplots(1, 2, sharey=True, figsize=(11, 3.6), layout="constrained")
    models = {
        "HistGradientBoostingClassifier": plain,
        f"ConstrainedClassifierCV, tolerance={fair.tolerance}": fair,
    }
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        X, y, groups = data
        GroupRateDisplay.from_estimator(model, X, y, sensitive_features=groups, ax=ax)
        ax.set_title(f"{name}: {model.score(X, y):.1%} right", loc="left")
        ax.get_legend().remove()
    add_legend(figure, axes[0])
    figure.suptitle(
        "\n".join(
            changes(rate, words, models.values(), data)
            for rate, words in {
                "selection_rate": "Selection rates (demographic parity)",
                "true_positive_rate": "True positive rates",
            }.items()
        )
    )
    return save(figure, "rates.png")


def save(figure, name):
    """Write a figure; its path."""
    path = FOLDER / name
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path.resolve()


if __name__ == "__main__":
    main()
