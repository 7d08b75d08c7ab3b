"""Audits of models from any package on held-out data: claims and fairness reports.

Metrics are those of disparate impact (adverse impact, the 80 % or four-fifths rule), statistical
parity difference, equal opportunity, and errors by groups of protected attributes. The page of a
report can be attached to a model card.
"""

from skfair.audit._audit import Audit
from skfair.audit._certify import certify
from skfair.audit._claims import Claim, verify
from skfair.audit._claims import check_states_digest as check_states_digest
from skfair.audit._data import check_counts as check_counts
from skfair.audit._estimators import REPORTED_RATES as REPORTED_RATES
from skfair.audit._fairness_front import fairness_front
from skfair.audit._files import check_complete_column as check_complete_column
from skfair.audit._files import check_same_notation as check_same_notation
from skfair.audit._files import file_digest as file_digest
from skfair.audit._files import find_label as find_label
from skfair.audit._files import has_decimals as has_decimals
from skfair.audit._files import holds_numbers as holds_numbers
from skfair.audit._files import parse_column as parse_column
from skfair.audit._files import place_outcomes as place_outcomes
from skfair.audit._files import read_columns as read_columns
from skfair.audit._files import read_outcomes as read_outcomes
from skfair.audit._formats import FACT_TITLES as FACT_TITLES
from skfair.audit._formats import Markup as Markup
from skfair.audit._formats import render_page as render_page
from skfair.audit._formats import tabulate_facts as tabulate_facts
from skfair.audit._formats import titled_facts as titled_facts
from skfair.audit._report import FairnessReport
from skfair.audit._report_input import check_group_size as check_group_size
from skfair.audit._sections import OUTCOME_SELECTION as OUTCOME_SELECTION
from skfair.audit._sensitive_features import SensitiveFeatures
from skfair.audit._sensitive_features import as_sensitive_features as as_sensitive_features
from skfair.audit._sentences import confidence_text as confidence_text
from skfair.audit._sentences import describe_bound as describe_bound
from skfair.audit._sentences import event_text as event_text
from skfair.audit._sentences import left_out_clause as left_out_clause
from skfair.audit._sentences import name_left_out as name_left_out
from skfair.audit._sentences import samples_clause as samples_clause
from skfair.audit._sentences import small_groups_note as small_groups_note
from skfair.audit._sentences import verdict_text as verdict_text
from skfair.audit._subgroups import SubgroupReport, find_subgroups

__all__ = [
    "Audit",
    "Claim",
    "FairnessReport",
    "SensitiveFeatures",
    "certify",
    "fairness_front",
    "find_subgroups",
    "verify",
]
