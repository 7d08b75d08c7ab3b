"""
Convergence of the solvers over time
====================================

Objective, constraint violation and KKT residual while six solvers train the same fair model on the
census data Adult, as in the figures of the paper that introduces PLADA [1]_. The second-order
method converges first.
"""

# %%
# The problem
# -----------
# Predict who earns more than 50,000 dollars a year, with selection rates of women and men that
# differ by at most .02. Solvers use smooth rates, not counts, hence ``enforcement=None``. There are
# 5,000 samples. Without a copy of Adult and a network connection, generated data are used.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from skfair.callbacks import FitMonitor
from skfair.classification import ConstrainedERMClassifier
from skfair.datasets import fetch_adult
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.solvers import (
    GDA,
    PLADA,
    SQP,
    AugmentedLagrangian,
    IPPConEx,
    SwitchingSubgradient,
)

warnings.filterwarnings("ignore", message="X reveals the group")  # it has a column of it

try:
    adult = fetch_adult()
    rows = np.random.RandomState(0).permutation(len(adult.data))[:5000]
    X = pd.get_dummies(adult.data, dtype=float).to_numpy()[rows]
    y = adult.target.to_numpy()[rows] == ">50K"
    groups = adult.sensitive_features.to_numpy()[rows]
except OSError as error:
    print(f"Adult is not available, so generated data are used instead: {error}")
    # groups by a feature that the classes depend on, so that an accurate model has a gap
    X, y = make_classification(5000, n_informative=8, flip_y=0.1, shuffle=False, random_state=0)
    groups = np.where(X[:, 7] > 0, "a", "b")

# %%
# The solvers
# -----------
# All have default settings. Each first-order method has 400 iterations, each of which takes one or
# two passes over the data. A :class:`~skfair.callbacks.FitMonitor` records every iteration.

solvers = {
    "SQP": SQP(),
    "augmented Lagrangian": AugmentedLagrangian(),
    "PLADA": PLADA(max_iter=400),
    "GDA": GDA(max_iter=400),
    "switching subgradient": SwitchingSubgradient(max_iter=400),
    "IPP-ConEx": IPPConEx(max_iter=400),
}

STYLES = [
    {"color": color, "linestyle": linestyle}
    for color, linestyle in zip(
        ["#0072B2", "#C77700", "#009E73", "#CC79A7", "#D55E00", "#2E96D0"],
        ["-", "--", "-.", ":", "-", "--"],
        strict=True,
    )
]


def fit_all(constraint):
    """Monitor and final result of each solver."""
    monitors, ends = {}, {}
    for name, solver in solvers.items():
        monitors[name] = FitMonitor()
        settings = {"tolerance": 0.02, "enforcement": None, "solver": solver}
        model = ConstrainedERMClassifier(constraint, **settings)
        with warnings.catch_warnings():  # most do not converge in 400 iterations
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", InfeasibleConstraintWarning)
            model.set_callbacks(monitors[name]).fit(X, y, sensitive_features=groups)
        ends[name] = {
            "iterations": model.n_iter_,
            "objective": model.objective_,
            "status": model.status_,
        }
    return monitors, pd.DataFrame.from_dict(ends, orient="index")


def draw(monitors, constraint):
    """Draw the smallest violation and residual so far against seconds, where both are known."""
    logs = {name: monitor.log.dropna(subset="residual") for name, monitor in monitors.items()}
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
    columns = {
        "violation": "excess over the tolerance, smallest so far",
        "residual": "residual of the stop test, smallest so far",
    }
    for ax, (column, label) in zip(axes, columns.items(), strict=True):
        for style, log in zip(STYLES, logs.values(), strict=True):
            ax.step(log["seconds"], log[column].cummin(), where="post", **style)
        ax.set(xscale="log", xlabel="seconds")
        ax.set_title(label, loc="left", fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_yscale("symlog", linthresh=1e-6)  # logarithmic, and shows zero
        ax.set_ylim(bottom=0)
    figure.legend(axes[0].lines, logs, loc="outside lower center", ncols=3, frameon=False)
    done = [
        f"{name} ({log['seconds'].iloc[-1]:.2g} s)"
        for name, log in logs.items()
        if log["residual"].iloc[-1] < 1e-5 and log["violation"].iloc[-1] < 1e-5
    ]
    figure.suptitle(f"{constraint}: only {' and '.join(done)} converge", x=0.01, ha="left")


# %%
# Demographic parity
# ------------------
# The violation is that of the smooth rates. The last axes show the residual of the optimality (KKT)
# conditions, which first-order methods compute every few iterations. Where it is small *and* the
# violation is zero, a solver has converged. The switching subgradient method crosses the bound
# repeatedly by design, and returns the best feasible iterate: the lines are the smallest values so
# far.

ConstrainedERMClassifier().fit(X, y, sensitive_features=groups)  # compiles the kernels
monitors, ends = fit_all("demographic_parity")
draw(monitors, "Demographic parity")
ends.round(4)

# %%
# Equalised odds
# --------------
# Both the true and the false positive rates have to be equal, which is two constraints.

monitors, ends = fit_all("equalized_odds")
draw(monitors, "Equalised odds")
ends.round(4)
plt.show()

# %%
# .. rubric:: References
#
# .. [1] "A modified proximal-perturbed Lagrangian for non-convex non-smooth representatives of
#    fairness constraints", under review, Figures 1 and 2.
