"""``python -m benchmarks [--quick] [NAME ...]``: run the named benchmarks, or all of them."""

import os
import sys

# All methods get one thread. BLAS and OpenMP read this once, when numpy is imported.
os.environ.update(
    OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", NUMBA_NUM_THREADS="1"
)

from benchmarks.runner import main

if __name__ == "__main__":
    main(sys.argv[1:])
