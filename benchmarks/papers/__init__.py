"""Reproductions, one folder per paper, and the index of all their tables and figures."""
