"""Fair spectral clustering: the affinity, the fair embedding, and the clusters of its rows."""
