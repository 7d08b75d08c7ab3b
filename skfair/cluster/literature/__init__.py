"""Algorithms of the papers, for comparisons; the settings are exported by :mod:`skfair.cluster`."""
