"""Methods on mini-batches; :mod:`skfair.solvers` exports their names."""
