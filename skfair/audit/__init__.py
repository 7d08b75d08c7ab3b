"""Audits of models from any package on held-out data: certificates and fairness reports.

Measures are those of disparate impact (adverse impact, the 80 % or four-fifths rule), statistical
parity difference, equal opportunity, and errors by groups of protected attributes. The page of a
report can be attached to a model card.
"""

from skfair.audit._certify import Certificate, certify, limit_metric
from skfair.audit._changes import ChangeReport
from skfair.audit._command_line import (
    add_certify_command,
    add_plan_command,
    add_report_command,
)
from skfair.audit._fairness_front import fairness_front
from skfair.audit._monitor_command import add_monitor_command
from skfair.audit._report import FairnessReport
from skfair.audit._subgroups import SubgroupReport, find_subgroups
from skfair.audit._subgroups_command import add_subgroups_command

__all__ = [
    "Certificate",
    "ChangeReport",
    "FairnessReport",
    "SubgroupReport",
    "certify",
    "fairness_front",
    "find_subgroups",
    "limit_metric",
]
