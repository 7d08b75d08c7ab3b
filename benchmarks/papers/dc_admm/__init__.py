"""Tonin et al., Accelerating spectral clustering under fairness constraints."""
