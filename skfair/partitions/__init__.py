"""Rows in partitions, wherever they are stored: in memory, in files, on a cluster.

An algorithm needs one thing of them: the sum over all blocks of what a function makes of a block
and some small arguments. The sum is taken in one order, so that the same partitions give the same
bits on any number of threads and workers.
"""

from skfair.partitions._blocks import Blocks, open_blocks
from skfair.partitions._collections import (
    changed_partition_message,
    check_alignment,
    feature_attributes,
    is_lazy,
    is_partitioned,
    load_columns,
    load_columns_beside,
    load_rows,
    partitions_of,
    row_by_row,
)
from skfair.partitions._dask import DaskWorkers
from skfair.partitions._partitions import (
    BLOCK,
    SUBSAMPLE_SIZES,
    Partitions,
    Reader,
    Threads,
    blocks,
    make_partitions,
    n_threads_of,
    random_keys,
    sampling_rates,
    warn_of_small_partitions,
)
