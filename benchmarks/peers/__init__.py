"""Fits beside those of other packages and methods: quality and time."""
