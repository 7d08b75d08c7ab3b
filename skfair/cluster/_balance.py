"""What a clustering reaches beside what was asked of it: what both clusterers tell."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair.exceptions import InfeasibleConstraintWarning
from skfair.groups import group_names
from skfair.utils._balance import balance, data_balance, smallest_balances, smallest_share_ratios
from skfair.utils._messages import join_names, warn


def keeps_promise(counts, ratio, largest_weight, scale=1.0, numbers=None):
    """Whether every cluster has balance ``ratio`` up to one sample, and lacks no large group.

    That is ``(n_kj + w) s_j >= ratio (n_kj' - w) s_j'`` for all clusters k and groups j, j', with w
    the largest weight of a sample, and ``n_kj > 0`` for all groups that have at least as many
    members as there are clusters. A ratio of 0 asks for nothing.

    Parameters
    ----------
    counts : ndarray of shape (n_clusters, n_groups)
        Weight of every group in every cluster.
    ratio : float
        Balance asked for.
    largest_weight : float
        1 if all samples count the same.
    scale : ndarray of shape (n_groups,) or float, default=1.0
        What a member of a group counts: 1 over the group's weight for a ratio of shares.
    numbers : ndarray of int, shape (n_groups,), default=None
        Members of each group; None takes all groups for large.

    Returns
    -------
    kept : bool
    """
    if ratio == 0:
        return True
    least = ratio * ((counts - largest_weight) * scale).max(axis=1)
    rounded = ((counts + largest_weight) * scale).min(axis=1) >= least * (1 - 1e-12)
    is_large = np.full(counts.shape[1], True) if numbers is None else numbers >= len(counts)
    return bool(rounded.all() and (counts[:, is_large] > 0).all())


def describe(counts, asked, largest_weight=1.0):
    """The fitted attributes that follow from a table of counts.

    Parameters
    ----------
    counts : ndarray of shape (n_clusters, n_groups)
        Weight of every group in every cluster.
    asked : Asked
        What was asked of every cluster.
    largest_weight : float, default=1.0
        Of a sample: how much rounding may cost.

    Returns
    -------
    attributes : dict
    """
    tables = [counts[:, groups] for groups in asked.attributes]
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
    lacking = [amount for amount, _ in missed(attributes, asked, largest_weight)]
    return attributes | {"constraint_violation_": max(lacking, default=0.0)}


def missed(attributes, asked, largest_weight):
    """What a clustering misses of what was asked, up to one sample.

    Parameters
    ----------
    attributes : mapping
        As `describe` returns them.
    asked : Asked
        What was asked of every cluster.
    largest_weight : float
        Of a sample.

    Returns
    -------
    missed : list of (float, str)
        How much is lacking, sizes as a share of all, and what to say of it.
    """
    counts, sizes = attributes["group_counts_"], attributes["cluster_sizes_"]
    tables, total = [counts[:, groups] for groups in asked.attributes], float(sizes.sum())
    goals = [asked.balance * data_balance(table.sum(axis=0)) for table in tables]
    relative, of_data = attributes["relative_balance_"], attributes["data_balance_"]
    share_ratio = attributes["share_ratio_"]
    found = []
    numbers = [None if asked.numbers is None else asked.numbers[g] for g in asked.attributes]
    kept = (
        keeps_promise(table, goal, largest_weight, numbers=own)
        for table, goal, own in zip(tables, goals, numbers, strict=True)
    )
    if not all(kept):
        each = [f"{balance(t) / data_balance(t.sum(axis=0)):.4f}" for t in tables]
        detail = (
            f"balance {attributes['balance_']:.4f} of {of_data:.4f} in the data"
            if len(tables) == 1
            else f"the least of {', '.join(each)}, one of each attribute"
        )
        sentence = (
            f"min_balance={asked.balance:g} is not reached: the relative balance of the fit is "
            f"{relative:.4f} ({detail})."
        )
        found.append((asked.balance - relative, sentence))
    kept = (
        keeps_promise(table, asked.share_ratio, largest_weight, 1 / table.sum(axis=0), own)
        for table, own in zip(tables, numbers, strict=True)
    )
    if not all(kept):
        sentence = (
            f"min_share_ratio={asked.share_ratio:g} is not reached: the ratio of shares of the fit "
            f"is {share_ratio:.4f}."
        )
        found.append((asked.share_ratio - share_ratio, sentence))
    # Whole persons make whole sizes; of other weights the last one may not fit.
    rounding = largest_weight * (1 - 1e-9)
    if asked.smallest - sizes.min() > rounding:
        sentence = f"A cluster of {asked.smallest:g} is not reached by all: the least is "
        found.append(((asked.smallest - sizes.min()) / total, f"{sentence}{sizes.min():g}."))
    if sizes.max() - asked.largest > rounding:
        sentence = f"A cluster of {asked.largest:g} is exceeded: the largest is "
        found.append(((sizes.max() - asked.largest) / total, f"{sentence}{sizes.max():g}."))
    return found


def outcome(attributes, search, lacks_groups):
    """How a fit ended, as fitted attributes.

    Parameters
    ----------
    attributes : dict
        As `describe` returns them.
    search : {"optimal", "feasible", "max_iter"}
        How the search for the clustering ended.
    lacks_groups : bool
        Whether groups were to be mixed, but none came: nothing is then certified.

    Returns
    -------
    outcome : dict
        Status and violation.
    """
    violation = attributes["constraint_violation_"]
    if violation > 0:
        search = "infeasible"
    elif lacks_groups:
        search, violation = "unconstrained", float("nan")
    return {"status_": search, "constraint_violation_": violation}


def explain_small_groups(estimator):
    """What to say of groups that have fewer members than there are clusters; None without any.

    Parameters
    ----------
    estimator : estimator instance
        Fitted; its parameters say whether groups are balanced.

    Returns
    -------
    message : str or None
    """
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
    """Warn if what was asked for was missed, or else of small groups and of a fit cut short.

    Parameters
    ----------
    estimator : estimator instance
        Fitted.
    data : Population or Network
        Has ``asked`` and ``largest_weight``.
    search : {"optimal", "feasible", "max_iter"}
        How the search for the clustering ended.
    advice : str
        What to do where something is missed.
    cut_short : str or None
        What ended the fit too early; None if the user knows.
    """
    small = explain_small_groups(estimator)
    if estimator.status_ == "infeasible":
        told = missed(vars(estimator), data.asked, data.largest_weight)
        sentences = [sentence for _, sentence in told]
        warn(" ".join([*sentences, small or advice]), InfeasibleConstraintWarning)
        return
    if small:
        warn(small)
    if search == "max_iter" and cut_short is not None:
        warn(cut_short, ConvergenceWarning)


def groups_missing(estimator):
    """What to say if no groups come though something is asked of them; None if nothing is.

    Parameters
    ----------
    estimator : estimator instance
        Its parameters ask.

    Returns
    -------
    message : str or None
    """
    names = ("min_balance", "min_share_ratio")
    asked = [f"{name}={getattr(estimator, name)}" for name in names if getattr(estimator, name)]
    if not asked:
        return None
    asks = "asks" if len(asked) == 1 else "ask"
    return (
        f"{' and '.join(asked)} {asks} for balanced clusters, but fit got no sensitive_features: "
        "everybody is one group and the fit is plain clustering. Pass "
        "fit(X, sensitive_features=...) by name, as a second argument without one is y, which is "
        "not used; or min_balance=None to ask for no balance."
    )
