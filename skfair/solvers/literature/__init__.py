"""Methods of the papers, for comparisons; the names are exported by :mod:`skfair.solvers`."""
