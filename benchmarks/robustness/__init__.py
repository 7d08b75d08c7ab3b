"""Fits that are interrupted, run on other processors, or scored in searches."""
