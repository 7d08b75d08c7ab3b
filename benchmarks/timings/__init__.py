"""Timings of public calls, to compare two commits by asv; the developer page has the commands.

The suite of the checkout runs against the package of either commit. So it imports nothing of the
other benchmarks and only names of skfair that have long existed. Each case makes one call before it
is timed, which compiles the kernels.
"""
