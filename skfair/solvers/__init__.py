"""Solvers for problems with more than one aim."""

from skfair.solvers._sa2gd import BiObjectiveFront, BiObjectiveResult, sa2gd, sa2gd_front

__all__ = ["BiObjectiveFront", "BiObjectiveResult", "sa2gd", "sa2gd_front"]
