"""He et al., Enforcing fair predicted scores on intervals of percentiles."""
