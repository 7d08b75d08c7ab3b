"""A fit that callbacks can watch, and a front of fits: what the clusterers share."""

from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from skfair.cluster._pareto_front import CRITERIA, ParetoFront
from skfair.cluster._requirements import outcome, warn_of_status
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.partitions import is_partitioned
from skfair.utils._balance import smallest_balances, smallest_share_ratios
from skfair.utils._messages import spelling_hint, warn
from skfair.utils._sklearn import CallbackSupportMixin, validate_params


class FairClusterer(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """A clusterer with a parameter ``min_balance``.

    A subclass has

    - ``_check(X, sensitive_features, ...)``: the validated input, with ``requirements``,
      ``largest_weight``, and ``lacks_groups``, if balanced clusters are required, but there are no
      two groups;
    - ``_prepare(data, random_state)``: the input with what all clusterings of it share;
    - ``_cluster(data, random_state, rounds)``: fitted attributes of the best clustering found,
      with ``status_`` "optimal", "feasible" or "max_iter";
    - ``_describe(data, labels)``: fitted attributes of labels;
    - ``_advice(data)``: what to do where the required balance is not reached;
    - ``_cut_short(data, is_stopped)``: what ended a search too early, None if a callback did.
    """

    _cost_name = "cost"

    def _prepare(self, data, random_state):
        return data

    def _fit(self, X, data):
        """Cluster a checked input, show every round to the callbacks, store, and warn."""
        random_state = check_random_state(self.random_state)
        rounds = Rounds(self, X, data.lacks_groups)
        data = self._prepare(data, random_state)
        fitted = self._cluster(data, random_state, rounds)
        search = fitted["status_"]
        # Status and violation follow from the fitted counts.
        fitted |= outcome(fitted, search, data.lacks_groups)
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)  # of an earlier fit, which may have had more of them
        validate_data(self, _column_names(X), skip_check_array=True)  # number and names of features
        vars(self).update(fitted)
        cut_short = self._cut_short(data, rounds.is_stopped)
        warn_of_status(self, data, search, self._advice(data), cut_short)
        rounds.context.call_on_fit_task_end(estimator=self, X=X, reconstruction_attributes={})
        return self


class Rounds:
    """The rounds of a fit: each is a task of the callbacks, and a line if ``verbose``."""

    def __init__(self, estimator, X, lacks_groups):
        self.estimator = estimator
        self.lacks_groups = lacks_groups
        self.context = estimator._init_callback_context(max_subtasks=None)
        self.context.call_on_fit_task_begin(estimator=estimator, X=X)
        self.n_rounds = 0
        self.is_stopped = False

    def show(self, describe, label=dict):
        """Report a round; True if a callback stops the fit.

        ``describe()`` returns the fitted attributes as if the fit ended here, ``label()`` those
        that are not printed and may take another pass. They are called only if they are read.
        """
        self.n_rounds += 1

        def as_if_ended():
            fitted = describe() | label()
            ended = outcome(fitted, "max_iter", self.lacks_groups)
            return fitted | ended | {"n_iter_": self.n_rounds}

        if self.estimator.verbose:
            now = describe()
            print(f"cost {now['objective_']:.6g}, balance {now['balance_']:.4f}")
        task = self.context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=self.estimator)
        self.is_stopped = task.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=as_if_ended
        )
        return self.is_stopped


def _column_names(X):
    """No rows of a collection, but with the names of its columns; rows in memory as they are."""
    if not is_partitioned(X):
        return X
    import pandas as pd

    names = getattr(X, "columns", None)
    return np.empty((0, X.shape[1])) if names is None else pd.DataFrame(columns=list(names))


def front(estimator, X, columns, n_levels, routes, criterion):
    """The Pareto front of a clusterer's cost and balance, or ratio of shares.

    The clusterer requires no balance itself; ``columns`` are the other arguments of its fit.
    ``routes(estimator, data, n_levels, random_state, criterion)`` returns the routes of the front,
    whose points can become fitted clones of the estimator.
    """
    if criterion not in CRITERIA:
        raise ValueError(
            f"criterion must be one of {CRITERIA}, got {criterion!r}."
            + spelling_hint(criterion, CRITERIA)
        )
    if not isinstance(n_levels, Integral) or n_levels < 1:
        raise ValueError(f"n_levels must be a positive int, got {n_levels!r}.")
    validate_params(estimator)
    if is_partitioned(X, *columns.values()):
        raise TypeError(
            "A front moves single samples, which must be in memory, but the data are partitioned: "
            "pass a subsample, or fit FairKMeans to all at one min_balance."
        )
    random_state = check_random_state(estimator.random_state)
    data = estimator._check(X, **columns)
    if len(data.groups.labels) == len(data.requirements.attributes):
        lacks = "=None" if columns["sensitive_features"] is None else " of one group"
        warn(
            f"The front of cost and balance got sensitive_features{lacks}: all samples are one "
            "group, every clustering is balanced, and the front is one plain clustering. Pass the "
            "group of each sample, of two groups or more.",
            MissingSensitiveFeaturesWarning,
        )
    validate_data(estimator, X, skip_check_array=True)  # number and names of features
    # What all clusterings share is prepared once; routes start from it.
    data = estimator._prepare(data, random_state)
    return ParetoFront.from_routes(
        routes(estimator, data, n_levels, random_state, criterion),
        partial(_measure, data, estimator.n_clusters),
        partial(_build_estimator, estimator, data, criterion),
        data_balance=data.data_balance,
        cost_name=estimator._cost_name,
        criterion=criterion,
    )


def _measure(data, n_clusters, labels):
    """Balance and ratio of shares of a clustering."""
    counts = data.counts(labels, n_clusters)
    tables = [counts[:, groups] for groups in data.requirements.attributes]
    return smallest_balances(tables)[0].min(), smallest_share_ratios(tables).min()


def _build_estimator(estimator, data, criterion, labels):
    """A fitted clone whose clustering is the given one: a point of a front."""
    point = clone(estimator)
    vars(point).update(point._describe(data, labels) | {"status_": "feasible", "n_iter_": 0})
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(point, name, getattr(estimator, name))
    if criterion == "balance":
        return point.set_params(min_balance=min(1.0, point.relative_balance_))
    return point.set_params(min_share_ratio=min(1.0, point.share_ratio_))
