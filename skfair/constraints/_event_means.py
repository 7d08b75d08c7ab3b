"""Means over events of a pointwise rate of the scores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from skfair.constraints._rates import kernel_rate
from skfair.groups import Events
from skfair.inference import estimates_of
from skfair.losses import as_pointwise

_MAX_NUMPY = 1 << 17
"""Memberships up to which numpy counts: to import numba takes longer."""


@dataclass(frozen=True, eq=False)
class EventMeans:
    """Means over events of a rate: a smooth one for solvers, an exact one for the metric.

    Attributes
    ----------
    name : str
        Name of the constraint.
    events : Events
        Samples that each mean is taken over.
    labels : list of (str, object)
        Cell and group of each event.
    order : ndarray of int, shape (n_events,)
        Positions of the events in reports, which sort the groups of a cell by label.
    counts : ndarray of int, shape (n_events,)
        Samples in each event.
    target : ndarray of shape (n_samples,)
        Classes -1 and +1, or real numbers.
    smooth, exact : callable
        (scores, target) -> Pointwise: the rate that solvers bound, and the one that the public
        metric counts.
    """

    name: str
    events: Events
    labels: list
    order: np.ndarray
    counts: np.ndarray
    target: np.ndarray
    smooth: Callable
    exact: Callable

    def evaluate(self, scores):
        """Smooth rate as Pointwise, and its means, (n_events,)."""
        rate = self.smooth(scores, self.target)
        rate = as_pointwise(rate, len(scores), f"The rate of {self.name}")
        return rate, self.events.means(rate.value)

    def exact_rate(self, scores):
        """Rate of each sample that the public metric counts, (n_samples,)."""
        return self.exact(scores, self.target).value

    def exact_at(self, scores):
        """Means that the public metric compares, (n_events,)."""
        return self.events.means(self.exact_rate(scores))

    def residual(self, scores):
        """Exact means less smooth ones, (n_events,)."""
        return self.exact_at(scores) - self.evaluate(scores)[1]

    def estimates(self, scores):
        """Estimates of the population's exact means."""
        return estimates_of(self.events, self.exact_rate(scores))

    def moments(self, scores):
        """Means of the exact rate and its square, sums of squared weights; partitions add up."""
        values = self.exact_rate(scores)
        # The sum of squared weights is one over the effective number of samples.
        weights = self.events.averaging_matrix.power(2).sum(axis=1)
        return self.events.means(values), self.events.means(values**2), weights

    @property
    def has_kernel(self):
        """Whether kernels know the smooth rate and the events."""
        return self.kernel_arguments(self.smooth) is not None

    def kernel_arguments(self, rate):
        """Event and weight of each sample, and what kernels know a rate by; None without a kernel.

        Events are disjoint; samples in none of them have the number of events, and a weight of 0.
        """
        known, members = kernel_rate(rate), self.events.codes_and_weights
        return None if known is None or members is None else (*members, *known)

    @cached_property
    def flip_effects(self):
        """What each membership adds to its event's mean by a positive decision; means without any.

        The first is (n_entries,) in the order of ``events.memberships``, the second (n_events,).
        """
        # The exact rate of decisions depends on their sign alone: two evaluations give all flips.
        positive, negative = (
            self.exact_rate(np.full(len(self.target), sign)) for sign in (1.0, -1.0)
        )
        samples, _, weights = self.events.memberships
        return weights * (positive - negative)[samples], self.events.means(negative)

    def along_flips(self, decisions, steps, n_steps):
        """Exact means as decisions flip, (n_events, n_steps + 1): at first, and after each step.

        A decision, -1 or +1, flips at its step in [0, n_steps); those that stay have n_steps.
        """
        samples, events, _ = self.events.memberships
        effects, negative = self.flip_effects
        n_events = self.events.n_events
        # Start from means with all decisions negative, and add the effects of the positive ones.
        sums = sum_flips((samples, events, effects), decisions, steps, n_events, n_steps)
        return negative[:, np.newaxis] + sums

    def take(self, rows):
        """The means over a subset of the samples; weights within events add up to 1 again."""
        events = self.events.take(rows)
        counts = np.diff(events.averaging_matrix.indptr)
        return replace(self, events=events, target=self.target[rows], counts=counts)

    def subset(self, rows, factors=1.0, target=None):
        """A partition's contribution to the means, as in `Events.subset`; partitions add up."""
        target = self.target[rows] if target is None else target
        return replace(self, events=self.events.subset(rows, factors), target=target)

    def embed(self, rows, n_samples):
        """The same means as a function of more scores, as in `Events.embed`."""
        target = np.ones(n_samples)
        target[rows] = self.target
        return replace(self, events=self.events.embed(rows, n_samples), target=target)

    def take_drawn(self, rows, start, n_per_event):
        """The means over drawn samples, of which those from `start` on come from its events."""
        events, counts = drawn_events(len(rows), start, self.events.n_events, n_per_event)
        return replace(self, events=events, counts=counts, target=self.target[rows])


def sum_flips(entries, decisions, bins, n_events, n_bins):
    """Sums over events of the effects of positive decisions, (n_events, n_bins + 1).

    ``entries`` are sample and event of every membership, and the effect of a positive decision on
    the event. ``decisions`` are those before the first flip, -1 or +1, and ``bins`` the bin of each
    flip, n_bins for none. The sums are before the first bin and after every one.
    """
    samples, events, effects = entries
    if len(samples) > _MAX_NUMPY:
        from skfair._kernels.flips import add_flips

        sums = np.zeros((n_events, n_bins + 1))
        add_flips(samples, events, effects, decisions, bins, sums)
        return np.cumsum(sums, axis=1, out=sums)
    # Sums before any flip, then the change in every bin, cumulated.
    signs, flip_bins = decisions[samples], bins[samples]
    sums = np.empty((n_events, n_bins + 1))
    sums[:, 0] = np.bincount(events, effects * (signs > 0), n_events)
    flipping = np.flatnonzero(flip_bins < n_bins)
    cells = events[flipping] * n_bins + flip_bins[flipping]
    steps = -signs[flipping] * effects[flipping]
    sums[:, 1:] = np.bincount(cells, steps, n_events * n_bins).reshape(n_events, n_bins)
    return np.cumsum(sums, axis=1, out=sums)


@lru_cache(maxsize=128)
def drawn_events(n_samples, start, n_events, n_per_event):
    """Events one after the other, from a position on, and counts; equal batches share them."""
    codes = np.full(n_samples, -1)
    # Drawn samples lie event by event behind those of the loss, which are in no event.
    codes[start : start + n_events * n_per_event] = np.repeat(np.arange(n_events), n_per_event)
    return Events.disjoint(codes, n_events), np.full(n_events, n_per_event)
