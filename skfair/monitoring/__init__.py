"""Monitors of deployed models: gaps between groups over time, valid at every look."""

from skfair._names import refuse_unknown_names
from skfair.monitoring._monitor import GapMonitor

__all__ = ["GapMonitor"]

__getattr__ = refuse_unknown_names(__name__)
