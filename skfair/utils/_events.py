"""Events: sets of samples over which means are taken."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class Events:
    """Weighted means over events, that is over sets of samples which may overlap.

    Made by `Events.disjoint` or `Events.overlapping`. With w the sample weights and e an event,

        means(values)_e = sum_{i in e} w_i values_i / sum_{i in e} w_i.

    Attributes
    ----------
    averaging : csr_array of shape (n_events, n_samples)
        The linear map itself: non-negative, each row sums to 1.
    """

    averaging: sparse.csr_array

    @classmethod
    def disjoint(cls, codes, n_events, weights=None):
        """Events without common samples.

        Parameters
        ----------
        codes : ndarray of int, shape (n_samples,)
            Event of each sample, in [0, n_events); -1 for a sample in no event.
        n_events : int
            Number of events.
        weights : ndarray of shape (n_samples,), default=None
            Non-negative sample weights; None weighs every sample alike.
        """
        inside = np.flatnonzero(np.asarray(codes) >= 0)
        cells = (inside, np.asarray(codes)[inside])
        shape = (len(codes), n_events)
        return cls.overlapping(sparse.coo_array((np.ones(len(inside)), cells), shape), weights)

    @classmethod
    def overlapping(cls, membership, weights=None):
        """Events that may share samples.

        Parameters
        ----------
        membership : sparse array or matrix of bool, shape (n_samples, n_events)
            Whether a sample belongs to an event.
        weights : ndarray of shape (n_samples,), default=None
            Non-negative sample weights; None weighs every sample alike.

        Raises
        ------
        ValueError
            If the membership is not boolean, a weight is negative, or an event has no weight.
        """
        members = sparse.csr_array(membership.T, dtype=np.float64)
        if not np.isin(members.data, (0, 1)).all():
            raise ValueError(
                "membership must be boolean (0 or 1), one row per sample and one column per "
                f"event, but it holds {members.data[~np.isin(members.data, (0, 1))][0]:g}; use "
                "weights for the weight of a sample."
            )
        weights = np.ones(members.shape[1]) if weights is None else np.asarray(weights)
        if (weights < 0).any():
            raise ValueError(f"weights must not be negative, but one is {weights.min():g}.")
        weighted = members.data * weights[members.indices]
        event = np.repeat(np.arange(members.shape[0]), np.diff(members.indptr))
        totals = np.bincount(event, weighted, minlength=members.shape[0])
        if not (totals > 0).all():
            raise ValueError(
                f"Every event needs samples of positive weight, but event "
                f"{np.flatnonzero(~(totals > 0))[0]} has a total weight of {totals.min():g}: its "
                "mean is undefined. Leave that event out."
            )
        shares = (weighted / totals[event], members.indices, members.indptr)
        return cls(sparse.csr_array(shares, shape=members.shape))

    def means(self, values):
        """Weighted mean over each event: (n_samples,) -> (n_events,); columns are kept apart."""
        return self.averaging @ values

    def spread(self, v):
        """Adjoint of `means`, (n_events,) -> (n_samples,): means(u) @ v == u @ spread(v)."""
        return self.averaging.T @ v
