"""Methods that step on mini-batches; the names are exported by :mod:`skfair.solvers`."""
