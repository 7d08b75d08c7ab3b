"""Events: sets of samples over which means are taken."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy import sparse

_SMALL = 4096
"""Samples up to which means of disjoint events are counted."""


class Events(ABC):
    """Weighted means over events, that is over sets of samples which may overlap.

    Made by `Events.disjoint` or `Events.overlapping`. With w the sample weights and e an event,

        means(values)_e = sum_{i in e} w_i values_i / sum_{i in e} w_i.

    Attributes
    ----------
    averaging : csr_array of shape (n_events, n_samples)
        The linear map itself: non-negative, each row sums to 1.
    n_events : int
        Number of events.
    n_samples : int
        Number of samples, whether in an event or not.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.groups import Events
    >>> events = Events.disjoint(np.array([0, 1, 0]), n_events=2)
    >>> events.means(np.array([1.0, 2.0, 5.0])), events.means_adjoint(np.array([1.0, 1.0]))
    (array([3., 2.]), array([0.5, 1. , 0.5]))
    """

    @staticmethod
    def disjoint(codes, n_events, weights=None):
        """Events without common samples.

        Parameters
        ----------
        codes : ndarray of int, shape (n_samples,)
            Event of each sample, in [0, n_events); -1 for a sample in no event.
        n_events : int
            Number of events.
        weights : ndarray of shape (n_samples,), default=None
            Non-negative sample weights; None weighs every sample alike.

        Raises
        ------
        ValueError
            If a weight is negative, or an event has no weight.
        """
        codes = np.asarray(codes)
        weights = _check_weights(weights, len(codes))
        # Samples in no event have a bin of their own, the last one, of which nothing is taken.
        codes = np.where(codes >= 0, codes, n_events)
        totals = _check_totals(np.bincount(codes, weights, n_events + 1)[:-1])
        return _DisjointEvents(codes, weights * np.append(1.0 / totals, 0.0)[codes], n_events)

    @staticmethod
    def overlapping(membership, weights=None):
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
        weighted = members.data * _check_weights(weights, members.shape[1])[members.indices]
        event = np.repeat(np.arange(members.shape[0]), np.diff(members.indptr))
        totals = _check_totals(np.bincount(event, weighted, minlength=members.shape[0]))
        shares = (weighted / totals[event], members.indices, members.indptr)
        return _OverlappingEvents(sparse.csr_array(shares, shape=members.shape))

    def draw(self, n_per_event, random_state):
        """Draw equally many samples from every event, each by its weight, with replacement.

        Parameters
        ----------
        n_per_event : int
            Samples drawn from every event.
        random_state : RandomState instance
            Source of the draws.

        Returns
        -------
        rows : ndarray of int, shape (n_events * n_per_event,)
            Positions of the samples, event after event.
        """
        events = np.arange(self.n_events)[:, np.newaxis]
        lots = random_state.random_sample((self.n_events, n_per_event))
        lots += events  # the shares of event e add up from e to e + 1
        found = np.searchsorted(self._running_shares, lots, side="right")
        np.minimum(found, self.averaging.indptr[events + 1] - 1, out=found)
        return self.averaging.indices[found.ravel()]

    @cached_property
    def _running_shares(self):
        """Running sum of the shares of all events; each event's own end at a whole number."""
        _, event, shares = self.memberships
        running = np.cumsum(shares)
        ends = running[self.averaging.indptr[1:] - 1]
        return running + (np.arange(1, len(ends) + 1) - ends)[event]

    def means(self, values):
        """Weighted mean over each event.

        Parameters
        ----------
        values : ndarray of shape (n_samples,) or (n_samples, n_columns)
            A value of every sample; columns are kept apart.

        Returns
        -------
        means : ndarray of shape (n_events,) or (n_events, n_columns)
        """
        return self.averaging @ values

    def means_adjoint(self, v):
        """Adjoint of `means`: ``means(u) @ v == u @ means_adjoint(v)``.

        Parameters
        ----------
        v : ndarray of shape (n_events,) or (n_events, n_columns)
            A value of every event.

        Returns
        -------
        spread : ndarray of shape (n_samples,) or (n_samples, n_columns)
        """
        return self.averaging.T @ v

    @abstractmethod
    def take(self, rows):
        """The events among some of the samples; the shares of each add up to 1 again.

        Parameters
        ----------
        rows : ndarray of int or bool
            Positions of the samples, which may repeat, or a mask over all of them.

        Raises
        ------
        ValueError
            If an event has nobody among them.
        """

    @abstractmethod
    def embed(self, rows, n_samples):
        """The same events among more samples; the others are in no event.

        Parameters
        ----------
        rows : slice or ndarray of int, shape (n_own,)
            Positions of the events' own samples among all.
        n_samples : int
            Number of all samples.
        """

    @abstractmethod
    def subset(self, rows, factors=1.0):
        """The events' shares of some of the samples: means over parts add up to those of all.

        Parameters
        ----------
        rows : slice or ndarray of int, shape (n_taken,)
            Positions of the samples, which may repeat.
        factors : ndarray of shape (n_taken,), default=1.0
            How much of its sample each stands for.
        """

    @property
    @abstractmethod
    def membership_codes(self):
        """Code of the set of events that each sample is in, (n_samples,); -1 for none."""

    @cached_property
    def memberships(self):
        """Sample, event and share of every membership, event by event: three (n_entries,)."""
        averaging = self.averaging
        events = np.repeat(np.arange(self.n_events), np.diff(averaging.indptr))
        return averaging.indices.astype(np.intp), events, averaging.data

    def members(self, event):
        """Who is in an event.

        Parameters
        ----------
        event : int
            The event.

        Returns
        -------
        samples : ndarray of int, shape (n_members,)
            Positions of its samples.
        shares : ndarray of shape (n_members,)
            Their shares of its weight; they sum to 1.
        """
        averaging = self.averaging
        inside = slice(*averaging.indptr[event : event + 2])
        return averaging.indices[inside], averaging.data[inside]

    def quantiles(self, event, scores, levels):
        """Scores that given shares of an event exceed.

        Parameters
        ----------
        event : int
            The event.
        scores : ndarray of shape (n_samples,)
            Scores.
        levels : ndarray of shape (n_levels,)
            Shares in [0, 1].

        Returns
        -------
        quantiles : ndarray of shape (n_levels,)
        """
        samples, shares = self.members(event)
        own = scores[samples]
        if np.ptp(shares) > 0:
            descending = np.argsort(-own, kind="stable")
            own, shares = own[descending], shares[descending]
        else:  # whoever comes first: values alone are sorted much faster than positions
            own = -np.sort(-own)
        return np.interp(levels, np.cumsum(shares) - shares / 2, own)


