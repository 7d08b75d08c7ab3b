"""What gaps of one's own work for: ``python -m tests.gap_clients`` prints the table.

A ratio of mean losses, a mean square of scores, and a variance written as two terms are classes of
a few lines. Each is fitted, reported, certified, planned for, monitored, searched for in subgroups
and used in a training loop. A cell is "right" if the result agrees with one that is computed apart
from this package's constraints, or the message of the error by which the client refuses.
"""

import tempfile
import warnings

import numpy as np
import pandas as pd

from skfair.audit import certify, find_subgroups
from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import Constraint, LossParity, MeanParity, RatioGap
from skfair.losses import Pointwise
from skfair.monitoring import GapMonitor
from skfair.partitions import Blocks, load_rows
from skfair.regression import ConstrainedERMRegressor
from skfair.statistics import required_sample_size
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


class VarianceParity(SquareParity):
    """A mean square less a squared mean, written as two terms, which are read as a quotient."""

    def terms(self, surrogate, loss):
        return square, *MeanParity().terms(surrogate, loss)


def loss_ratio(scores, target, group):
    """1 minus the smallest over the largest mean logistic loss of a group."""
    losses = pd.Series(np.logaddexp(0.0, -target * scores)).groupby(group).mean()
    return 1.0 - losses.min() / losses.max()


def square_difference(scores, target, group):
    """Largest difference between mean squares of the scores of two groups."""
    return np.ptp(pd.Series(scores**2).groupby(group).mean())


GAPS = {
    "loss ratio": (LossRatio, loss_ratio),
    "mean square": (SquareParity, square_difference),
    "variance": (VarianceParity, square_difference),
}
"""Classes of constraints, and functions of scores, classes -1 and +1, and groups."""


def load(columns):
    """The samples of a storage in memory."""
    if isinstance(columns.X, Blocks):
        return columns._replace(**{name: load_rows(one) for name, one in columns._asdict().items()})
    compute = getattr(columns.X, "compute", None)
    return columns if compute is None else type(columns)(*(one.compute() for one in columns))


def check_fit(kind, expected, storage, folder, tolerance=0.05):
    """Whether a fit keeps a tolerance that the plain fit does not, by the gap in memory."""
    columns = make_columns(storage, folder, noise=2.0)
    memory = load(columns)
    target, group = 2.0 * np.asarray(memory.y) - 1.0, np.asarray(memory.group)

    def gap_of(model):
        scores = np.asarray(model.decision_function(memory.X), dtype=float)
        return expected(scores, target, group)

    fair = fit_plain(columns, kind(tolerance=tolerance))
    assert fair.status_ == "optimal", fair.status_
    is_reported = np.isclose(fair.constraint_report_["gap"].max(), gap_of(fair), rtol=1e-6)
    return gap_of(fair) <= tolerance + 1e-4 < gap_of(fit_plain(columns)) and is_reported


def check_memory(kind, expected, folder):
    """A fit in memory."""
    return check_fit(kind, expected, "memory", folder)


def check_blocks(kind, expected, folder):
    """A fit to blocks of a file."""
    return check_fit(kind, expected, "file", folder)


def check_dask(kind, expected, folder):
    """A fit to a Dask DataFrame."""
    return check_fit(kind, expected, "dask", folder)


def check_regressor(kind, expected, folder):
    """A fit of a regressor, in units of the target less its mean over its standard deviation."""
    columns = make_columns("memory", folder, noise=2.0)
    y, group = columns.X["a"] + columns.y + 5.0, np.asarray(columns.group)
    model = ConstrainedERMRegressor(kind(tolerance=0.05)).fit(
        columns.X, y, sensitive_features=group
    )
    scores, target = ((one - y.mean()) / y.std(ddof=0) for one in (model.predict(columns.X), y))
    if expected is loss_ratio:
        losses = pd.Series((scores - target) ** 2).groupby(group).mean()
        return 1.0 - losses.min() / losses.max() <= 0.05 + 1e-4
    return expected(np.asarray(scores), target, group) <= 0.05 + 1e-4


def check_any_model(kind, expected, folder):
    """A fit around any model."""
    from sklearn.linear_model import LogisticRegression

    columns = make_columns("memory", folder, noise=2.0)
    model = ConstrainedClassifierCV(LogisticRegression(), kind(tolerance=0.1))
    model.fit(columns.X, columns.y, sensitive_features=columns.group)
    target = 2.0 * np.asarray(columns.y) - 1.0
    gap = expected(model.oof_decision_function_, target, np.asarray(columns.group))
    return gap <= 0.1 + 1e-4 and np.isclose(gap, model.constraint_report_["gap"].max(), rtol=1e-6)


def check_guarantee(kind, expected, folder):
    """A fit with a guarantee for the population, whose gap in training is at most the tolerance."""
    columns = make_columns("memory", folder, noise=2.0)
    model = fit_plain(columns, kind(tolerance=0.8), confidence_level=0.9)
    target = 2.0 * np.asarray(columns.y) - 1.0
    gap = expected(model.decision_function(columns.X), target, np.asarray(columns.group))
    return gap <= 0.8 + 1e-4 and model.guarantee_probability_ >= 0.9


