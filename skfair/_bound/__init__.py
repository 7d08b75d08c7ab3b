"""Constraints bound to samples: sums over events, rows for solvers, and gaps.

Nothing here knows a specification of :mod:`skfair.constraints`, which a user writes without data.
"""
