"""Datasets with sensitive features: public data pinned by digest, bundled data, generators."""

from skfair._partitions.blocks import open_blocks
from skfair.datasets._generators import (
    make_fair_blobs,
    make_fair_sbm,
    make_loans,
    make_ranking,
)
from skfair.datasets._people import (
    fetch_acs_income,
    fetch_adult,
    fetch_bank_marketing,
    fetch_compas,
    fetch_law_school,
    load_patients,
)

__all__ = [
    "fetch_acs_income",
    "fetch_adult",
    "fetch_bank_marketing",
    "fetch_compas",
    "fetch_law_school",
    "load_patients",
    "make_fair_blobs",
    "make_fair_sbm",
    "make_loans",
    "make_ranking",
    "open_blocks",
]
