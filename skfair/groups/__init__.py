"""Encodings of groups, events and samples that all subpackages share.

`Samples` is public. The other names serve the package alone.
"""

from skfair.groups._duplicates import merge_duplicate_rows as merge_duplicate_rows
from skfair.groups._duplicates import (
    merge_duplicate_rows_with_sizes as merge_duplicate_rows_with_sizes,
)
from skfair.groups._events import DocumentPairs as DocumentPairs
from skfair.groups._events import Events as Events
from skfair.groups._events import intervals_by_group as intervals_by_group
from skfair.groups._events import is_in_intervals as is_in_intervals
from skfair.groups._events import tabulate_scores as tabulate_scores
from skfair.groups._groups import MAX_NUMERIC_GROUPS as MAX_NUMERIC_GROUPS
from skfair.groups._groups import Groups, check_groups
from skfair.groups._groups import GroupSummary as GroupSummary
from skfair.groups._groups import attribute_columns as attribute_columns
from skfair.groups._groups import attribute_names as attribute_names
from skfair.groups._groups import balance as balance
from skfair.groups._groups import balances_and_data_balance as balances_and_data_balance
from skfair.groups._groups import check_attribute_label_types as check_attribute_label_types
from skfair.groups._groups import check_one_label_type as check_one_label_type
from skfair.groups._groups import cluster_balances as cluster_balances
from skfair.groups._groups import count_table as count_table
from skfair.groups._groups import data_balance as data_balance
from skfair.groups._groups import group_names as group_names
from skfair.groups._groups import is_encoded as is_encoded
from skfair.groups._groups import refuse_continuous_attributes as refuse_continuous_attributes
from skfair.groups._groups import smallest_share_ratios as smallest_share_ratios
from skfair.groups._groups import to_pandas_index as to_pandas_index
from skfair.groups._groups import unique_inverse as unique_inverse
from skfair.groups._groups import unique_values as unique_values
from skfair.groups._groups import warn_of_similar_labels as warn_of_similar_labels
from skfair.groups._known import HOW_TO_PASS_GROUPS as HOW_TO_PASS_GROUPS
from skfair.groups._known import MISSING as MISSING
from skfair.groups._known import check_group_probabilities as check_group_probabilities
from skfair.groups._known import encode_groups_for_prediction as encode_groups_for_prediction
from skfair.groups._known import encode_known_groups as encode_known_groups
from skfair.groups._known import encode_known_values as encode_known_values
from skfair.groups._known import fill_missing as fill_missing
from skfair.groups._known import is_like_unknown as is_like_unknown
from skfair.groups._known import make_probable_groups as make_probable_groups
from skfair.groups._samples import AUTO_MIN_GROUP_SHARE as AUTO_MIN_GROUP_SHARE
from skfair.groups._samples import AUTO_MIN_GROUP_SIZE as AUTO_MIN_GROUP_SIZE
from skfair.groups._samples import EncodedBlock as EncodedBlock
from skfair.groups._samples import Samples
from skfair.groups._samples import SampleSummary as SampleSummary
from skfair.groups._samples import check_alignment as check_alignment
from skfair.groups._samples import check_metric_input as check_metric_input
from skfair.groups._samples import check_partition as check_partition
from skfair.groups._samples import check_samples as check_samples
from skfair.groups._samples import encode_block as encode_block
from skfair.groups._samples import find_first_rows as find_first_rows
from skfair.groups._samples import merge_samples as merge_samples
from skfair.groups._samples import partition_error as partition_error
from skfair.groups._state import PlainStateMixin as PlainStateMixin

__all__ = [
    "Samples",
]
