"""Fairness-aware estimators compatible with scikit-learn.

Submodules are imported when first used, so ``import skfair`` imports no other package.

=============================  ================================================================
:mod:`skfair.cluster`          clusterings with balanced groups
:mod:`skfair.classification`   classifiers under fairness constraints
:mod:`skfair.conformal`        prediction sets that cover every group equally often
:mod:`skfair.audit`            certificates and reports of any model, on held-out data
:mod:`skfair.constraints`      fairness criteria: groups, rates and tolerances
:mod:`skfair.statistics`       confidence intervals of rates, means and gaps
:mod:`skfair.metrics`          fairness metrics, quality of fronts, scorers
:mod:`skfair.model_selection`  selection of the best model within a fairness bound
:mod:`skfair.monitoring`       monitors of gaps over time, valid at every look
:mod:`skfair.groups`           groups, and the samples that constraints are bound to
:mod:`skfair.preprocessing`    weights and features without what groups differ by
:mod:`skfair.plotting`         plots of fronts, groups and convergence
:mod:`skfair.ranking`          rankers under fairness constraints
:mod:`skfair.regression`       regressors under fairness constraints
:mod:`skfair.torch`            PyTorch networks under fairness constraints
:mod:`skfair.datasets`         real data with sensitive attributes, and generators
:mod:`skfair.solvers`          optimisation methods
:mod:`skfair.losses`           losses of a score
:mod:`skfair.surrogates`       smooth surrogates of decisions
:mod:`skfair.callbacks`        monitoring of fits
:mod:`skfair.exceptions`       warnings and errors
=============================  ================================================================
"""

import importlib
import os
from types import ModuleType

from skfair._names import SUBMODULES as _SUBMODULES

__version__ = "0.1.0.dev0"

__all__ = ["__version__", "show_versions", "warm_up", *_SUBMODULES]


def warm_up(verbose: int = 0) -> None:
    """Compile the kernels that fits with default settings need, and store them on disk.

    The first fit of an estimator after an install compiles the code of its inner loops, which takes
    some seconds; later processes load it. This compiles it for all estimators at once, for example
    when a container image is built; ``python -m skfair warm-up`` does so in a shell. Where no
    folder can be written it serves the current process only.

    Parameters
    ----------
    verbose : int, default=0
        Above 0, a line is printed for every kernel that is compiled, with the time that it took.

    Returns
    -------
    None

    Examples
    --------
    >>> import skfair
    >>> skfair.warm_up()  # doctest: +SKIP
    """
    importlib.import_module("skfair._warm_up").fit_all(verbose)


def show_versions() -> None:
    """Print the versions and the hardware that a report of a bug needs.

    First ``sklearn.show_versions`` prints Python, the platform, scikit-learn, its dependencies, and
    each library of linear algebra or threads that is loaded, with its kernels and its threads. Then
    come the version of skfair, the number of CPU cores, the versions of numba, llvmlite and of
    packages that some functions use (nothing where one is not installed), and the name of the
    processor for which numba compiles.

    Returns
    -------
    None

    Examples
    --------
    >>> import skfair
    >>> skfair.show_versions()  # doctest: +SKIP
    """
    from importlib.metadata import distributions

    import sklearn

    sklearn.show_versions()
    print("\nskfair:", __version__, "\nCPU cores:", os.cpu_count())
    for name in "numba llvmlite dask polars pyarrow skops torch fairlearn".split():
        print(f"{name}:", *{package.version for package in distributions(name=name)})
    # Last, since it fails where llvmlite cannot be loaded, and then says why.
    print("CPU:", importlib.import_module("llvmlite.binding").get_host_cpu_name())


def __getattr__(name: str) -> ModuleType:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
