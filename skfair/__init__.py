"""Fairness-aware estimators for people who use scikit-learn.

Submodules load when first used, so ``import skfair`` imports no other package.

========================  ==================================================================
:mod:`skfair.cluster`     clusterings in which every group is well represented
:mod:`skfair.metrics`     how balanced a clustering is, how good a front is, scorers
:mod:`skfair.plotting`    pictures of fronts and of the composition of clusters
:mod:`skfair.datasets`    real data with sensitive attributes, and generators
:mod:`skfair.solvers`     the optimisation methods by themselves
:mod:`skfair.callbacks`   what happens during a fit
:mod:`skfair.exceptions`  the warnings of the package
========================  ==================================================================
"""

import importlib

__version__ = "0.1.0.dev0"

_SUBMODULES = (
    "callbacks",
    "cluster",
    "datasets",
    "exceptions",
    "metrics",
    "plotting",
    "solvers",
)

__all__ = ["__version__", *_SUBMODULES]


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
