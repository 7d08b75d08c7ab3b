"""Monitors of deployed models: gaps between groups over time, valid at every look."""

from skfair.monitoring._monitor import GapMonitor

__all__ = ["GapMonitor"]
