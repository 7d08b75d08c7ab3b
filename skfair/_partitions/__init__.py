"""Rows in partitions, wherever they are stored: in memory, in files, on a cluster.

An algorithm needs one thing of them: the sum over all blocks of what a function makes of a block
and some small arguments. The sum is taken in one order, so that the same partitions give the same
bits on any number of threads and workers.
"""

from skfair._partitions.collections import partitions_of
