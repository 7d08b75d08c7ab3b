"""What fresh people say of a model, whoever made it: certificates and reports."""

from skfair.audit._certify import Certificate, certify, limit_metric
from skfair.audit._command import main
from skfair.audit._front import fairness_front
from skfair.audit._report import FairnessReport

__all__ = ["Certificate", "FairnessReport", "certify", "fairness_front", "limit_metric"]
