"""ACSIncome of Oklahoma under a bound on the loss gap: the problem of the stochastic methods.

A. Kliachkin et al., "Benchmarking stochastic approximation algorithms for fairness-constrained
training of deep neural networks": race (white or not) made the groups and dropped, four fifths for
training, columns standardised, a network with 64 and 32 hidden units.
"""

from functools import cache

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.erm_cases import Split
from skfair.constraints import CONSTRAINTS, ConstraintSystem
from skfair.datasets import fetch_acs_income
from skfair.groups import Samples, check_groups
from skfair.losses import LogisticLoss
from skfair.models import MLPModel
from skfair.problems import ConstrainedProblem
from skfair.surrogates import Sigmoid

DELTA = 0.005
"""Tolerance of the loss gap; the paper prints none, its figures and public code have this one."""


@cache
def split(seed):
    """Training and test rows, columns standardised on the former."""
    bunch = fetch_acs_income(sensitive="race", drop_sensitive=True)
    X, y = bunch.data.to_numpy(dtype=float), np.asarray(bunch.target, dtype=int)
    groups = np.asarray(bunch.sensitive_features).astype(str)
    parts = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed, stratify=groups)
    scaler = StandardScaler().fit(X[parts[0]])
    return tuple(Split(scaler.transform(X[rows]), y[rows], groups[rows]) for rows in parts)


def network_problem(rows, constraint="loss_parity", tolerance=DELTA):
    """The network on some rows, in single precision as the public code has it."""
    target, weights, loss = np.where(rows.y > 0, 1.0, -1.0), np.ones(len(rows.y)), LogisticLoss()
    people = Samples(target, check_groups(rows.groups, len(target)), weights)
    bound = CONSTRAINTS[constraint]().bind(people, Sigmoid(), loss, tolerance)
    model = MLPModel(rows.X.astype(np.float32))
    return ConstrainedProblem(model, loss, target, weights, 0.0, ConstraintSystem((bound,)))


def torch_start(model, random_state):
    """Parameters drawn as PyTorch draws those of a linear layer."""
    parameters = np.empty(model.n_parameters)
    for weights, biases in model.layers(parameters):
        bound = 1.0 / np.sqrt(len(weights))
        weights[...] = random_state.uniform(-bound, bound, weights.shape)
        biases[...] = random_state.uniform(-bound, bound, biases.shape)
    return parameters
