"""ACSIncome of Oklahoma with a bound on the loss gap: the problem of the stochastic methods.

A. Kliachkin et al., "Benchmarking stochastic approximation algorithms for fairness-constrained
training of deep neural networks". The groups are race (white or not), which is dropped from the
features. Four fifths are training data, columns are standardised, and the network has 64 and 32
hidden units.
"""

from functools import cache

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.data import fetch_acs_income
from benchmarks.erm_cases import Split
from skfair._bound.bound import ConstraintSystem
from skfair._groups import check_groups
from skfair._problems.mlp import MLPModel
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import CONSTRAINTS
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid

DELTA = 0.005
"""Tolerance of the loss gap, from the paper's figures and public code; the text prints none."""


@cache
def split(seed):
    """Training and test rows, with columns standardised on the training rows."""
    bunch = fetch_acs_income(sensitive="race", drop_sensitive=True)
    X = bunch.data.to_numpy(dtype=float)
    y = np.asarray(bunch.target, dtype=int)
    groups = np.asarray(bunch.sensitive_features).astype(str)
    subsets = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed, stratify=groups)
    scaler = StandardScaler().fit(X[subsets[0]])
    return tuple(Split(scaler.transform(X[rows]), y[rows], groups[rows]) for rows in subsets)


def network_problem(rows, constraint="loss_parity", tolerance=DELTA):
    """Problem of the network on a part of the data, in single precision as in the public code."""
    target = np.where(rows.y > 0, 1.0, -1.0)
    weights = np.ones(len(rows.y))
    loss = LogisticLoss()
    samples = Samples(target, check_groups(rows.groups, len(target)), weights)
    bound = CONSTRAINTS[constraint]().bind(samples, Sigmoid(), loss, tolerance)
    model = MLPModel(rows.X.astype(np.float32))
    return ConstrainedProblem(model, loss, target, weights, 0.0, ConstraintSystem((bound,)))


def torch_start(model, random_state):
    """Initial parameters with PyTorch's distribution for linear layers."""
    parameters = np.empty(model.n_parameters)
    for weights, biases in model.layers(parameters):
        bound = 1.0 / np.sqrt(len(weights))
        weights[...] = random_state.uniform(-bound, bound, weights.shape)
        biases[...] = random_state.uniform(-bound, bound, biases.shape)
    return parameters
