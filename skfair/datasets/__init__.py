"""Datasets with sensitive features: public data pinned by digest, bundled data, generators."""

from skfair.partitions import open_blocks

from ._a9a import fetch_a9a
from ._acs_income import fetch_acs_income
from ._adult import fetch_adult
from ._bank_marketing import fetch_bank_marketing
from ._communities_crime import communities_crime_groups, fetch_communities_crime
from ._compas import fetch_compas
from ._ds577 import fetch_ds577
from ._facebook_net import fetch_facebook_net
from ._four_area import fetch_four_area
from ._generators import make_fair_blobs, make_fair_synthetic
from ._lastfm_asia import fetch_lastfm_asia
from ._law_school import fetch_law_school
from ._patients import load_patients
from ._ranking import fetch_mslr, make_ranking
from ._spectral_generators import make_elliptical, make_fair_sbm, make_rand_laplace
from ._thyroid import fetch_thyroid

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
