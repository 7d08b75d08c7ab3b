"""Pareto fronts of clusterings: the cost of each degree of balance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from skfair.exceptions import InfeasibleConstraintWarning
from skfair.metrics import hypervolume, non_dominated
from skfair.utils._messages import warn

if TYPE_CHECKING:
    import pandas as pd

    from skfair.cluster.kmeans._fair_kmeans import FairKMeans
    from skfair.cluster.spectral._fair_spectral import FairSpectralClustering


CRITERIA = ("balance", "share_ratio")
"""What may rise along a front; `ClusterRequirements` has fields with these names."""


class Route(NamedTuple):
    """A labelling and moves that lead on from it; each prefix of the moves is a labelling."""

    labels: np.ndarray  # (n_samples,) of a small integer type
    samples: np.ndarray  # (n_moves,)
    clusters: np.ndarray  # (n_moves,)
    costs: np.ndarray  # (n_moves + 1,) of the labelling and after each move
    ratios: np.ndarray  # (n_moves + 1,) balances or ratios of shares

    @classmethod
    def from_labels(cls, labels, cost, ratio):
        """A labelling from which no move leads on."""
        nothing = np.empty(0, dtype=np.intp)
        return cls(labels, nothing, nothing, np.array([cost]), np.array([ratio]))

    def labels_after(self, n_moves):
        """Cluster of each sample after so many moves, (n_samples,) int32."""
        labels = self.labels.astype(np.int32)
        # Of several moves of one sample the last counts, which is what numpy's assignment does.
        labels[self.samples[:n_moves]] = self.clusters[:n_moves]
        return labels


@dataclass(frozen=True, eq=False, repr=False)
class ParetoFront:
    """Clusterings of which none is both cheaper and more balanced than another.

    Made by `fair_kmeans_front` or `fair_spectral_front`. Points are sorted by cost, so that the
    criterion, balance or the ratio of shares, rises along the front: point 0 is the cheapest, the
    last point is the most balanced. The other of the two is reported as well, and may fall on the
    way.

    Attributes
    ----------
    cost : ndarray of shape (n_points,)
        Cost of each clustering: the squared distance to its centre of an average sample (f1), or
        the normalised cut.
    balance : ndarray of shape (n_points,)
        Balance of each clustering: the minimum ratio, over its clusters, of the smallest to the
        largest group (f2, in [0, 1]).
    share_ratio : ndarray of shape (n_points,)
        Minimum ratio of two groups' shares in a cluster, of each clustering: from 0.8 on the
        four-fifths rule is kept.
    data_balance : float
        The balance of the data as a whole, which no clustering exceeds; its ratio of shares is 1.
    cost_name : str
        What the cost is, in words: the label of an axis.
    criterion : {"balance", "share_ratio"}
        What rises along the front.

    Examples
    --------
    >>> from skfair.cluster import fair_kmeans_front
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> groups = ["a", "a", "b", "b", "b", "a"]
    >>> front = fair_kmeans_front(X, sensitive_features=groups, n_clusters=2, random_state=0)
    >>> front.balance.tolist()
    [0.5, 1.0]
    >>> front.labels(front.select(min_balance=0.5)).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    cost: np.ndarray
    balance: np.ndarray
    share_ratio: np.ndarray
    data_balance: float
    cost_name: str
    criterion: str
    _routes: tuple
    _positions: np.ndarray  # (n_points, 2): route, number of its moves
    _build: Callable  # labels -> fitted estimator

    @classmethod
    def from_routes(
        cls,
        routes: Sequence[Route],
        measure: Callable,
        build: Callable,
        data_balance: float,
        cost_name: str,
        criterion: str = "balance",
    ) -> Self:
        """The non-dominated points of all prefixes of the routes.

        Parameters
        ----------
        routes : sequence of Route
            Labellings, and moves that lead on from them.
        measure : callable
            Returns the balance and the ratio of shares of labels.
        build : callable
            Turns labels into a fitted estimator.
        data_balance : float
            Balance of the data as one cluster.
        cost_name : str
            What the cost is, in words.
        criterion : {"balance", "share_ratio"}, default="balance"
            What the ratios of the routes are.

        Returns
        -------
        front : ParetoFront
        """
        # All prefixes of all routes compete; only the non-dominated ones become labels.
        cost = np.concatenate([route.costs for route in routes])
        ratio = np.concatenate([route.ratios for route in routes])
        positions = np.array(
            [(r, m) for r, route in enumerate(routes) for m in range(len(route.costs))]
        )
        rows = np.flatnonzero(non_dominated(cost, ratio))
        rows = rows[np.argsort(cost[rows], kind="stable")]
        measured = [measure(routes[r].labels_after(m)) for r, m in positions[rows]]
        columns = dict(zip(CRITERIA, np.array(measured).T, strict=True))
        return cls(
            cost[rows],
            **(columns | {criterion: ratio[rows]}),
            data_balance=data_balance,
            cost_name=cost_name,
            criterion=criterion,
            _routes=tuple(routes),
            _positions=positions[rows],
            _build=build,
        )

    def __len__(self):
        return len(self.cost)

    def __repr__(self):
        lowest, highest = self._ratio[[0, -1]]
        of_data = f" of {self.data_balance:.3g}" if self.criterion == "balance" else ""
        return (
            f"ParetoFront({len(self)} points, cost {self.cost[0]:.4g} to {self.cost[-1]:.4g}, "
            f"{self.criterion} {lowest:.3g} to {highest:.3g}{of_data})"
        )

    @property
    def _ratio(self):
        """What rises along the front, balance or the ratio of shares, (n_points,)."""
        return getattr(self, self.criterion)

    @property
    def relative_balance(self) -> np.ndarray:
        """Balance as a share of the data's own, (n_points,)."""
        return self.balance / self.data_balance

    def labels(self, i: int) -> np.ndarray:
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
        return self._routes[position].labels_after(n_moves)

    def centers(self, i: int) -> np.ndarray:
        """Means of the clusters at point ``i``, (n_clusters, n_features); of k-means only.

        Parameters
        ----------
        i : int
            Position on the front; negative positions count from its end.
        """
        return self.to_estimator(i).cluster_centers_

    def to_estimator(self, i: int) -> FairKMeans | FairSpectralClustering:
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

    def select(self, *, min_balance: float = 0.0, min_share_ratio: float = 0.0) -> int:
        """Position of the cheapest point with at least the given balance, or ratio of shares.

        Parameters
        ----------
        min_balance : float in [0, 1], default=0.0
            Relative to the data's own balance, as in `FairKMeans`.
        min_share_ratio : float in [0, 1], default=0.0
            Minimum ratio of two groups' shares in a cluster, as in `FairKMeans`.

        Returns
        -------
        i : int
            If no point reaches both, the nearest one, with an `InfeasibleConstraintWarning`.

        Raises
        ------
        ValueError
            If one of them is outside [0, 1].
        """
        for name, least in {"min_balance": min_balance, "min_share_ratio": min_share_ratio}.items():
            if not 0 <= least <= 1:
                raise ValueError(
                    f"{name} must be a share in [0, 1], got {least}; 0.8 is four fifths."
                )
        # How far each point misses; points ascend in cost, so that the first one that misses
        # nothing wins.
        lacking = np.maximum(
            min_balance - self.relative_balance * (1 + 1e-12),
            min_share_ratio - self.share_ratio * (1 + 1e-12),
        )
        if (lacking > 0).all():
            nearest = int(np.argmin(lacking))
            warn(
                self._out_of_reach(nearest, min_balance, min_share_ratio),
                InfeasibleConstraintWarning,
            )
            return nearest
        return int(np.argmax(lacking <= 0))

    def _out_of_reach(self, i, min_balance, min_share_ratio):
        """A message that no point reaches the required ratios, of which point ``i`` is nearest."""
        required, reached = [], []
        if min_balance > 0:
            required.append(f"min_balance={min_balance}")
            reached.append(f"{self.relative_balance[i]:.4f} of the data's balance")
        if min_share_ratio > 0:
            required.append(f"min_share_ratio={min_share_ratio}")
            reached.append(f"a ratio of shares of {self.share_ratio[i]:.4f}")
        advice = "Samples cannot always be split evenly: ask for less, or use fewer clusters."
        if min_share_ratio > 0 and self.criterion == "balance":
            advice = "This front is one of balances: ask for one with criterion='share_ratio'."
        return (
            f"No point of the front reaches {' and '.join(required)}; the nearest has "
            f"{' and '.join(reached)} and is selected. {advice}"
        )

    def hypervolume(
        self, *, reference: tuple[float, float], ideal: tuple[float, float] | None = None
    ) -> float:
        """Hypervolume: area between the front and the reference point that the front dominates.

        Parameters
        ----------
        reference : tuple of (cost, criterion)
            The worst corner.
        ideal : tuple of (cost, criterion), default=None
            The best corner; with it the area is a share of the box between the two.
        """
        return hypervolume(self.cost, self._ratio, reference=reference, ideal=ideal)

    def to_frame(self) -> pd.DataFrame:
        """The front as a table.

        Returns
        -------
        frame : pandas.DataFrame
            Columns cost, balance, relative_balance, share_ratio, and extra_cost: the cost on top of
            that of the cheapest point, as a share of the latter.
        """
        import pandas as pd

        cheapest = self.cost[0]
        extra = self.cost - cheapest
        return pd.DataFrame(
            {
                "cost": self.cost,
                "balance": self.balance,
                "relative_balance": self.relative_balance,
                "share_ratio": self.share_ratio,
                "extra_cost": extra / cheapest if cheapest > 0 else np.where(extra > 0, np.inf, 0),
            }
        )
