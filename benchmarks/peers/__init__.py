"""Comparison with other packages and methods: quality and time."""
