"""Models: scores from parameters, and gradients by parameters from derivatives by scores.

Only the model has access to X. Losses and constraints return one derivative per sample, which the
transpose of the model's Jacobian maps to a gradient.
"""
