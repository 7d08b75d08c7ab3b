"""Estimators that can be stored without pickle."""

from typing import Any

import pandas as pd

from skfair.groups import GroupSummary
from skfair.training._input import Unit
from skfair.utils._arguments import explain_arguments

_TABLE = "constraint_report_"

_RECORD = "__record__"
"""Key of the name of a record's type, in the dict that stands for the record."""


class Storable:
    """Mixin of estimators whose state is of plain types: dicts and arrays for tables and records.

    Formats that run no code when they are read, such as that of skops, cannot store DataFrames, and
    ask to trust every type that they do not know.
    """

    _record_types: Any = (GroupSummary, Unit)
    """Types of the named tuples among the fitted attributes, also within others."""

    def __new__(cls, *args, **kwargs):
        """Explain arguments of other places before ``__init__`` refuses them."""
        explain_arguments(cls, kwargs)
        return super().__new__(cls)

    def __getstate__(self):
        """Return the state to store."""
        state = super().__getstate__()
        if _TABLE in state:
            table = state[_TABLE]
            state = state | {_TABLE: {name: table[name].to_numpy() for name in table}}
        return {name: self._to_plain(value) for name, value in state.items()}

    def __setstate__(self, state):
        """Restore the stored state."""
        state = {name: self._from_plain(value) for name, value in state.items()}
        if _TABLE in state:
            state = state | {_TABLE: pd.DataFrame(state[_TABLE])}
        super().__setstate__(state)

    def _to_plain(self, value):
        """The value, with dicts in place of the records that it is or contains."""
        if isinstance(value, self._record_types):
            fields = {name: self._to_plain(field) for name, field in value._asdict().items()}
            return {_RECORD: type(value).__name__} | fields
        if type(value) is list:
            return [self._to_plain(one) for one in value]
        return value

    def _from_plain(self, value):
        """The value of a plain one."""
        if isinstance(value, dict) and _RECORD in value:
            types = {kind.__name__: kind for kind in self._record_types}
            fields = {name: self._from_plain(field) for name, field in value.items()}
            return types[fields.pop(_RECORD)](**fields)
        if type(value) is list:
            return [self._from_plain(one) for one in value]
        return value
