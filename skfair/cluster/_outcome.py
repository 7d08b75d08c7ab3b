"""What a fit of FairKMeans tells: fitted attributes, warnings, and reports on the way."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from skfair._kernels.local_search import cost_of
from skfair.cluster._algorithms import ALGORITHMS, by_name
from skfair.cluster._homotopy import Homotopy
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.utils._balance import balance, cluster_balances, keeps_promise


def describe(population, clustering, cost, min_balance):
    """The fitted attributes that follow from a clustering of the samples."""
    samples = population.samples
    asked = min_balance or 0.0
    reached = balance(clustering.counts)
    relative = reached / samples.balance
    kept = keeps_promise(clustering.counts, asked * samples.balance, samples.person)
    return {
        "labels_": population.complete(clustering.labels, clustering.centers),
        "cluster_centers_": clustering.centers + population.mean,
        "inertia_": cost,
        "objective_": cost / samples.weights.sum(),
        "balance_": reached,
        "data_balance_": samples.balance,
        "relative_balance_": relative,
        "cluster_balances_": cluster_balances(clustering.counts),
        "group_counts_": clustering.counts,
        "groups_": population.groups.summary,
        "constraint_violation_": 0.0 if kept else asked - relative,
    }


def warn_of_status(estimator, population):
    """Warn if the balance asked for was missed, or else if the fit was cut short.

    To be called from ``fit``, whose caller the warning points to.
    """
    if estimator.status_ == "infeasible":
        warnings.warn(
            f"min_balance={estimator.min_balance:g} is not reached: the relative balance of the "
            f"fit is {estimator.relative_balance_:.4f} (balance {estimator.balance_:.4f} of "
            f"{estimator.data_balance_:.4f} in the data). {_remedy(estimator, population.groups)}",
            InfeasibleConstraintWarning,
            stacklevel=4,
        )
    elif estimator.status_ == "max_iter":
        warnings.warn(
            f"FairKMeans stopped after max_iter={estimator.max_iter} rounds or passes, before one "
            f"gained less than tol={estimator.tol:g} asks for. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )


def _remedy(estimator, groups):
    smallest = groups.counts.min()
    if smallest < estimator.n_clusters:
        return (
            f"The smallest group has {smallest} members for {estimator.n_clusters} clusters, so "
            "some cluster must do without it: ask for fewer clusters or join small groups."
        )
    if not isinstance(by_name(ALGORITHMS, estimator.algorithm), Homotopy):
        return "Alternating swaps do not aim at a balance: use algorithm='homotopy'."
    return "Ask for less balance or for fewer clusters, or pass more starts with n_init."


class Watch:
    """Shows a fit to its callbacks after every round, and prints if asked to."""

    def __init__(self, estimator, context, population):
        self.estimator = estimator
        self.context = context
        self.population = population

    def __call__(self, clustering):
        """Report a round; True if a callback wants the fit to stop."""
        if self.estimator.verbose:
            now = self._attributes(clustering)
            print(f"cost {now['objective_']:.6g}, balance {now['balance_']:.4f}")
        task = self.context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=self.estimator)
        return task.call_on_fit_task_end(
            estimator=self.estimator,
            reconstruction_attributes=lambda: self._attributes(clustering),
        )

    def _attributes(self, clustering):
        samples = self.population.samples
        cost = cost_of(samples.X, samples.weights, clustering)
        return describe(self.population, clustering, cost, self.estimator.min_balance)
