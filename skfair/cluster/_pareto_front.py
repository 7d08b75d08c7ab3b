"""Fronts of clusterings: what each degree of balance costs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skfair.exceptions import InfeasibleConstraintWarning
from skfair.metrics import hypervolume, non_dominated
from skfair.utils._messages import warn


class Route(NamedTuple):
    """A labelling and moves that lead on from it; each prefix of the moves is a labelling."""

    labels: np.ndarray  # (n_samples,) of a small integer type
    samples: np.ndarray  # (n_moves,)
    clusters: np.ndarray  # (n_moves,)
    costs: np.ndarray  # (n_moves + 1,) of the labelling and after each move
    balances: np.ndarray  # (n_moves + 1,)

    @classmethod
    def at(cls, labels, cost, balance):
        """A labelling from which no move leads on."""
        nobody = np.empty(0, dtype=np.intp)
        return cls(labels, nobody, nobody, np.array([cost]), np.array([balance]))


@dataclass(frozen=True, eq=False, repr=False)
class ParetoFront:
    """Clusterings of which none is both cheaper and better balanced than another.

    Made by `fair_kmeans_front` or `fair_spectral_front`. Points are sorted by cost, so that the
    balance rises along the front: point 0 is the cheapest, the last point is the best balanced.

    Attributes
    ----------
    cost : ndarray of shape (n_points,)
        Cost of each clustering: the squared distance to its centre of an average sample (f1), or
        the normalised cut.
    balance : ndarray of shape (n_points,)
        Balance of each clustering: the least ratio, over its clusters, of the rarest to the
        commonest group (f2, in [0, 1]).
    data_balance : float
        The same ratio in the data as a whole, which no clustering exceeds.
    cost_name : str
        What the cost is, in words: the label of an axis.

    Examples
    --------
    >>> from skfair.cluster import fair_kmeans_front
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> groups = ["a", "a", "b", "b", "b", "a"]
    >>> front = fair_kmeans_front(X, sensitive_features=groups, n_clusters=2, random_state=0)
    >>> front.balance.tolist()
    [0.5, 1.0]
    >>> front.labels(front.select(min_balance=0.5)).tolist()
    [1, 1, 1, 0, 0, 0]
    """

    cost: np.ndarray
    balance: np.ndarray
    data_balance: float
    cost_name: str
    _routes: tuple
    _positions: np.ndarray  # (n_points, 2): route, number of its moves
    _build: Callable  # labels -> fitted estimator

    @classmethod
    def from_routes(cls, routes, data_balance, build, cost_name):
        """The non-dominated points of all prefixes of the routes.

        Parameters
        ----------
        routes : sequence of Route
            Labellings, and moves that lead on from them.
        data_balance : float
            Balance of the data as one cluster.
        build : callable
            Turns labels into a fitted estimator.
        cost_name : str
            What the cost is, in words.

        Returns
        -------
        front : ParetoFront
        """
        cost = np.concatenate([route.costs for route in routes])
        balance = np.concatenate([route.balances for route in routes])
        positions = np.array(
            [(r, m) for r, route in enumerate(routes) for m in range(len(route.costs))]
        )
        kept = np.flatnonzero(non_dominated(cost, balance))
        kept = kept[np.argsort(cost[kept], kind="stable")]
        return cls(
            cost[kept],
            balance[kept],
            data_balance,
            cost_name,
            tuple(routes),
            positions[kept],
            build,
        )

    def __len__(self):
        return len(self.cost)

    def __repr__(self):
        return (
            f"ParetoFront({len(self)} points, cost {self.cost[0]:.4g} to {self.cost[-1]:.4g}, "
            f"balance {self.balance[0]:.3g} to {self.balance[-1]:.3g} of {self.data_balance:.3g})"
        )

    @property
    def relative_balance(self):
        """Balance as a share of the data's own, (n_points,)."""
        return self.balance / self.data_balance

    def labels(self, i):
        """Cluster of each sample at point ``i``.

        Parameters
        ----------
        i : int
            Position on the front; negative positions count from its end.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
        """
        position, n_moves = self._positions[i]
        route = self._routes[position]
        labels = route.labels.astype(np.int32)
        # Of several moves of one sample the last counts, which is what numpy's assignment does.
        labels[route.samples[:n_moves]] = route.clusters[:n_moves]
        return labels

    def centers(self, i):
        """Means of the clusters at point ``i``, (n_clusters, n_features); of k-means only.

        Parameters
        ----------
        i : int
            Position on the front; negative positions count from its end.
        """
        return self.to_estimator(i).cluster_centers_

    def to_estimator(self, i):
        """A fitted estimator whose clustering is that of point ``i``.

        Parameters
        ----------
        i : int
            Position on the front; negative positions count from its end.

        Returns
        -------
        estimator : FairKMeans or FairSpectralClustering
        """
        return self._build(self.labels(i))

    def select(self, *, min_balance):
        """Position of the cheapest point with at least the given balance.

        Parameters
        ----------
        min_balance : float in [0, 1]
            Relative to the data's own balance, as in `FairKMeans`.

        Returns
        -------
        i : int
            The best balanced point, with an `InfeasibleConstraintWarning`, if none reaches it.

        Raises
        ------
        ValueError
            If ``min_balance`` is outside [0, 1].
        """
        if not 0 <= min_balance <= 1:
            raise ValueError(
                f"min_balance must be a share of the data's own balance in [0, 1], got "
                f"{min_balance}; 0.8 asks for four fifths of it."
            )
        reached = self.balance >= min_balance * self.data_balance * (1 - 1e-12)
        if not reached.any():
            warn(
                f"No point of the front reaches min_balance={min_balance}; the best balanced one "
                f"has {self.relative_balance[-1]:.4f} of the data's balance and is selected. "
                "Whole persons cannot always be split evenly: ask for less, or use fewer clusters.",
                InfeasibleConstraintWarning,
            )
            return len(self) - 1
        return int(np.argmax(reached))

    def hypervolume(self, *, reference, ideal=None):
        """Area that the front dominates, see `skfair.metrics.hypervolume`.

        Parameters
        ----------
        reference : tuple of (cost, balance)
            The worst corner.
        ideal : tuple of (cost, balance), default=None
            The best corner; with it the area is a share of the box between the two.
        """
        return hypervolume(self.cost, self.balance, reference=reference, ideal=ideal)

    def to_frame(self):
        """The front as a table.

        Returns
        -------
        frame : pandas.DataFrame
            Columns cost, balance, relative_balance, and extra_cost: what the balance costs on top
            of the cheapest point, as a share of that point's cost.
        """
        import pandas as pd

        cheapest = self.cost[0]
        extra = self.cost - cheapest
        return pd.DataFrame(
            {
                "cost": self.cost,
                "balance": self.balance,
                "relative_balance": self.relative_balance,
                "extra_cost": extra / cheapest if cheapest > 0 else np.where(extra > 0, np.inf, 0),
            }
        )
