"""What gaps of one's own work for: ``python -m tests.gap_clients`` prints the table.

A ratio of mean losses, a mean square of scores, its range over large groups alone, and a variance
written as two terms are classes of a few lines. Each is checked, fitted, reported, certified,
planned for, monitored, searched for in subgroups and used in a training loop, by the functions that
users call. A cell is "right" if the numbers are those that are computed here with numpy, "refused"
with a number if the client raises an error, whose sentence is printed below, or "not run" with the
package that is not installed.
"""

import re
import tempfile
import warnings

import numpy as np
import pandas as pd
from scipy.special import logit

from skfair._partitions.blocks import Blocks
from skfair._partitions.collections import load_rows
from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import (
    Constraint,
    LossParity,
    MeanParity,
    RangeGap,
    RatioGap,
    check_constraint,
)
from skfair.losses import Pointwise
from skfair.metrics import GroupMetric
from skfair.monitoring import GapMonitor
from skfair.regression import ConstrainedERMRegressor
from skfair.statistics import required_sample_size
from tests.audit.doors import certify_model, report_model, search_predictions
from tests.rate_clients import fit_plain, make_columns


class LossRatio(LossParity):
    """The smallest mean loss of a group is at least 1 - tolerance of the largest."""

    gap, metric = RatioGap, None


def square(scores, target):
    """The squared score."""
    return Pointwise(scores**2, 2.0 * scores, np.full(len(scores), 2.0))


class SquareParity(Constraint):
    """Equal mean squares of scores, which are variances where means are equal."""

    def cells(self, samples):
        return {"all": np.ones(len(samples.target), dtype=bool)}

    def terms(self, surrogate, loss):
        return (square,)


class LargeGroupsRange(RangeGap):
    """The range of the means of groups with more than 100 samples in a cell."""

    form, is_range = "gap", True

    @classmethod
    def from_cells(cls, cells, constraint):
        large = (tuple(one for one in block if cells.counts[one] > 100) for block in cells.blocks)
        return cls(tuple(block for block in large if len(block) > 1))


class LargeGroupsParity(SquareParity):
    """Equal mean squares of scores in groups with more than 100 samples."""

    gap = LargeGroupsRange


class VarianceParity(SquareParity):
    """A mean square less a squared mean, written as two terms, which are read as a quotient."""

    def terms(self, surrogate, loss):
        return square, *MeanParity().terms(surrogate, loss)


# What is compared, by hand: values of samples, and gaps of their means. Targets are -1 and +1.


def logistic_losses(scores, target):
    """The logistic loss of each sample."""
    return np.logaddexp(0.0, -target * scores)


def squared_losses(scores, target):
    """The squared difference of each sample from its target."""
    return (scores - target) ** 2


def squares(scores, target):
    """The squared score of each sample."""
    return np.square(scores)


def group_means(values, group):
    """Mean of each group, and its squared standard error."""
    by_group = pd.Series(np.asarray(values)).groupby(np.asarray(group))
    return by_group.mean().to_numpy(), (by_group.var() / by_group.size()).to_numpy()


class ByHand:
    """A gap of means: its values of samples, of classifiers and of regressors, and its gap."""

    def __init__(self, values, values_of_numbers, is_ratio):
        self.values, self.values_of_numbers, self.is_ratio = values, values_of_numbers, is_ratio

    def gap_of_means(self, means):
        """Largest less smallest mean, or 1 minus the ratio of both."""
        return 1.0 - means.min() / means.max() if self.is_ratio else np.ptp(means)

    def state(self, gap):
        """The gap as reports of fits state it: a ratio as itself."""
        return 1.0 - gap if self.is_ratio else gap

    def gap(self, scores, target, group):
        """The gap of scores of a classifier."""
        return self.gap_of_means(group_means(self.values(scores, target), group)[0])

    def gap_of_numbers(self, scores, target, group):
        """The gap of predictions of a regressor."""
        return self.gap_of_means(group_means(self.values_of_numbers(scores, target), group)[0])

    def excess(self, scores, target, group, tolerance):
        """The row of two groups that must be at most 0: max - min - t, or (1 - t) max - min."""
        low, high = np.sort(group_means(self.values(scores, target), group)[0])
        return (1.0 - tolerance) * high - low if self.is_ratio else high - low - tolerance

    def margin(self, values, group):
        """The margin of a normal limit with a confidence of 95 %, of ratios as a logarithm."""
        means, variances = group_means(values, group)
        # The logarithm of a mean has its relative standard error.
        return 1.645 * np.sqrt((variances / means**2 if self.is_ratio else variances).sum())


GAPS = {
    "loss ratio": (LossRatio, ByHand(logistic_losses, squared_losses, is_ratio=True)),
    "mean square": (SquareParity, ByHand(squares, squares, is_ratio=False)),
    "large groups": (LargeGroupsParity, ByHand(squares, squares, is_ratio=False)),
    "variance": (VarianceParity, ByHand(squares, squares, is_ratio=False)),
}
"""Classes of constraints, and what is computed by hand."""


