"""Fits of small problems against their optimum."""