class _DisjointEvents(Events):
    """Every sample in one event at most: nothing sparse is needed for means."""

    def __init__(self, codes, shares, n_events):
        self.codes = codes  # (n_samples,) event of each sample; n_events for none
        self.shares = shares  # (n_samples,) share of each sample of the weight of its event
        self.n_events = n_events

    @property
    def n_samples(self):
        return len(self.codes)

    @property
    def membership_codes(self):
        return np.where(self.codes < self.n_events, self.codes, -1)

    @cached_property
    def averaging(self):
        inside = np.flatnonzero(self.codes < self.n_events)
        entries = (self.shares[inside], (self.codes[inside], inside))
        return sparse.csr_array(entries, shape=(self.n_events, self.n_samples))

    def means(self, values):
        # Counting needs no preparation; the sparse product, once made, is faster per sample.
        if np.ndim(values) > 1 or self.n_samples > _SMALL:
            return self.averaging @ values
        return np.bincount(self.codes, self.shares * values, self.n_events + 1)[:-1]

    def means_adjoint(self, v):
        if np.ndim(v) > 1:
            return self.averaging.T @ v
        return self.shares * np.append(v, 0.0)[self.codes]

    def take(self, rows):
        codes, shares = self.codes[rows], self.shares[rows]
        totals = np.bincount(codes, shares, self.n_events + 1)[:-1]
        _check_taken(totals)
        return _DisjointEvents(codes, shares / np.append(totals, 1.0)[codes], self.n_events)

    def subset(self, rows, factors=1.0):
        return _DisjointEvents(self.codes[rows], self.shares[rows] * factors, self.n_events)

    def embed(self, rows, n_samples):
        codes, shares = np.full(n_samples, self.n_events), np.zeros(n_samples)
        codes[rows], shares[rows] = self.codes, self.shares
        return _DisjointEvents(codes, shares, self.n_events)


class _OverlappingEvents(Events):
    """Samples may be in several events."""

    def __init__(self, averaging):
        self.averaging = averaging

    @property
    def n_events(self):
        return self.averaging.shape[0]

    @property
    def n_samples(self):
        return self.averaging.shape[1]

    @property
    def membership_codes(self):
        samples, events, _ = self.memberships
        # Sums of random numbers tell sets apart.
        names = np.random.default_rng(0).integers(1 << 52, size=self.n_events)
        totals = np.zeros(self.n_samples, dtype=np.int64)
        np.add.at(totals, samples, names[events])
        _, codes = np.unique(totals, return_inverse=True)
        return np.where(totals > 0, codes, -1)

    def take(self, rows):
        kept = self.averaging[:, rows]
        totals = kept.sum(axis=1)
        _check_taken(totals)
        shares = kept.data / np.repeat(totals, np.diff(kept.indptr))
        entries = (shares, kept.indices, kept.indptr)
        return _OverlappingEvents(sparse.csr_array(entries, shape=kept.shape))

    def subset(self, rows, factors=1.0):
        own = sparse.csr_array(self.averaging[:, rows])
        factors = np.broadcast_to(factors, own.shape[1])
        shares = (own.data * factors[own.indices], own.indices, own.indptr)
        return _OverlappingEvents(sparse.csr_array(shares, shape=own.shape))

    def embed(self, rows, n_samples):
        own = self.averaging
        columns = np.arange(n_samples)[rows][own.indices]
        shape = (self.n_events, n_samples)
        return _OverlappingEvents(sparse.csr_array((own.data, columns, own.indptr), shape=shape))


def _check_weights(weights, n_samples):
    weights = np.ones(n_samples) if weights is None else np.asarray(weights, dtype=np.float64)
    if (weights < 0).any():
        raise ValueError(f"weights must not be negative, but one is {weights.min():g}.")
    return weights


def _check_totals(totals):
    if not (totals > 0).all():
        raise ValueError(
            f"Every event needs samples of positive weight, but event "
            f"{np.flatnonzero(~(totals > 0))[0]} has a total weight of {totals.min():g}: its "
            "mean is undefined. Leave that event out."
        )
    return totals


def _check_taken(totals):
    if not (totals > 0).all():
        raise ValueError(
            f"Every event needs somebody, but event {np.flatnonzero(~(totals > 0))[0]} has "
            "nobody among the samples taken; draw samples from every event instead."
        )
