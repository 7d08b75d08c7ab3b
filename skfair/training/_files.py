"""Estimators whose files need no pickle."""

import pandas as pd

_TABLE = "constraint_report_"


class Storable:
    """Mixin of estimators whose state holds arrays and builtins instead of its table.

    Formats that run no code when they are read, such as that of skops, know no tables.
    """

    def __getstate__(self):
        """Return what is stored."""
        state = super().__getstate__()
        if _TABLE in state:
            table = state[_TABLE]
            state = state | {_TABLE: {name: table[name].to_numpy() for name in table}}
        return state

    def __setstate__(self, state):
        """Restore what was stored."""
        if _TABLE in state:
            state = state | {_TABLE: pd.DataFrame(state[_TABLE])}
        super().__setstate__(state)
