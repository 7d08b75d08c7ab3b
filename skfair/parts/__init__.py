"""Samples in blocks of rows, wherever they lie: in memory, in files, on a cluster.

An algorithm asks one thing of its samples: the sum over all parts of what a function makes of one
part and some small arguments. The sum is always taken in the same order, so that the same parts
give the same bits on any number of threads and workers.
"""

from skfair.parts._afresh import Afresh
from skfair.parts._blocks import Blocks, open_blocks
from skfair.parts._collections import in_memory, is_in_parts, parts_of
from skfair.parts._divided import Divided
from skfair.parts._here import InMemory, Stored, n_threads_of
from skfair.parts._lazily import is_lazy, row_by_row
from skfair.parts._on_dask import OnDask
from skfair.parts._parts import BLOCK, Parts, blocks

__all__ = [
    "Afresh",
    "BLOCK",
    "Blocks",
    "Divided",
    "InMemory",
    "OnDask",
    "Parts",
    "Stored",
    "blocks",
    "in_memory",
    "is_in_parts",
    "is_lazy",
    "n_threads_of",
    "open_blocks",
    "parts_of",
    "row_by_row",
]