def certify_plain(kind, folder):
    """The certificate of a plain model, with its scores, target and groups."""
    columns = make_columns("memory", folder, noise=2.0)
    model = fit_plain(columns)
    certificate = certify(
        model,
        columns.X,
        columns.y,
        sensitive_features=columns.group,
        constraint=kind(tolerance=0.9),
    )
    target = 2.0 * np.asarray(columns.y) - 1.0
    return certificate, (model.decision_function(columns.X), target, np.asarray(columns.group))


def check_certificate(kind, expected, folder):
    """The gap of a certificate, below its limit."""
    certificate, samples = certify_plain(kind, folder)
    # Claims about ratios state the ratio, which is 1 minus the gap.
    is_ratio = certificate.form == "ratio"
    gap = 1.0 - certificate.estimate if is_ratio else certificate.estimate
    limit = 1.0 - certificate.low if is_ratio else certificate.high
    return np.isclose(gap, expected(*samples)) and gap < limit


def check_certificate_of_regressor(kind, expected, folder):
    """A certificate of a regressor of this package."""
    columns = make_columns("memory", folder, noise=2.0)
    y, group = columns.X["a"] + columns.y, np.asarray(columns.group)
    model = ConstrainedERMRegressor().fit(columns.X, y, sensitive_features=group)
    settings = {"sensitive_features": group, "constraint": kind(tolerance=0.9)}
    certificate = certify(model, columns.X, y, **settings)
    losses = pd.Series((model.predict(columns.X) - y) ** 2).groupby(group).mean()
    return np.isclose(certificate.estimate, losses.min() / losses.max())


def check_plan(kind, expected, folder):
    """A sample size for a certificate."""
    return required_sample_size(kind(tolerance=0.1)) > 0


def check_monitor(kind, expected, folder):
    """A monitor of scores."""
    columns = make_columns("memory", folder, noise=2.0)
    scores = np.clip(fit_plain(columns).decision_function(columns.X), -3.0, 3.0)
    monitor = GapMonitor(kind(), tolerance=0.5, value_range=(0.0, 9.0))
    monitor.update(scores, columns.y, sensitive_features=columns.group)
    target = 2.0 * np.asarray(columns.y) - 1.0
    gap = expected(scores, target, np.asarray(columns.group))
    return np.isclose(monitor.summary()["gap"], gap)


def check_subgroups(kind, expected, folder):
    """A search for subgroups by the constraint."""
    columns = make_columns("memory", folder, noise=2.0)
    groups = pd.DataFrame({"group": columns.group})
    return (
        find_subgroups(columns.y, columns.y, sensitive_features=groups, metrics=kind()) is not None
    )


def check_torch(kind, expected, folder):
    """The value of a training loop, which is the gap of the mini-batch less the tolerance."""
    import torch

    from skfair.torch import constraint_values

    columns = make_columns("memory", folder, noise=2.0)
    scores = fit_plain(columns).decision_function(columns.X)
    target, group = (torch.as_tensor(np.asarray(one)) for one in (columns.y, columns.group))
    values = constraint_values(kind(), torch.as_tensor(scores), target, group, tolerance=0.0)
    signs = 2.0 * np.asarray(columns.y) - 1.0
    return bool(values[0] > 0) == bool(expected(scores, signs, np.asarray(columns.group)) > 0)


CLIENTS = {
    "fit": check_memory,
    "blocks": check_blocks,
    "Dask": check_dask,
    "regressor": check_regressor,
    "any model": check_any_model,
    "guarantee": check_guarantee,
    "certify": check_certificate,
    "certify a regressor": check_certificate_of_regressor,
    "plan": check_plan,
    "monitor": check_monitor,
    "subgroups": check_subgroups,
    "PyTorch": check_torch,
}


def try_client(client, gap, folder):
    """ "right", "wrong", or why the client refuses."""
    kind, expected = GAPS[gap]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "right" if CLIENTS[client](kind, expected, folder) else "wrong"
        except (TypeError, ValueError, ImportError) as error:
            return f"{type(error).__name__}: {error}"


def tabulate(clients=tuple(CLIENTS)):
    """The outcome of each gap and client."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            (gap, client, try_client(client, gap, folder)) for gap in GAPS for client in clients
        ]
    return pd.DataFrame(rows, columns=["gap", "client", "outcome"])


def main():
    """Print the table, and the messages of refusals."""
    table = tabulate()
    is_refused = ~table["outcome"].isin(["right", "wrong"])
    short = table.assign(outcome=table["outcome"].mask(is_refused, "-"))
    print(short.pivot(index="client", columns="gap", values="outcome").loc[[*CLIENTS]].to_string())
    for message, rows in table[is_refused].groupby("outcome", sort=False):
        where = ", ".join(f"{row.client} of {row.gap}" for row in rows.itertuples())
        print(f"\n{message}\n  {where}")


if __name__ == "__main__":
    main()
