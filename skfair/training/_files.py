"""Estimators that can be stored without pickle."""

import pandas as pd

from skfair.utils._arguments import ExplainsArguments

_TABLE = "constraint_report_"


class Storable(ExplainsArguments):
    """Mixin of estimators whose state has a dict of arrays in place of ``constraint_report_``.

    Formats that run no code when they are read, such as that of skops, cannot store DataFrames.
    """

    def __getstate__(self):
        """Return the state to store."""
        state = super().__getstate__()
        if _TABLE in state:
            table = state[_TABLE]
            state = state | {_TABLE: {name: table[name].to_numpy() for name in table}}
        return state

    def __setstate__(self, state):
        """Restore the stored state."""
        if _TABLE in state:
            state = state | {_TABLE: pd.DataFrame(state[_TABLE])}
        super().__setstate__(state)
