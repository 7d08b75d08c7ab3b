"""Who belongs to which group and event: the encodings that all rooms share."""

from skfair.people._distinct import count_rows as count_rows
from skfair.people._distinct import count_samples as count_samples
from skfair.people._events import Events
from skfair.people._groups import (
    Groups,
    GroupSummary,
    check_groups,
    group_index,
    group_names,
    refuse_measurements,
)
from skfair.people._labels import check_one_kind, check_same_kinds
from skfair.people._labels import distinct as distinct
from skfair.people._labels import distinct_values as distinct_values
from skfair.people._match import (
    HOW_TO_PASS_GROUPS,
    groups_to_predict,
    match_groups,
    match_values,
)
from skfair.people._pairs import DocumentPairs
from skfair.people._people import (
    AUTO_SIZE,
    People,
    check_alignment,
    check_columns,
    check_people,
    columns_of_part,
    error_of_part,
)
from skfair.people._percentiles import check_interval, ranks_inside, tabulate_scores

__all__ = ["DocumentPairs", "Events", "GroupSummary", "Groups", "People", "check_groups"]
