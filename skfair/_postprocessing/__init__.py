"""Constraints on top of any classifier: out-of-fold scores, a final linear model, rank shifts."""
