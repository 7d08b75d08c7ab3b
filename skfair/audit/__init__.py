"""Audits of models from any package on held-out data: claims and fairness reports.

Metrics are those of disparate impact (adverse impact, the 80 % or four-fifths rule), statistical
parity difference, equal opportunity, and errors by groups of protected attributes. The page of a
report can be attached to a model card.
"""

from skfair.audit._alternatives import Alternatives
from skfair.audit._audit import Audit
from skfair.audit._certify_in_order import certify_in_order
from skfair.audit._claims import Claim
from skfair.audit._fairness_front import FairnessFront, fairness_front
from skfair.audit._outcomes import Outcomes
from skfair.audit._report import FairnessReport
from skfair.audit._sensitive_features import SensitiveFeatures
from skfair.audit._subgroups import SubgroupReport
from skfair.audit._verify import verify

__all__ = [
    "Alternatives",
    "Audit",
    "Claim",
    "FairnessFront",
    "FairnessReport",
    "Outcomes",
    "SensitiveFeatures",
    "certify_in_order",
    "fairness_front",
    "verify",
]
