"""Who belongs to which group and event: the encodings that all rooms share."""

from skfair.groups._distinct import count_rows as count_rows
from skfair.groups._distinct import count_samples as count_samples
from skfair.groups._events import Events
from skfair.groups._groups import (
    Groups,
    GroupSummary,
    check_groups,
    group_index,
    group_names,
    refuse_measurements,
)
from skfair.groups._labels import check_one_kind, check_same_kinds
from skfair.groups._labels import distinct as distinct
from skfair.groups._labels import distinct_values as distinct_values
from skfair.groups._match import (
    HOW_TO_PASS_GROUPS,
    groups_to_predict,
    match_groups,
    match_values,
)
from skfair.groups._pairs import DocumentPairs
from skfair.groups._percentiles import check_interval, ranks_inside, tabulate_scores
from skfair.groups._samples import (
    AUTO_SIZE,
    Samples,
    check_alignment,
    check_columns,
    check_samples,
    columns_of_part,
    error_of_part,
)

__all__ = ["DocumentPairs", "Events", "GroupSummary", "Groups", "Samples", "check_groups"]
