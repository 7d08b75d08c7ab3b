"""Quality and speed of skfair, measured beside other methods: ``python -m benchmarks``."""
