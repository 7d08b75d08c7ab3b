"""Public submodules."""

SUBMODULES = (
    "audit",
    "callbacks",
    "classification",
    "cluster",
    "conformal",
    "constraints",
    "datasets",
    "exceptions",
    "export",
    "losses",
    "metrics",
    "model_selection",
    "monitoring",
    "groups",
    "plotting",
    "preprocessing",
    "ranking",
    "regression",
    "solvers",
    "statistics",
    "surrogates",
    "torch",
)
"""Submodules of the package that users import from."""
