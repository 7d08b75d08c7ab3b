"""Sample size that a claim, or the guarantee of a fit, requires."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import special, stats

from skfair._statistics.estimates import (
    LogRates,
    Rates,
    check_level,
)
from skfair._statistics.gaps import range_probability
from skfair._statistics.limits_of_rates import (
    clopper_pearson_limits,
    combine_margins,
    is_limit_above,
    rate_limits,
)
from skfair._statistics.planned_draws import (
    total_certificate_size,
    total_fit_size,
)
from skfair._utils.checks import argument_error, check_choice, check_tolerance, join_names
from skfair._utils.parameters import CONFIDENCE_LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable


_NEGLIGIBLE_PROBABILITY = 1e-4
"""Probability of the smallest counts that the computation of the power leaves out."""

_NOISE_SHARE = 0.6
"""Share of the range of sampling noise by which posteriors of a range must be narrower."""


def required_sample_size(
    tolerance: float | None = None,
    *,
    ratio: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    expected: float | None = None,
    n_groups: int | Sequence[float] = 2,
    rate: float | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    power: float = 0.8,
    purpose: Literal["certificate", "fit", "calibration"] = "certificate",
) -> int:
    r"""Compute how many samples of each group a claim, or a guaranteed fit, needs.

    For a claim by `skfair.audit.Audit.certify` it is the smallest size n at which a model is
    shown to keep the tolerance :math:`\epsilon` with the given power. The model is expected to
    have the gap g between groups with the rates :math:`p - g/2` and :math:`p + g/2`, each of one
    half of them. If each group can expect 40 successes and 40 failures, the rates are taken to be
    normal. For two groups and a gap of many standard errors

    .. math:: n \approx \bigl( p (1 - p) - g^2/4 \bigr)
        \Bigl( \frac{\sqrt 2 \, (z_c + z_b)}{\epsilon - g} \Bigr)^2

    with the normal quantiles :math:`z_c` and :math:`z_b` at the confidence level and the power.
    Without a gap, the quantile :math:`q_{k, b}` of the range of k normal variables takes the place
    of :math:`\sqrt 2 \, z_b`. Otherwise the power is the exact binomial probability of counts that
    the tests of `certify` accept. It is 0 below :math:`\log(1 - c) / \log(1 - \epsilon)` samples:
    there even a group without a success is compatible with a rate above :math:`\epsilon`.

    For a fit with ``confidence_level``, the smallest size at which Jeffreys' posteriors of k equal
    rates p lie within :math:`\epsilon \, q_{k, c} / (q_{k, c} + 0.6 \, q_{k, b})` of one another
    with a probability of the confidence level c, about

    .. math:: n = p (1 - p) \Bigl( \frac{q_{k, c} + 0.6 \, q_{k, b}}{\epsilon} \Bigr)^2.

    The first quantile is the uncertainty of rates that the fit has made equal. The second is the
    sampling noise of the out-of-fold rates, which look less equal. The factor .6 approximates the
    width that the posteriors of rates with this noise need. Such a fit has a small gap in training.
    One that has the `expected` gap there, which costs less accuracy, needs more samples. How
    much accuracy remains depends on the data.

    With `ratio` it is the smallest size at which the ratio of any two rates, such as the impact
    ratio of the four-fifths rule, is shown to be at least this ratio. The power is the exact
    binomial probability that the smallest ratio of the sample passes.

    With `minimum` or `maximum`, it is the smallest size at which every group is shown to have a
    rate of at least, or at most, this bound (:class:`~skfair.constraints.MinimumRate`,
    :class:`~skfair.constraints.MaximumRate`). With :math:`c_n` the smallest count of n whose
    lower limit by Clopper and Pearson is not below the minimum m, the power is exact:

    .. math:: \Pr(B \ge c_n)^k, \quad B \sim \mathrm{Binomial}(n, p), \qquad
        c_n = \min \{ c : \Pr(\mathrm{Binomial}(n, m) \ge c) \le 1 - \text{level} \}.

    For ``purpose="calibration"`` it is the smallest size at which the observed share of positives
    of every group is shown to be within the tolerance of its mean predicted probability
    (:class:`~skfair.constraints.Calibration`). The power is the exact binomial probability of
    counts whose limits by Clopper and Pearson are within it, if all samples of a group have the
    same probability. Probabilities that explain outcomes need fewer samples, in large groups.
    Probabilities that vary more than outcomes follow need more.

    Parameters
    ----------
    tolerance : float in (0, 1), default=None
        Largest gap allowed.
    ratio : float in (0, 1), default=None
        In place of a tolerance, the smallest ratio allowed.
    minimum, maximum : float in (0, 1), default=None
        In place of a tolerance, the smallest or the largest rate that a group may have.
    expected : float in [0, 1], default=None
        What the bound is about, as the model is expected to have it: its gap with a tolerance (by
        default 0), or that of the training data for ``purpose="fit"``, or the share of positives
        minus the predicted one for "calibration"; its ratio with `ratio` (by default 1); the rate
        of all groups with `minimum` or `maximum`, where it is required.
    n_groups : int or list of float, default=2
        Number of groups compared, at least 2; at least 1 with a bound on single groups. Also the
        shares of groups, which add up to 1: n is then the number of samples in all, to three
        digits. With an expected gap or ratio the first half of them has the smallest rate.
    rate : float in (0, 1), default=None
        Mean of the smallest and the largest expected rate of a group, with a tolerance or ratio; by
        default 0.5, which needs the largest sample for a tolerance. For a ratio a rate near 0 does.
        For ``purpose="calibration"`` it is the mean probability of a group.
        A rate within a class, such as the true positive rate, counts the samples of that class
        only.
    confidence_level : float, default=0.95
        Confidence level of the claim, or of the fit.
    power : float, default=0.8
        Probability that the claim is shown, or that a fit is guaranteed.
    purpose : {"certificate", "fit", "calibration"}, default="certificate"
        "certificate": held-out samples for `skfair.audit.Audit.certify`. "fit": training samples
        of a classifier with ``confidence_level``. "calibration": held-out samples for a claim about
        probabilities, ``certify("calibration", tolerance)``.

    Returns
    -------
    n : int
        Samples of each group; of shares the samples in all. The power grows in steps where n p is
        small, so that it may exceed the one requested. With `minimum` or `maximum` it falls a
        little between steps.

    Raises
    ------
    ValueError
        If a number is out of its range, the expected value does not keep the bound, or not exactly
        one of `tolerance`, `ratio`, `minimum` and `maximum` is passed.

    See Also
    --------
    skfair.audit.Audit.certify : Makes claims.

    Examples
    --------
    >>> from skfair.statistics import required_sample_size
    >>> required_sample_size(0.05, rate=0.2), required_sample_size(0.05, n_groups=10, rate=0.2)
    (1097, 2348)

    At a small rate the tolerance alone decides:

    >>> required_sample_size(0.05, rate=0.001)
    60

    A classifier that is fitted with ``confidence_level=0.95``:

    >>> required_sample_size(0.05, rate=0.2, purpose="fit")
    953

    A model that is expected to have a gap of .03, and the four-fifths rule for a ratio of .9:

    >>> required_sample_size(0.05, expected=0.03, rate=0.2)
    4940
    >>> required_sample_size(ratio=0.8, expected=0.9, rate=0.2)
    3659

    Groups of 3 % and 97 % need fewer samples in all than equal groups as large as the smallest:

    >>> required_sample_size(0.05, n_groups=[0.03, 0.97])
    29300

    A floor of .75 for the recall of two groups that have .8:

    >>> required_sample_size(minimum=0.75, expected=0.8)
    591

    Probabilities of two groups, of which a tenth is positive, within two percentage points:

    >>> required_sample_size(0.02, rate=0.1, purpose="calibration")
    2457
    """
    bounds: dict[str, Any] = {"tolerance": tolerance, "ratio": ratio, "minimum": minimum}
    bounds |= {"maximum": maximum}
    name, bound = _find_bound(bounds)
    check_tolerance(bound, closed="neither", name=name)
    is_one_sided = name in ("minimum", "maximum")
    passed_rate = rate
    rate = 0.5 if rate is None else rate
    for argument, value in {"rate": rate, "power": power}.items():
        if not isinstance(value, Real) or not 0.0 < value < 1.0:
            raise argument_error(f"{argument} must be strictly between 0 and 1; got {value!r}.")
    bounds_single_groups = is_one_sided or purpose == "calibration"
    n_groups, shares = _check_groups(n_groups, fewest=1 if bounds_single_groups else 2)
    check_choice("purpose", purpose, ("certificate", "fit", "calibration"))
    level = check_level(confidence_level)
    _refuse_unused(name, bound, purpose, passed_rate, shares)
    expected = _check_expected(name, bound, expected)
    if purpose == "calibration":
        return calibration_size(bound, rate, expected, n_groups, level, power)
    if shares is not None:
        rates = np.full(n_groups, expected)
        if not is_one_sided:
            rates = _expected_rates(name, expected, rate, n_groups)
        if purpose == "fit":
            width = _posterior_width(bound, rates, level, power)
            return total_fit_size(rates, shares, width, level)
        return total_certificate_size(name, bound, rates, shares, level, power)
    if is_one_sided:
        # A ceiling is a floor of the rate of the other outcome.
        floor = (bound, expected) if name == "minimum" else (1.0 - bound, 1.0 - expected)
        return _minimum_rate_size(*floor, n_groups, level, power)
    rates = _expected_rates(name, expected, rate, n_groups)
    if purpose == "fit":
        return _guarantee_size(bound, rates, level, power)
    return (_difference_size if name == "tolerance" else _ratio_size)(bound, rates, level, power)


def _find_bound(bounds: dict[str, Any]) -> tuple[str, Any]:
    """Name and value of the one bound that is passed; raise for none, several, or a constraint."""
    passed = {name: bound for name, bound in bounds.items() if bound is not None}
    if len(passed) != 1:
        raise ValueError(
            "Pass exactly one of tolerance, ratio, minimum and maximum; got "
            + (join_names(f"{name}={bound!r}" for name, bound in passed.items()) or "none")
            + "."
        )
    ((name, bound),) = passed.items()
    if hasattr(bound, "tolerance"):
        raise argument_error(
            f"{name} must be a number; got {bound!r}. Pass the tolerance or ratio of a constraint "
            "on rates of decisions. Of another one, plan a claim by certifying a sample: the "
            "distance of its limit from its estimate falls with the square root of the number of "
            "samples."
        )
    return name, bound


def _refuse_unused(
    name: str,
    bound: float,
    purpose: str,
    rate: float | None,
    shares: np.ndarray | None,
) -> None:
    """Raise for arguments that do not go with the bound."""
    if purpose != "certificate" and name != "tolerance":
        raise ValueError(
            f"purpose={purpose!r} plans for a tolerance, but {name}={bound!r} was passed; pass "
            "tolerance, such as the difference that the ratio means at the rate."
        )
    if name in ("minimum", "maximum") and rate is not None:
        raise argument_error(
            f"rate must be left out with {name}={bound!r}; got {rate!r}. Pass the rate that is "
            f"expected of the groups as expected={rate!r}."
        )
    if purpose == "calibration" and shares is not None:
        raise argument_error(
            "n_groups must be a number of groups with calibration, not their shares. The smallest "
            "group needs as many samples as one of equal groups."
        )


def _check_groups(n_groups: Any, fewest: int) -> tuple[int, np.ndarray | None]:
    """Number of groups, and their shares if these are passed; raise for fewer than the fewest."""
    shares = None
    if np.ndim(n_groups) == 1:
        shares = _check_group_shares(n_groups)
        n_groups = len(shares)
    if not isinstance(n_groups, Integral) or n_groups < fewest:
        raise argument_error(f"n_groups must be a whole number from {fewest} on; got {n_groups!r}.")
    return int(n_groups), shares


def _check_group_shares(shares: Sequence[float] | np.ndarray) -> np.ndarray:
    """Shares of groups as an array; raise unless they are positive and add up to 1."""
    values = np.asarray(shares, dtype=float)
    if not (values > 0).all() or abs(values.sum() - 1.0) > 1e-6:
        raise argument_error(
            f"n_groups must be a number of groups, or their shares, which are positive and add up "
            f"to 1; got {list(shares)}, with the sum {values.sum():g}."
        )
    return values


def _check_expected(name: str, bound: float, expected: float | None) -> float:
    """The gap, ratio or rate that a model is expected to have; raise if it breaks the bound."""
    if expected is None and name in ("minimum", "maximum"):
        raise argument_error(
            f"expected must be the rate that the groups are expected to have with {name}: the "
            "closer it is to the bound, the more samples are required."
        )
    if expected is None:
        return 1.0 if name == "ratio" else 0.0
    ranges = dict.fromkeys(("tolerance", "maximum"), (0.0, bound))
    low, high = ranges.get(name, (bound, 1.0))
    is_possible = isinstance(expected, Real) and low <= expected <= high
    if not is_possible or expected == bound or (expected in (0, 1) and name.endswith("imum")):
        raise argument_error(
            f"expected must be the {_QUANTITIES[name]} of the model, from {low} to {high} and not "
            f"at the bound {name}={bound!r}, which no sample could show; got {expected!r}."
        )
    return float(expected)


_QUANTITIES = {
    "tolerance": "gap",
    "ratio": "ratio",
    "minimum": "rate",
    "maximum": "rate",
}
"""What a bound is about, by its argument."""


def _expected_rates(name: str, expected: float, rate: float, n_groups: int) -> np.ndarray:
    """Rates of all groups around their middle, of which half are the smallest."""
    # A ratio r of rates about p is the gap 2 p (1 - r) / (1 + r).
    gap = expected if name == "tolerance" else 2.0 * rate * (1.0 - expected) / (1.0 + expected)
    if gap and not gap / 2.0 < rate < 1.0 - gap / 2.0:
        raise argument_error(
            "rate must be the middle of the smallest and the largest rate of a group, which are "
            f"{gap:.3g} apart with expected={expected!r} and must be between 0 and 1; got {rate!r}."
        )
    n_largest = n_groups // 2
    return np.repeat([rate - gap / 2.0, rate + gap / 2.0], [n_groups - n_largest, n_largest])


def _difference_size(tolerance: float, rates: np.ndarray, level: float, power: float) -> int:
    """Sample size of each group at which the largest difference is shown to be small."""
    # The tests treat successes and failures in the same way.
    rates = rates if rates.mean() <= 0.5 else np.sort(1.0 - rates)
    n = _normal_size(tolerance, rates, rates * (1.0 - rates), level, power)
    # Rates are nearly normal where enough successes are expected.
    if n * rates.mean() >= 40.0:
        return n
    start = max(smallest_certifiable_size(tolerance, level), int(0.8 * n))
    return _smallest_size(start, lambda n: certificate_power(n, tolerance, rates, level) >= power)


def smallest_certifiable_size(tolerance: float, level: float) -> int:
    """Sample size of a group below which no claim of a rate can be shown."""
    return int(np.ceil(np.log1p(-level) / np.log1p(-tolerance)))


def _normal_size(
    bound: float, means: np.ndarray, variances: np.ndarray, level: float, power: float
) -> int:
    """Sample size of each group if the estimates are normal about sorted means.

    The variances are those of a single sample. Estimates are shown to lie within the bound of
    one another.
    """
    z_score = special.ndtri(level)
    pair = variances[[0, -1]].sum()

    def is_enough(n: int) -> bool:
        errors = np.sqrt(variances / n)
        width = bound - z_score * np.sqrt(pair / n)
        # The smallest estimate lies in one of 4,000 short intervals about the smallest mean.
        reach = 8.0 * errors.max()
        ends = np.linspace(means[0] - reach, means[0] + reach, 4001)
        most = (ends[1:] + ends[:-1]) / 2.0 + width

        def cdf(values: np.ndarray) -> np.ndarray:
            return special.ndtr((values - means[:, np.newaxis]) / errors[:, np.newaxis])

        return _range_probability(cdf(ends[:-1]), cdf(ends[1:]), cdf(most)) >= power

    # With fewer samples the width is negative.
    return _smallest_size(max(1, int(pair * (z_score / bound) ** 2)), is_enough)


def _guarantee_size(tolerance: float, rates: np.ndarray, level: float, power: float) -> int:
    """Sample size of each group at which the posterior of the rates is certain enough."""
    certain, noise = stats.studentized_range.ppf([level, power], len(rates), np.inf)
    errors = certain + _NOISE_SHARE * noise
    gap = np.ptp(rates)
    width = _posterior_width(tolerance, rates, level, power)
    # At the variance of the rates in the middle; one-sided where the gap is large.
    variance = rates.mean() * (1.0 - rates.mean()) - gap**2 / 4.0
    start = 0.4 * variance * (errors / (tolerance - gap)) ** 2
    return _smallest_size(
        max(1, int(start)),
        lambda n: range_probability(rates, np.full(len(rates), n), width) >= level,
    )


def _posterior_width(tolerance: float, rates: np.ndarray, level: float, power: float) -> float:
    """Width within which posteriors of rates must lie, beside which there is sampling noise."""
    certain, noise = stats.studentized_range.ppf([level, power], len(rates), np.inf)
    gap = np.ptp(rates)
    return gap + (tolerance - gap) * certain / (certain + _NOISE_SHARE * noise)


def _smallest_size(first: int, is_enough: Callable[[int], bool]) -> int:
    """Smallest sample size of each group, from ``first`` on, that is enough."""
    # Bracket the size, then halve the bracket.
    low = first - 1
    high = first
    while not is_enough(high):
        low = high
        high = int(np.ceil(1.1 * high)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def certificate_power(n: int, tolerance: float, rates: np.ndarray, level: float) -> float:
    """Probability that groups of n samples with these rates are shown to be within it.

    The pair of the largest and the smallest count decides. So this is the sum, over the smallest
    count, of the probability that all counts are between it and the largest count that the tests
    accept next to it.
    """
    # The smallest counts that are neither too small nor too large to occur.
    counts = np.arange(n + 1)
    all_reach = stats.binom.sf(counts - 1, n, rates[:, np.newaxis]).prod(axis=0)
    all_exceed = stats.binom.sf(counts, n, rates[:, np.newaxis]).prod(axis=0)
    smallest = counts[
        (all_reach > _NEGLIGIBLE_PROBABILITY) & (all_exceed < 1.0 - _NEGLIGIBLE_PROBABILITY)
    ]
    return _count_range_probability(
        smallest, _largest_accepted_counts(n, smallest, tolerance, level), n, rates
    )


def _count_range_probability(
    smallest: np.ndarray, largest: np.ndarray, n: int, rates: np.ndarray
) -> float:
    """Probability that all counts are between a smallest one and the largest accepted with it."""
    cdfs = stats.binom.cdf((smallest - 1, smallest, largest), n, rates[:, np.newaxis, np.newaxis])
    return _range_probability(*np.swapaxes(cdfs, 0, 1))


def _range_probability(below: np.ndarray, through: np.ndarray, most: np.ndarray) -> float:
    """Probability that the smallest value is in an interval, and the others below an end.

    For groups in rows and intervals in columns, the distribution functions below and through each
    interval, and at its end.
    """
    # P(all values from the interval on, up to the end) - P(all values above it, up to the end).
    from_interval = np.maximum(most - below, 0.0)
    above_interval = np.maximum(most - through, 0.0)
    return float((from_interval.prod(axis=0) - above_interval.prod(axis=0)).sum())


def _largest_accepted_counts(
    n: int, smallest: np.ndarray, tolerance: float, level: float
) -> np.ndarray:
    """For each smallest count, the largest count next to it that is shown to be within it, or -1.

    The rule is that of `skfair.audit.Audit.certify`: the exact limit of the difference.
    """
    counts = np.arange(n + 1)
    rates = counts[:, np.newaxis] / n
    base = smallest / n
    # Newcombe's upper limit of the difference, from limits of both rates.
    highest = rate_limits(rates, n, level)[1]
    lowest = rate_limits(base, n, level)[0]
    margins = combine_margins(highest - rates, base - lowest)
    largest = (rates - base + margins <= tolerance).sum(axis=0) - 1
    both = (1.0 + level) / 2.0
    low = clopper_pearson_limits(smallest, n, both)[0]
    high = clopper_pearson_limits(counts, n, both)[1]
    certain = (high[:, np.newaxis] - low <= tolerance).sum(axis=0) - 1
    # The limit rises with the first count: go down to the first that it shows.
    for k, count in enumerate(smallest):
        while largest[k] > certain[k] and not _is_accepted(largest[k], count, n, tolerance, level):
            largest[k] -= 1
    return np.maximum(largest, certain)


def _is_accepted(first: int, second: int, n: int, tolerance: float, level: float) -> bool:
    """Whether the difference of two counts of n is shown to be within the tolerance."""
    return not is_limit_above((int(first), int(second)), (n, n), level, tolerance)


def _ratio_size(ratio: float, rates: np.ndarray, level: float, power: float) -> int:
    """Sample size of each group at which the smallest ratio is shown to be large."""
    # The logarithm of a rate has the variance (1 - p) / (n p).
    n = _normal_size(-np.log(ratio), np.log(rates), (1.0 - rates) / rates, level, power)
    # Of so many successes and failures the normal size is 1 % too small at most.
    if n * min(rates.min(), 1.0 - rates.max()) >= 5000.0:
        return n
    start = max(1, int(0.8 * n))
    return _smallest_size(start, lambda n: ratio_power(n, ratio, rates, level) >= power)


_N_SIZES = 1000
"""Sizes whose power is computed at a time."""


def _minimum_rate_size(
    minimum: float, rate: float | np.ndarray, n_groups: int, level: float, power: float
) -> int:
    """Sample size of each group at which all are shown to have at least the minimum rate."""
    spread = special.ndtri([level, power ** (1.0 / n_groups)]) * np.sqrt(
        [minimum * (1.0 - minimum), rate * (1.0 - rate)]  # type: ignore[arg-type]
    )
    n = int((spread.sum() / (rate - minimum)) ** 2)
    # The power grows in steps, which are small for many samples: begin far below their number.
    start = 1 if n < _N_SIZES else int(0.8 * n)
    while True:
        sizes = np.arange(start, start + _N_SIZES)
        is_enough = minimum_rate_power(sizes, minimum, n_groups, rate, level) >= power  # type: ignore[arg-type]
        if is_enough.any():
            return int(sizes[is_enough.argmax()])
        start += _N_SIZES


def calibration_size(
    bound: float,
    rate: float,
    error: float,
    n_groups: int,
    level: float,
    power: float,
) -> int:
    """Sample size of each group at which all are shown to be calibrated up to a bound."""
    if not 0.0 < rate + error < 1.0:
        raise argument_error(
            "rate must be a mean probability to which the expected error can be added, but is "
            f"{rate:g}, with expected={error:g}. Pass a smaller rate."
        )
    observed = rate + error
    ends = np.clip([rate - bound, rate + bound], 0.0, 1.0)
    z_score = special.ndtri(level)

    def normal_power(n: int) -> float:
        # Wilson's limits are within the ends if the rate is so many standard errors inside of them.
        # Exact limits are wider by about half a sample.
        margins = z_score * np.sqrt(ends * (1.0 - ends) / n) + 0.5 / n
        low, high = ends + np.array([1.0, -1.0]) * margins
        scale = np.sqrt(observed * (1.0 - observed) / n)
        inside = special.ndtr((high - observed) / scale) - special.ndtr((low - observed) / scale)
        return max(float(inside), 0.0)

    start = max(1, int(observed * (1.0 - observed) * (z_score / (bound - error)) ** 2))
    n = _smallest_size(start, lambda n: normal_power(n) ** n_groups >= power)
    # Rates are nearly normal where enough of both outcomes are expected.
    if n * min(observed, 1.0 - observed) >= 40.0:
        return n

    def is_enough(n: int) -> bool:
        return _calibration_power(n, bound, rate, observed, level) ** n_groups >= power

    return _smallest_size(1, is_enough)


def _calibration_power(
    n: int, bound: float, predicted: float, observed: float, level: float
) -> float:
    """Probability that limits of the rate of n samples are within a bound of the predicted one."""
    counts = np.arange(n + 1)
    low, high = clopper_pearson_limits(counts, n, level)
    is_shown = (low >= predicted - bound) & (high <= predicted + bound)
    return float(stats.binom.pmf(counts[is_shown], n, observed).sum())


def minimum_rate_power(
    n: np.ndarray, minimum: float, n_groups: int, rate: float, level: float
) -> np.ndarray:
    """Probability that groups of n samples and equal rates are shown to have the minimum."""
    # The smallest count with a lower limit by Clopper and Pearson of at least the minimum.
    count = stats.binom.isf(1.0 - level, n, minimum) + 1.0
    return stats.binom.sf(count - 1.0, n, rate) ** n_groups


def ratio_power(n: int, ratio: float, rates: np.ndarray, level: float) -> float:
    """Probability that groups of n samples with these rates are shown to have the ratio.

    As in `certificate_power`; the rule of `skfair.audit.Audit.certify` is that of `LogRates`.
    """
    ends = _NEGLIGIBLE_PROBABILITY**2, 1.0 - _NEGLIGIBLE_PROBABILITY**2
    first, last = stats.binom.ppf(ends, n, rates[[0, -1]])
    counts = np.arange(first, last + 1.0)
    hits = np.repeat(counts[:, np.newaxis], 3, axis=1)  # (n_counts, 3), of weights 1
    logs = LogRates(Rates.from_sums(hits, n - hits))
    low, high = logs.limits(level)
    # The limit of the logarithm of the ratio rises with the largest count: bisect for the last one.
    accepted = np.full(len(counts), -1)
    refused = np.full(len(counts), len(counts))
    while (refused - accepted > 1).any():
        middle = np.maximum((accepted + refused) // 2, 0)
        margins = combine_margins((high - logs.values)[middle], logs.values - low)
        is_accepted = logs.values[middle] - logs.values + margins <= -np.log(ratio)
        is_open = refused - accepted > 1
        accepted = np.where(is_open & is_accepted, middle, accepted)
        refused = np.where(is_open & ~is_accepted, middle, refused)
    largest = counts[0] + accepted
    return _count_range_probability(counts, largest, n, rates)
