"""Published methods of clustering, for comparisons: alternating swaps, s-FSC, DC-ADMM."""
