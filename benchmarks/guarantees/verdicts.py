"""Verdicts of vfairness and of ``Audit.certify`` on populations whose gaps are known."""

import warnings
from typing import NamedTuple

import numpy as np

from benchmarks.packages import is_installed, name_versions
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.audit import Audit

TOLERANCE = 0.1
"""The tolerance of vfairness, which its analyzer fixes."""

LOW_RATE = 0.4
GAPS = (0.02, 0.11)
"""True gaps: one within the tolerance, and one above it."""

N_GROUPS = (2, 5)
N_SAMPLES = (600, 3000)
N_DRAWS = {5: 30, 1: 10}  # samples of each population, by the runs of the budget
N_BOOTSTRAPS = 400

ONE_SIDED = 0.95
TWO_SIDED = 0.975
"""Levels of claims: the default, and that with the error of one end of a two-sided interval."""


class Population(NamedTuple):
    """Groups of equal size, of which the last is selected more often than the others."""

    gap: float
    n_groups: int
    n_samples: int

    def draw(self, seed):
        """Decisions and groups of a sample."""
        rng = np.random.default_rng((seed, self.n_groups, self.n_samples, round(100 * self.gap)))
        codes = rng.integers(self.n_groups, size=self.n_samples)
        rates = LOW_RATE + self.gap * (codes == self.n_groups - 1)
        decisions = (rng.random(self.n_samples) < rates).astype(int)
        return decisions, np.array(list("abcde"))[codes]


@smallest(GAPS=(0.02,), N_GROUPS=(2,), N_SAMPLES=(600,), N_DRAWS={1: 2}, N_BOOTSTRAPS=20)
def verdicts(budget):
    """Verdicts of vfairness and of Audit.certify where the true gap is known: right and false ones.

    Decisions about samples of groups of equal size, of which one is selected more often. vfairness
    says "fair" if its two-sided bootstrap interval of the gap is below the tolerance, "unfair" if
    it is above, and else that the evidence is insufficient. skfair says "shown", "contradicted" or
    "open". Its claim has the error 1 - level on one side, so that it is asked at .95, and at .975,
    where one side errs as often as one end of an interval of 95 %.
    """
    n_draws = N_DRAWS.get(budget.n_runs, 10)
    methods = {"skfair": _certify}
    if is_installed("vfairness"):
        methods["vfairness"] = _analyze
    records = []
    for gap in GAPS:
        for n_groups in N_GROUPS:
            for n_samples in N_SAMPLES:
                population = Population(gap, n_groups, n_samples)
                records += [
                    population._asdict() | {"draws": n_draws, "method": name} | one
                    for method in methods.values()
                    for name, one in _count_verdicts(method, population, n_draws)
                ]
    bound = 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / n_draws)
    claims = [one for one in records if one["method"].startswith("skfair")]
    checks = [
        Check(
            "skfair: false 'within' where the gap is above the tolerance",
            [one["within"] for one in claims if one["gap"] > TOLERANCE],
            "<=",
            bound,
        ),
        Check(
            "skfair: false 'above' where the gap is within the tolerance",
            [one["above"] for one in claims if one["gap"] <= TOLERANCE],
            "<=",
            bound,
        ),
    ]
    title = (
        f"Verdicts on a tolerance of {TOLERANCE:g} for the selection rate, {n_draws} samples of "
        f"each population, {N_BOOTSTRAPS} bootstraps{name_versions('vfairness')}"
    )
    return Report(title, records, checks)


def _count_verdicts(method, population, n_draws):
    """Names of methods with the shares of their verdicts and their CPU seconds."""
    runs = {}
    for seed in range(n_draws):
        for name, run in method(*population.draw(seed), seed).items():
            runs.setdefault(name, []).append(run)
    for name, timed in runs.items():
        said = np.array([run.result for run in timed])
        shares = {verdict: float(np.mean(said == verdict)) for verdict in ("within", "above")}
        yield name, shares | {"s": float(np.mean([run.seconds for run in timed]))}


_MEANINGS = {"shown": "within", "fair": "within", "contradicted": "above", "unfair": "above"}
"""What verdicts say of the gap and the tolerance."""


def _certify(decisions, groups, seed):
    """Verdicts of skfair at two levels, each with its CPU seconds."""

    def decide(level):
        audit = Audit.from_predictions(None, decisions, sensitive_features=groups)
        claim = audit.certify(tolerance=TOLERANCE, confidence_level=level)
        return _MEANINGS.get(claim.verdict, "open")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of groups that are too small for the claim
        return {f"skfair {level:g}": time_call(decide, level) for level in (ONE_SIDED, TWO_SIDED)}


def _analyze(decisions, groups, seed):
    """The verdict of vfairness, with its CPU seconds."""
    from vfairness import FairnessAnalyzer

    def decide():
        # Without outcomes: the gap of selections does not read them.
        analyzer = FairnessAnalyzer(decisions, decisions, groups)
        result = analyzer.demographic_parity_difference(
            include_ci=True, n_bootstrap=N_BOOTSTRAPS, random_state=seed
        )
        return _MEANINGS.get(result.verdict, "open")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"vfairness": time_call(decide)}
