"""Kliachkin et al., Benchmarking stochastic approximation algorithms for fair networks."""
