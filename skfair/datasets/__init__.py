"""Data of people with their groups: public sets fetched by digest, an embedded set, generators."""

from ._adult import fetch_adult
from ._bank_marketing import fetch_bank_marketing
from ._generators import make_fair_blobs, make_fair_synthetic
from ._patients import load_patients

__all__ = [
    "fetch_adult",
    "fetch_bank_marketing",
    "load_patients",
    "make_fair_blobs",
    "make_fair_synthetic",
]
