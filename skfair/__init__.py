"""Fairness-aware estimators for people who use scikit-learn.

Submodules load when first used, so ``import skfair`` imports no other package.

=============================  ================================================================
:mod:`skfair.cluster`          clusterings in which every group is well represented
:mod:`skfair.classification`   classifiers whose decisions are fair
:mod:`skfair.audit`            what fresh people say of a model, whoever made it
:mod:`skfair.constraints`      what must be equal, between whom, and up to which tolerance
:mod:`skfair.inference`        what a sample says of the people it was drawn from
:mod:`skfair.metrics`          how unequally groups are treated, how good a front is, scorers
:mod:`skfair.model_selection`  the best model of a search that keeps a fairness bound
:mod:`skfair.groups`           groups, and events over which means are taken
:mod:`skfair.plotting`         pictures of fronts, of groups, and of solvers at work
:mod:`skfair.ranking`          rankers whose orders are fair
:mod:`skfair.regression`       regressors whose scores are fair
:mod:`skfair.torch`            networks of PyTorch, trained under constraints
:mod:`skfair.datasets`         real data with sensitive attributes, and generators
:mod:`skfair.solvers`          the optimisation methods by themselves
:mod:`skfair.problems`         model, loss and constraint put together, for solvers
:mod:`skfair.models`           scores from parameters, gradients from slopes
:mod:`skfair.losses`           losses of a score
:mod:`skfair.surrogates`       smooth stand-ins for a decision
:mod:`skfair.callbacks`        what happens during a fit
:mod:`skfair.enforcement`      from smooth rates to decisions that keep a bound
:mod:`skfair.exceptions`       the warnings of the package
=============================  ================================================================
"""

import importlib

__version__ = "0.1.0.dev0"

_SUBMODULES = (
    "audit",
    "callbacks",
    "classification",
    "cluster",
    "constraints",
    "datasets",
    "enforcement",
    "exceptions",
    "inference",
    "losses",
    "metrics",
    "model_selection",
    "models",
    "groups",
    "plotting",
    "problems",
    "ranking",
    "regression",
    "solvers",
    "surrogates",
    "torch",
)

__all__ = ["__version__", "warm_up", *_SUBMODULES]


def warm_up():
    """Compile what fits with default settings need, and keep it on disk.

    The first fit of an estimator after an install compiles the code of its inner loops, which takes
    some seconds; later processes load it. This pays for all estimators at once, say when an image
    is built. Where nothing can be written, it serves the present process only.

    Returns
    -------
    None

    Examples
    --------
    >>> import skfair
    >>> skfair.warm_up()
    """
    importlib.import_module("skfair._warm_up").fit_all()


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