def load(columns):
    """The samples of a storage in memory."""
    if isinstance(columns.X, Blocks):
        return columns._replace(**{name: load_rows(one) for name, one in columns._asdict().items()})
    compute = getattr(columns.X, "compute", None)
    return columns if compute is None else type(columns)(*(one.compute() for one in columns))


def draw_samples():
    """Samples in memory, with their targets -1 and +1 and groups as arrays."""
    columns = make_columns("memory", folder=None, noise=2.0)
    return columns, 2.0 * np.asarray(columns.y) - 1.0, np.asarray(columns.group)


def reports_gap(model, by_hand, gap):
    """Whether the report of a fit states a gap."""
    return np.isclose(model.constraint_report_["gap"].iloc[0], by_hand.state(gap), rtol=1e-6)


def check_fit(kind, by_hand, storage, folder, tolerance=0.05):
    """Whether a fit keeps a tolerance that the plain fit does not, and reports its gap."""
    columns = make_columns(storage, folder, noise=2.0)
    memory = load(columns)
    target = 2.0 * np.asarray(memory.y) - 1.0
    group = np.asarray(memory.group)

    def gap_of(model):
        scores = np.asarray(model.decision_function(memory.X), dtype=float)
        return by_hand.gap(scores, target, group)

    fair = fit_plain(columns, kind(tolerance=tolerance))
    is_reported = reports_gap(fair, by_hand, gap_of(fair))
    is_in_tolerance = gap_of(fair) <= tolerance + 1e-4 < gap_of(fit_plain(columns))
    return is_in_tolerance and is_reported and fair.status_ == "optimal"


def check_declaration(kind, by_hand, folder):
    """The check for constraints of one's own."""
    return check_constraint(kind()) is None


def check_memory(kind, by_hand, folder):
    """A fit in memory."""
    return check_fit(kind, by_hand, "memory", folder)


def check_blocks(kind, by_hand, folder):
    """A fit to blocks of a file."""
    return check_fit(kind, by_hand, "file", folder)


def check_dask(kind, by_hand, folder):
    """A fit to a Dask DataFrame."""
    return check_fit(kind, by_hand, "dask", folder)


def check_regressor(kind, by_hand, folder):
    """A fit of a regressor."""
    columns, _, group = draw_samples()
    y = columns.X["a"] + columns.y + 5.0

    def gap_of(model):
        return by_hand.gap_of_numbers(model.predict(columns.X), np.asarray(y), group)

    plain, fair = (
        ConstrainedERMRegressor(one).fit(columns.X, y, sensitive_features=group)
        for one in (None, kind(tolerance=0.05))
    )
    is_reported = reports_gap(fair, by_hand, gap_of(fair))
    return gap_of(fair) <= 0.05 + 1e-4 < gap_of(plain) and is_reported


def check_any_model(kind, by_hand, folder):
    """A fit around any model."""
    from sklearn.linear_model import LogisticRegression

    columns, target, group = draw_samples()
    model = ConstrainedClassifierCV(LogisticRegression(), kind(tolerance=0.1))
    model.fit(columns.X, columns.y, sensitive_features=group)
    gap = by_hand.gap(model.oof_decision_function_, target, group)
    return gap <= 0.1 + 1e-4 and reports_gap(model, by_hand, gap)


def check_guarantee(kind, by_hand, folder):
    """A fit with a guarantee for the population, whose gap in training is at most the tolerance."""
    columns, target, group = draw_samples()
    model = fit_plain(columns, kind(tolerance=0.8), confidence_level=0.9)
    gap = by_hand.gap(model.decision_function(columns.X), target, group)
    is_reported = reports_gap(model, by_hand, gap)
    return gap <= 0.8 + 1e-4 and model.guarantee_probability_ >= 0.9 and is_reported


def check_report(kind, by_hand, folder):
    """A report of the constraint."""
    columns, _, group = draw_samples()
    return report_model(
        fit_plain(columns), columns.X, columns.y, sensitive_features=group, metrics=[kind()]
    )


def check_report_of_mean(kind, by_hand, folder):
    """A report of the mean that is compared, written as a metric of probabilities."""
    columns, target, group = draw_samples()
    model = fit_plain(columns)

    def mean_value(y, probability):
        return by_hand.values(logit(probability), 2.0 * np.asarray(y) - 1.0).mean()

    metric = GroupMetric(mean_value, name="mean", response_method="predict_proba")
    frame = report_model(
        model, columns.X, columns.y, sensitive_features=group, metrics=[metric]
    ).to_frame()
    of_groups = frame[(frame["metric"] == "mean") & (frame["attribute"] != "overall")]
    gap = by_hand.gap_of_means(of_groups["estimate"].to_numpy())
    return np.isclose(gap, by_hand.gap(model.decision_function(columns.X), target, group))


