"""Samples in blocks of rows, wherever they lie: in memory, in files, on a cluster.

An algorithm asks one thing of its samples: the sum over all parts of what a function makes of one
part and some small arguments. The sum is always taken in the same order, so that the same parts
give the same bits on any number of threads and workers.
"""

from skfair.parts._here import InMemory, Stored
from skfair.parts._on_dask import OnDask
from skfair.parts._parts import BLOCK, Parts, blocks

__all__ = ["BLOCK", "InMemory", "OnDask", "Parts", "Stored", "blocks"]
