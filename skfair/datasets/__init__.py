"""Datasets with sensitive features: public data pinned by digest, bundled data, generators."""

from skfair.datasets._census import fetch_a9a, fetch_acs_income, fetch_adult
from skfair.datasets._generators import (
    fetch_mslr,
    make_elliptical,
    make_fair_blobs,
    make_fair_sbm,
    make_fair_synthetic,
    make_rand_laplace,
    make_ranking,
)
from skfair.datasets._people import (
    communities_crime_groups,
    fetch_bank_marketing,
    fetch_communities_crime,
    fetch_compas,
    fetch_law_school,
)
from skfair.datasets._points import (
    fetch_ds577,
    fetch_facebook_net,
    fetch_four_area,
    fetch_lastfm_asia,
    fetch_thyroid,
    load_patients,
)
from skfair.partitions import open_blocks

__all__ = [
    "fetch_a9a",
    "fetch_acs_income",
    "fetch_adult",
    "fetch_bank_marketing",
    "fetch_communities_crime",
    "fetch_compas",
    "fetch_ds577",
    "fetch_facebook_net",
    "fetch_four_area",
    "fetch_lastfm_asia",
    "fetch_law_school",
    "fetch_mslr",
    "fetch_thyroid",
    "load_patients",
    "make_elliptical",
    "make_fair_blobs",
    "make_fair_sbm",
    "make_fair_synthetic",
    "make_ranking",
    "open_blocks",
]