def agrees_with_claim(claim, by_hand, values, group):
    """Whether a claim has the gap of these values of samples, and a limit that covers skewness.

    Hall's limits exceed normal ones, here by a tenth of the margin at most.
    """
    gap = claim.estimate
    margin = claim.high - claim.estimate
    if claim.form == "ratio":  # claims about ratios state the ratio, which is 1 minus the gap
        gap = 1.0 - claim.estimate
        margin = np.log(claim.estimate / claim.low)
    is_limit = 1.0 < margin / by_hand.margin(values, group) < 1.1
    return np.isclose(gap, by_hand.gap_of_means(group_means(values, group)[0])) and is_limit


def check_claim(kind, by_hand, folder):
    """The gap and the limit of a claim about a plain model."""
    columns, target, group = draw_samples()
    model = fit_plain(columns)
    constraint = kind(tolerance=0.9)
    samples = {"sensitive_features": group, "constraint": constraint}
    claim = certify_model(model, columns.X, columns.y, **samples)
    values = by_hand.values(model.decision_function(columns.X), target)
    return agrees_with_claim(claim, by_hand, values, group)


def check_claim_of_regressor(kind, by_hand, folder):
    """A claim about a regressor of this package."""
    columns, _, group = draw_samples()
    y = columns.X["a"] + columns.y
    model = ConstrainedERMRegressor().fit(columns.X, y, sensitive_features=group)
    samples = {"sensitive_features": group, "constraint": kind(tolerance=0.9)}
    claim = certify_model(model, columns.X, y, **samples)
    values = by_hand.values_of_numbers(model.predict(columns.X), y)
    return agrees_with_claim(claim, by_hand, values, group)


def check_plan(kind, by_hand, folder):
    """A sample size for a claim."""
    return required_sample_size(kind(tolerance=0.1))


def check_monitor(kind, by_hand, folder):
    """A monitor of scores."""
    columns, target, group = draw_samples()
    scores = np.clip(fit_plain(columns).decision_function(columns.X), -3.0, 3.0)
    monitor = GapMonitor(kind(), tolerance=0.5, value_range=(0.0, 9.0))
    monitor.update(columns.y, scores, sensitive_features=group)
    return np.isclose(monitor.summary()["gap"].item(), by_hand.gap(scores, target, group))


def check_subgroups(kind, by_hand, folder):
    """A search for subgroups by the constraint."""
    columns, _, group = draw_samples()
    decisions = fit_plain(columns).predict(columns.X)
    groups = pd.DataFrame({"group": group})
    return search_predictions(columns.y, decisions, sensitive_features=groups, metrics=[kind()])


def check_torch(kind, by_hand, folder):
    """The value of a training loop and its slope by one score."""
    import torch

    from skfair.torch import constraint_values

    columns, target, group = draw_samples()
    scores = fit_plain(columns).decision_function(columns.X)
    tensor = torch.tensor(scores, requires_grad=True)
    (value,) = constraint_values(kind(), tensor, target, group, tolerance=0.1)
    value.backward()
    step = 1e-6 * (np.arange(len(scores)) == 0)
    above, below = (by_hand.excess(scores + s, target, group, 0.1) for s in (step, -step))
    is_slope = np.isclose(tensor.grad[0], (above - below) / 2e-6, rtol=1e-4)
    return np.isclose(value.item(), by_hand.excess(scores, target, group, 0.1)) and is_slope


CLIENTS = {
    "check": check_declaration,
    "fit": check_memory,
    "blocks": check_blocks,
    "Dask": check_dask,
    "regressor": check_regressor,
    "any model": check_any_model,
    "guarantee": check_guarantee,
    "report": check_report,
    "report of the mean": check_report_of_mean,
    "certify": check_claim,
    "certify a regressor": check_claim_of_regressor,
    "plan": check_plan,
    "monitor": check_monitor,
    "subgroups": check_subgroups,
    "PyTorch": check_torch,
}


def try_client(client, gap, folder):
    """ "right", "wrong", why the client refuses, or which package is not installed."""
    kind, by_hand = GAPS[gap]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outcome = CLIENTS[client](kind, by_hand, folder)
            return "right" if outcome in (True, np.True_) else "wrong"
        except ModuleNotFoundError as error:
            return f"not run: {error.name} is not installed"
        except (TypeError, ValueError) as error:
            return re.sub(r"\(tolerance=[\d.]+\)", "()", f"{type(error).__name__}: {error}")


def tabulate(clients=tuple(CLIENTS)):
    """The outcome of each gap and client."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            (gap, client, try_client(client, gap, folder)) for gap in GAPS for client in clients
        ]
    return pd.DataFrame(rows, columns=["gap", "client", "outcome"])


def main():
    """Print the table, and the sentences of refusals by their numbers."""
    table = tabulate()
    messages = [one for one in table["outcome"].unique() if "Error: " in one]
    short = table.replace({one: f"refused ({i})" for i, one in enumerate(messages, 1)})
    print(short.pivot(index="client", columns="gap", values="outcome").loc[[*CLIENTS]].to_string())
    for i, message in enumerate(messages, 1):
        print(f"\n({i}) {message}")


if __name__ == "__main__":
    main()
