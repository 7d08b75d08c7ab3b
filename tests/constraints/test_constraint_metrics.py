"""Every constraint bounds a public metric: its gap is that metric, in all its variants."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair import metrics
from skfair._groups import check_groups
from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    Constraint,
    DemographicParity,
    EqualizedOdds,
)
from skfair.groups import Samples
from skfair.losses import LogisticLoss, SquaredLoss
from skfair.surrogates import Sigmoid

N_SAMPLES = 200
METHODS = {
    "groups": "between_groups",
    "overall": "to_overall",
    "above_overall": "above_overall",
}
VARIANTS = {
    "groups max": {},
    "overall max": {"reference": "overall"},
    "above overall max": {"reference": "above_overall"},
    "each attribute": {"attributes": "each"},
    "ratio": {"ratio": 0.8},
    "ratio, each attribute": {"ratio": 0.8, "attributes": "each"},
    "squared loss": {"loss": "squared"},
    "own loss": {"loss": SquaredLoss()},
}
GROUPS = {
    "two": lambda rng: rng.integers(0, 2, N_SAMPLES),
    "four": lambda rng: rng.choice(list("abcd"), N_SAMPLES),
    "attributes": lambda rng: rng.integers(0, 2, (N_SAMPLES, 2)),
    "overlapping": lambda rng: sparse.csr_array(rng.random((N_SAMPLES, 5)) < 0.4),
}
STRATA = np.arange(N_SAMPLES) % 3
X = pd.DataFrame({"stratum": STRATA})
SPECS = {
    **{name: make() for name, make in CONSTRAINTS.items() if make.metric is not None},
    "bounded_group_loss": BoundedGroupLoss(0.5),
    "conditional_demographic_parity": DemographicParity(control_features="stratum"),
}


def variants():
    """Every constraint with every variant of hyper-parameters that it has."""
    for name, spec in SPECS.items():
        for variant, changes in VARIANTS.items():
            has_ratio = "ratio" not in changes or spec.counts_decisions
            if has_ratio and set(changes) <= set(spec.get_params()):
                yield pytest.param(
                    type(spec)(**spec.get_params() | changes), id=f"{name} {variant}"
                )


def evaluate_metric(spec, samples, scores):
    """The public metric that a constraint names, called with its own hyper-parameters."""
    names = ("reference", "loss", "interval", "scale", "threshold", "rank_within")
    name = spec.metric
    if spec.ratio is not None:
        names = ()
        name = spec.ratio_metric
    options = {name: value for name, value in spec.get_params().items() if name in names}
    if options.get("threshold", "") is None:
        del options["threshold"]
    if options.get("loss", "") is None:
        options["loss"] = LogisticLoss()
    if "reference" in options:
        options["method"] = METHODS[options.pop("reference")]
    if spec.uses_features:
        options["control_features"] = STRATA
    truth = (samples.target > 0).astype(int)
    decisions = (scores > 0).astype(int)
    predictions = {
        "classification": (truth, decisions),
        "score": (scores,),
        "decision": (scores,),
        "labelled_decision": (truth, scores),
        "labelled_margin": (truth, scores),
    }
    known = metrics.METRICS.get(name)
    each = getattr(spec, "attributes", "") == "each"
    groups = samples.groups.single_attribute_groups() if each else samples.groups
    value = getattr(metrics, name)(
        *predictions[known.kind if known else "classification"],
        sensitive_features=groups.matrix,
        sample_weight=samples.weights,
        **options,
    )
    return value if spec.ratio is None else 1.0 - value


@pytest.mark.covering(1)
@pytest.mark.parametrize("spec", variants())
@pytest.mark.parametrize("kind", GROUPS)
def test_the_gap_is_the_metric(spec, kind):
    rng = np.random.default_rng(0)
    groups = GROUPS[kind](rng)
    target = rng.choice([-1.0, 1.0], N_SAMPLES)
    encoded = check_groups(groups, N_SAMPLES, overlapping=True)
    samples = Samples(target, encoded, rng.uniform(0.5, 2, N_SAMPLES), X)
    scores = rng.normal(size=N_SAMPLES)
    bound = spec.bind(samples, Sigmoid(), LogisticLoss(), 0.1)
    expected = evaluate_metric(spec, samples, scores)
    assert bound.value(scores) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    if expected > 0:
        third = replace(bound, tolerance=expected / 3)
        assert third.value(scores) == bound.value(scores)


@pytest.mark.parametrize(
    ("reference", "aggregate", "aggregate_excesses"),
    [
        ("overall", "mean", lambda excesses: np.abs(excesses).mean()),
        ("above_overall", "mean", lambda excesses: np.maximum(excesses, 0).mean()),
        ("above_overall", "signed_mean", np.mean),
        ("groups", "sum", lambda excesses: np.ptp(excesses, axis=0).sum()),
    ],
)
def test_means_and_sums_by_the_rates_of_the_groups(reference, aggregate, aggregate_excesses):
    rng = np.random.default_rng(1)
    groups = GROUPS["four"](rng)
    target = rng.choice([-1.0, 1.0], N_SAMPLES)
    samples = Samples(target, check_groups(groups, N_SAMPLES), np.ones(N_SAMPLES), X)
    scores = rng.normal(size=N_SAMPLES)
    spec = EqualizedOdds(reference=reference, aggregate=aggregate)
    bound = spec.bind(samples, Sigmoid(), LogisticLoss(), 0.1)
    inside = np.array([target > 0, target < 0])
    rates = [[(scores > 0)[(groups == g) & cell].mean() for cell in inside] for g in "abcd"]
    overall = [(scores > 0)[cell].mean() for cell in inside]
    expected = aggregate_excesses(np.subtract(rates, overall))
    assert bound.value(scores) == pytest.approx(expected, abs=1e-12)


def test_a_custom_constraint_need_not_name_a_metric():
    assert Constraint.metric is None
