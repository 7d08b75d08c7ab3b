"""Kernels of published methods, for comparisons."""
