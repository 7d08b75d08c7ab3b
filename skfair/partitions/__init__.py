"""Samples in blocks of rows, wherever they lie: in memory, in files, on a cluster.

An algorithm asks one thing of its samples: the sum over all parts of what a function makes of one
part and some small arguments. The sum is always taken in the same order, so that the same parts
give the same bits on any number of threads and workers.
"""

from skfair.partitions._afresh import LazyPartitions
from skfair.partitions._blocks import Blocks, open_blocks
from skfair.partitions._collections import in_memory, is_partitioned, partitions_of
from skfair.partitions._divided import Divided
from skfair.partitions._here import InMemory, Stored, n_threads_of
from skfair.partitions._lazily import is_lazy, row_by_row
from skfair.partitions._on_dask import OnDask
from skfair.partitions._partitions import BLOCK, Partitions, blocks

__all__ = [
    "LazyPartitions",
    "BLOCK",
    "Blocks",
    "Divided",
    "InMemory",
    "OnDask",
    "Partitions",
    "Stored",
    "blocks",
    "in_memory",
    "is_partitioned",
    "is_lazy",
    "n_threads_of",
    "open_blocks",
    "partitions_of",
    "row_by_row",
]
