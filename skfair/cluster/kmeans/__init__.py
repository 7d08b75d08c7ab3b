"""Fair k-means: the warm start, the passes over the full data, and the local search."""
