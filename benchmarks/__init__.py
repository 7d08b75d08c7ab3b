"""Quality and speed of skfair, compared with other methods: ``python -m benchmarks``.

The folders answer one question each: `papers` (is a paper reproduced?), `peers` (how do other
packages compare?), `guarantees` (does what is guaranteed hold?), `scale` (how do time and memory
grow?) and `robustness`. Test problems, tables, timing, subprocesses and records are shared.
"""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The repository, where a benchmark starts processes."""
