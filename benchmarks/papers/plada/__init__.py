"""A modified proximal-perturbed Lagrangian for fairness constraints: the solver PLADA."""
