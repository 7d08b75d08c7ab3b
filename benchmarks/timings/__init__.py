"""Timings of public calls that compare two commits with asv. The page on tests has the commands.

The suite of the checkout runs against the package of either commit. So it imports nothing from the
other benchmarks, and only names of skfair that old commits have. Each case makes one call before
the timed one, which compiles the kernels.
"""
