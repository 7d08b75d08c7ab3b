"""Partial parity: criteria on an interval of percentiles of the scores."""
