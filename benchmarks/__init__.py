"""Quality and speed of skfair, measured beside other methods: ``python -m benchmarks``.

The folders answer one question each: `papers` (is a paper reproduced?), `peers` (how do other
packages compare?), `guarantees` (does what is guaranteed hold?), `scale` (how do time and memory
grow?) and `robustness`. Data sets to compare on, tables, timing and records are shared.
"""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The repository, where a benchmark starts processes."""
