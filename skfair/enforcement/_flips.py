"""Errors and gaps along a line of models, from the decisions that flip on the way.

Along a line every score is linear in the length, so its sign changes once at most. Between two
flips nothing changes: a model is placed in such an interval. A few samples are sorted by the
lengths of their flips; many are counted in bins.
"""

import numpy as np

N_BINS = 1024
"""Bins of a line of partitioned samples."""

MAX_ENTRIES = 1 << 18
"""Numbers that the counts of one line may hold: means of events in every interval."""

MARGIN = 1e-9
"""Scores nearer to 0 than this, relative to the largest, might change sign if terms were added in
another order. Intervals between flips must be wider."""

_MAX_NUMPY = 1 << 17
"""Memberships up to which numpy counts: to import numba takes longer."""

_N_TYPICAL = 1001
"""Flips whose median length sets the scale of the bins."""

_BIN_END = 1e-3
"""Half of the width of an interval at the end of a bin, relative to the narrowest bin."""


def count_unclear(scores):
    """Number of scores so near to 0 that they might change sign; an exact 0 stays one."""
    sizes = np.abs(scores)
    return np.count_nonzero((sizes > 0) & (sizes <= MARGIN * (1.0 + sizes.max(initial=0.0))))


def count_line(problem, effects, scores, slopes, max_error):
    """Lengths along a line, errors and the largest excess of a gap at each, of samples in memory.

    ``effects`` are the `flip_effects` of each constraint. Lengths before the first and after the
    last error below `max_error` are left out.
    """
    # Intervals between any two flips, or ends of bins if samples are very many.
    n_events = sum(one.events.n_events for one in problem.constraint)
    max_bins = max(1000, MAX_ENTRIES // n_events)
    if len(slopes) <= max_bins:
        low, high, decisions, bins = sort_flips(scores, slopes)
    else:
        low, high, decisions, bins = spread_flips(scores, slopes, max_bins)
    # Keep the intervals from the first useful error to the last.
    errors = _errors_along(problem, decisions, bins, len(low) - 1)
    useful = np.flatnonzero(errors < max_error)
    if not len(useful):
        return np.empty(0), np.empty(0), np.empty(0)
    first, last = map(int, useful[[0, -1]])  # no numpy integers: kernels see one dtype
    decisions, bins = _crop(decisions, bins, first, last)
    # Gaps of all constraints in these intervals.
    gaps = [
        excess_of(one, _sums_along(one, of_one, decisions, bins, last - first))
        for one, of_one in zip(problem.constraint, effects, strict=True)
    ]
    low, high, errors = (values[first : last + 1] for values in (low, high, errors))
    # A model in a narrower interval might have other decisions after rounding.
    is_wide = high - low > MARGIN
    return round_midpoints(low[is_wide], high[is_wide]), errors[is_wide], np.max(gaps, 0)[is_wide]


def flip_effects(constraint):
    """What each membership adds to a sum by a positive decision, and sums without any.

    One pair for each term of the rate: the first is (n_entries,) in the order of
    ``events.memberships``, the second (n_events,).
    """
    # Exact rates depend on the sign of a score alone: two evaluations give all flips.
    samples, _, weights = constraint.events.memberships
    ones = np.ones(len(constraint.target))
    effects = []
    for term in constraint.exact:
        positive, negative = (term(sign * ones, constraint.target).value for sign in (1.0, -1.0))
        of_negative = constraint.events.means(negative)
        effects.append((weights * (positive - negative)[samples], of_negative))
    return effects


def excess_of(constraint, sums):
    """Excess of the gap over the tolerance, of sums (n_sums, ...); infinite where it is unknown."""
    excess = constraint.gap_of(sums) - constraint.tolerance
    return np.nan_to_num(excess, nan=np.inf) if constraint.is_quotient else excess


def _sums_along(constraint, effects, decisions, bins, n_bins):
    """Exact sums as decisions flip, (n_sums, n_bins + 1): at first, and after each bin.

    A decision, -1 or +1, flips after its bin in [0, n_bins); those that stay have n_bins.
    """
    samples, events, _ = constraint.events.memberships
    # Start from sums with all decisions negative, and add the effects of the positive ones.
    sums = [
        of_negative[:, np.newaxis]
        + sum_flips((samples, events, added), decisions, bins, constraint.n_events, n_bins)
        for added, of_negative in effects
    ]
    return sums[0] if len(sums) == 1 else np.concatenate(sums)


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


def _errors_along(problem, decisions, bins, n_bins):
    """Weighted share of wrong decisions before the first bin and after each."""
    effects = -problem.mean_weights * problem.target  # of a positive decision
    first = problem.mean_weights @ (problem.target > 0) + effects @ (decisions > 0)
    steps = np.bincount(bins, -decisions * effects, n_bins + 1)
    return np.cumsum(np.concatenate(([first], steps[:n_bins])))


def _crop(decisions, bins, first, last):
    """Decisions at interval `first`, and bins counted from there; `last` is the last interval."""
    is_before, is_after = bins < first, bins >= last
    bins = np.where(is_before | is_after, last - first, bins - first)
    return np.where(is_before, -decisions, decisions), bins


def sort_flips(scores, slopes):
    """The intervals between any two flips, found by sorting them.

    The result is (low, high, decisions, bins): the ends of each interval, decisions (-1 or +1) in
    the first interval, and the number of the interval after which each decision flips. That of
    decisions which never flip is the last one.
    """
    # A score is 0 at minus its quotient with its slope.
    is_still = np.abs(slopes) <= MARGIN
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        flips = np.where(is_still, np.inf, -scores / slopes)
    n_flips = len(flips) - np.count_nonzero(is_still)
    order = np.argsort(flips)
    flips = flips[order[:n_flips]]
    ends = np.concatenate((flips[:1] - 3.0, flips, flips[-1:] + 3.0))
    bins = np.empty(len(scores), dtype=np.intp)
    bins[order] = np.minimum(np.arange(len(scores)), n_flips)
    decisions = np.where(np.where(is_still, scores, -slopes) > 0, 1, -1)
    return ends[:-1], ends[1:], decisions, bins


def spread_flips(scores, slopes, n_bins):
    """Intervals at the ends of bins, as `sort_flips`; a few flips may lie beyond the outermost."""
    from skfair._kernels.flips import bin_flips

    # The median length of a few flips is the scale: bins are dense where flips are.
    step = max(1, len(scores) // _N_TYPICAL)
    sizes, steps = np.abs(scores[::step]), np.abs(slopes[::step])
    is_moving = steps > MARGIN
    typical = np.median(sizes[is_moving] / steps[is_moving])
    typical = np.exp2(np.rint(np.log2(typical))) if typical > 0.0 else 1.0
    bins, decisions = bin_flips(scores, slopes, MARGIN, typical, n_bins)
    return *intervals_around_edges(typical, n_bins), decisions, bins


def intervals_around_edges(typical, n_bins):
    """Low and high ends of a narrow interval around each end of the bins, two (n_bins + 1,)."""
    position = np.linspace(-1.0, 1.0, n_bins + 1)
    position[[0, -1]] = (position[[0, -1]] + position[[1, -2]]) / 2  # short of infinity
    lengths = typical * position / (1.0 - np.abs(position))
    width = _BIN_END * np.diff(lengths).min()
    return lengths - width, lengths + width


def round_midpoints(low, high):
    """A number of few digits near the middle of each interval."""
    grid = np.exp2(np.floor(np.log2((high - low) / 4.0)))
    return np.rint((low + high) / 2.0 / grid) * grid


def count_bins(block, start, directions, typical):
    """Share of a block in the errors and means at the ends of the bins of several lines.

    Returns errors (n_lines, n_bins + 1) and, of each constraint, sums (n_lines, n_sums, n_bins +
    1): first values and increments, without the sums of negative decisions, which come last,
    (n_sums,).
    """
    compiled = block.compiled
    sums = compiled and compiled.count_lines(start, directions, MARGIN, typical, N_BINS)
    if sums is not None:
        return sums
    scores, effects = block.model.evaluate(start).scores, list(map(flip_effects, block.constraint))
    lines = zip(directions, typical, strict=True)
    counts = [_count_bins(block, effects, scores, *line) for line in lines]
    errors, sums = zip(*counts, strict=True)
    negative = tuple(
        np.concatenate([of_negative for _, of_negative in of_one]) for of_one in effects
    )
    return np.array(errors), tuple(map(np.array, zip(*sums, strict=True))), negative


def _count_bins(block, effects, scores, direction, typical):
    from skfair._kernels.flips import add_flips, bin_flips

    bins, decisions = bin_flips(scores, block.model.scores(direction), MARGIN, typical, N_BINS)

    def add(samples, events, added, n_events):
        sums = np.zeros((n_events, N_BINS + 1))
        add_flips(samples, events, added, decisions, bins, sums)
        return sums

    samples = np.arange(len(scores))
    errors = add(samples, np.zeros_like(samples), -block.mean_weights * block.target, 1)[0]
    errors[0] += block.mean_weights @ (block.target > 0)
    sums = []
    for one, of_one in zip(block.constraint, effects, strict=True):
        samples, events, _ = one.events.memberships
        of_terms = [add(samples, events, added, one.n_events) for added, _ in of_one]
        sums.append(np.concatenate(of_terms))
    return errors, tuple(sums)
