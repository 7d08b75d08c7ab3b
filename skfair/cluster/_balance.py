"""What clusterings reach of their requirements: fitted attributes, status and warnings."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair.exceptions import InfeasibleConstraintWarning
from skfair.groups import group_names
from skfair.utils._balance import balance, data_balance, smallest_balances, smallest_share_ratios
from skfair.utils._messages import join_names, warn


def keeps_balance(counts, ratio, largest_weight, scale=1.0, members=None):
    """Whether every cluster has balance ``ratio`` up to one sample, and lacks no large group.

    That is ``(n_kj + w) s_j >= ratio (n_kj' - w) s_j'`` for all clusters k and groups j, j', with w
    the largest weight of a sample, and ``n_kj > 0`` for all groups that have at least as many
    members as there are clusters. A ratio of 0 is always kept.
    """
    if ratio == 0:
        return True
    lowest = ratio * ((counts - largest_weight) * scale).max(axis=1)
    is_balanced = ((counts + largest_weight) * scale).min(axis=1) >= lowest * (1 - 1e-12)
    is_large = np.full(counts.shape[1], True) if members is None else members >= len(counts)
    return bool(is_balanced.all() and (counts[:, is_large] > 0).all())


def describe(counts, requirements, largest_weight=1.0):
    """The fitted attributes that follow from a table of counts by cluster and group."""
    tables = [counts[:, groups] for groups in requirements.attributes]
    sizes = tables[0].sum(axis=1)
    balances, of_data = smallest_balances(tables)
    share_ratios = smallest_share_ratios(tables)
    reached = float(balances.min())
    attributes = {
        "balance_": reached,
        "data_balance_": of_data,
        "relative_balance_": reached / of_data,
        "cluster_balances_": balances,
        "share_ratio_": float(share_ratios.min()),
        "cluster_share_ratios_": share_ratios,
        "cluster_sizes_": sizes,
        "group_counts_": counts,
    }
    shortfalls = [amount for amount, _ in list_shortfalls(attributes, requirements, largest_weight)]
    return attributes | {"constraint_violation_": max(shortfalls, default=0.0)}


def list_shortfalls(attributes, requirements, largest_weight):
    """Amounts and sentences of the requirements missed by more than one sample.

    Amounts of sizes are shares of all; ``attributes`` are as `describe` returns them.
    """
    counts = attributes["group_counts_"]
    by_attribute = [
        (counts[:, groups], None if requirements.members is None else requirements.members[groups])
        for groups in requirements.attributes
    ]
    shortfalls = []
    if not all(
        keeps_balance(
            table,
            requirements.balance * data_balance(table.sum(axis=0)),
            largest_weight,
            members=members,
        )
        for table, members in by_attribute
    ):
        relative = attributes["relative_balance_"]
        sentence = (
            f"min_balance={requirements.balance:g} is not reached: the relative balance of the "
            f"fit is {relative:.4f} ({_balance_details(attributes, by_attribute)})."
        )
        shortfalls.append((requirements.balance - relative, sentence))
    if not all(
        keeps_balance(
            table, requirements.share_ratio, largest_weight, 1 / table.sum(axis=0), members
        )
        for table, members in by_attribute
    ):
        share_ratio = attributes["share_ratio_"]
        sentence = (
            f"min_share_ratio={requirements.share_ratio:g} is not reached: the ratio of shares of "
            f"the fit is {share_ratio:.4f}."
        )
        shortfalls.append((requirements.share_ratio - share_ratio, sentence))
    sizes = attributes["cluster_sizes_"]
    return [*shortfalls, *_list_size_shortfalls(sizes, requirements, largest_weight)]


def _balance_details(attributes, by_attribute):
    """The balance reached, of several attributes that of each."""
    if len(by_attribute) == 1:
        return (
            f"balance {attributes['balance_']:.4f} of {attributes['data_balance_']:.4f} in the data"
        )
    each = [f"{balance(t) / data_balance(t.sum(axis=0)):.4f}" for t, _ in by_attribute]
    return f"the minimum of {', '.join(each)}, one of each attribute"


def _list_size_shortfalls(sizes, requirements, largest_weight):
    # Integer counts make integer sizes; of other weights the last sample may not fit.
    rounding, total = largest_weight * (1 - 1e-9), float(sizes.sum())
    too_small, too_large = requirements.smallest - sizes.min(), sizes.max() - requirements.largest
    if too_small > rounding:
        sentence = f"A cluster size of {requirements.smallest:g} is not reached by all clusters: "
        yield too_small / total, f"{sentence}the minimum is {sizes.min():g}."
    if too_large > rounding:
        sentence = f"A cluster size of {requirements.largest:g} is exceeded: the maximum is "
        yield too_large / total, f"{sentence}{sizes.max():g}."


def outcome(attributes, search, lacks_groups):
    """Status and violation of a fit, from its attributes and how the search ended.

    Where balanced clusters were required without groups, nothing is certified.
    """
    violation = attributes["constraint_violation_"]
    if violation > 0:
        search = "infeasible"
    elif lacks_groups:
        search, violation = "unconstrained", float("nan")
    return {"status_": search, "constraint_violation_": violation}


def small_groups_message(estimator):
    """A message about groups with fewer members than there are clusters; None without any."""
    groups, n_clusters = estimator.groups_, estimator.n_clusters
    if not (estimator.min_balance or estimator.min_share_ratio):
        return None
    sizes = zip(group_names(groups.labels), groups.counts, strict=True)
    small = [f"{name!r} ({size})" for name, size in sizes if size < n_clusters]
    if not small:
        return None
    return (
        f"Groups have fewer members than the {n_clusters} clusters: {join_names(small)}. Some "
        "clusters have none of them, so that balance_ is 0. Ask for fewer clusters, or merge small "
        "groups."
    )


def warn_of_status(estimator, data, search, advice, cut_short):
    """Warn of requirements that are missed, or else of small groups and of a fit cut short.

    ``cut_short`` says what ended the fit too early; it is None if the user knows.
    """
    small = small_groups_message(estimator)
    if estimator.status_ == "infeasible":
        shortfalls = list_shortfalls(vars(estimator), data.requirements, data.largest_weight)
        sentences = [sentence for _, sentence in shortfalls]
        warn(" ".join([*sentences, small or advice]), InfeasibleConstraintWarning)
        return
    if small:
        warn(small)
    if search == "max_iter" and cut_short is not None:
        warn(cut_short, ConvergenceWarning)


def missing_groups_message(estimator):
    """A message for fits without groups whose parameters require balance; None for others."""
    names = ("min_balance", "min_share_ratio")
    required = [f"{name}={getattr(estimator, name)}" for name in names if getattr(estimator, name)]
    if not required:
        return None
    verb = "requires" if len(required) == 1 else "require"
    return (
        f"{' and '.join(required)} {verb} balanced clusters, but fit got no sensitive_features: "
        "all samples are one group and the fit is plain clustering. Pass "
        "fit(X, sensitive_features=...) by name, as a second argument without one is y, which is "
        "not used; or min_balance=None for clusters without balance."
    )
