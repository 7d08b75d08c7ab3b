"""Datasets with sensitive features: public data pinned by digest, bundled data, generators."""

from skfair.datasets._benchmarks import load_benchmark
from skfair.datasets._census import fetch_acs_income, fetch_adult
from skfair.datasets._generators import (
    make_fair_blobs,
    make_fair_sbm,
    make_rand_laplace,
    make_ranking,
)
from skfair.datasets._people import (
    communities_crime_groups,
    fetch_bank_marketing,
    fetch_compas,
    fetch_law_school,
)
from skfair.datasets._points import load_patients
from skfair.partitions._blocks import open_blocks

__all__ = [
    "fetch_acs_income",
    "fetch_adult",
    "fetch_bank_marketing",
    "fetch_compas",
    "fetch_law_school",
    "load_benchmark",
    "load_patients",
    "make_fair_blobs",
    "make_fair_sbm",
    "make_ranking",
    "open_blocks",
]
