"""Callbacks: record objective and fairness at every iteration of a fit."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd
from sklearn.base import BaseEstimator

from skfair._utils.sklearn import can_reuse_listener, open_listener, send

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from sklearn.callback import CallbackContext


__all__ = ["FitMonitor"]

_QUANTITIES = {
    "objective": "objective_",
    "violation": "constraint_violation_",
    "residual": "residual_",
    "balance": "balance_",
}
"""Column of the log -> fitted attribute that it is read from."""


class FitMonitor:
    """Callback that records objective and fairness at every iteration of a fit.

    Pass it to an estimator with ``estimator.set_callbacks(FitMonitor())``. The estimator
    then passes it a fitted view of itself at the end of every iteration. One monitor may watch
    several fits, one after another or, in a search, many at once: the log numbers the runs.

    Read more in the :ref:`guide <watch_fit>`.

    Attributes
    ----------
    log : pandas.DataFrame of shape (n_iterations, 7)
        One row per iteration of all fits so far:

        - `run`: number of the sequence of iterations, from 0. A fit is one run, unless it
          iterates several times, for instance once from every start;
        - `iteration`: number of the iteration within its run, from 0;
        - `seconds`: wall-clock time since that fit began, in seconds;
        - `objective`: ``objective_``;
        - `violation`: ``constraint_violation_``, the largest excess over a tolerance;
        - `residual`: ``residual_``, how far the solver is from its stop test;
        - `balance`: ``balance_``, of a clustering.

        Values that an estimator does not report are nan.

    Notes
    -----
    The log includes iterations in worker processes (``n_jobs`` of a search) that reach the monitor
    over a local socket, that is, on the same machine. A copy made by pickling keeps the rows
    recorded so far and continues independently. Clones of an
    estimator share its monitor, as they share every callback of scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.callbacks import FitMonitor
    >>> from skfair.cluster import FairKMeans
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> monitor = FitMonitor()
    >>> model = FairKMeans(n_clusters=3, random_state=0).set_callbacks(monitor)
    >>> _ = model.fit(X, sensitive_features=X.sum(axis=1) > 0)
    >>> monitor.log.columns.tolist()
    ['run', 'iteration', 'seconds', 'objective', 'violation', 'residual', 'balance']
    >>> print(f"balance at the end: {monitor.log['balance'].iloc[-1]:.2f}")
    balance at the end: 0.80
    """

    def __init__(self) -> None:
        self._records: list[tuple[Any, ...]] = []
        self._listen()

    def _listen(self) -> None:
        """Open the listener that copies in worker processes send their records to."""
        self._listener = open_listener(self._records.append, owner=self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, with the rows recorded so far."""
        # Copy the list, since the listener's thread may append to it while this one pickles.
        return {**self.__dict__, "_records": list(self._records)}

    def __setstate__(self, state: dict[str, np.ndarray | int]) -> None:
        """Restore a copy, which opens its own listener if the original cannot be reached."""
        self.__dict__.update(state)
        if not can_reuse_listener(self._listener):
            self._listen()

    @property
    def log(self) -> pd.DataFrame:
        """All rows so far as a new DataFrame."""
        runs: dict[tuple[Any, ...], int] = {}
        rows = []
        for path, seconds, values in list(self._records):
            *run, iteration = path
            rows.append((runs.setdefault(tuple(run), len(runs)), iteration, seconds, *values))
        frame = pd.DataFrame(rows, columns=["run", "iteration", "seconds", *_QUANTITIES])
        return frame.sort_values(["run", "iteration"], ignore_index=True)

    def setup(self, estimator: BaseEstimator, context: Any) -> None:
        """Do nothing: a monitor is ready from the start.

        Parameters
        ----------
        estimator : estimator instance
            The estimator being fitted.
        context : sklearn.callback.CallbackContext
            The task of the whole fit.
        """

    def teardown(self, estimator: BaseEstimator, context: Any) -> None:
        """Do nothing: a monitor stays open for the next fit.

        Parameters
        ----------
        estimator : estimator instance
            The estimator being fitted.
        context : sklearn.callback.CallbackContext
            The task of the whole fit.
        """

    def on_fit_task_begin(self, estimator: BaseEstimator, context: Any) -> None:
        """Do nothing: values are recorded at the end of a task.

        Parameters
        ----------
        estimator : estimator instance
            The estimator being fitted.
        context : sklearn.callback.CallbackContext
            The task of the part of the fit that begins.
        """

    def on_fit_task_end(
        self,
        estimator: BaseEstimator,
        context: Any,
        *,
        fitted_estimator: BaseEstimator | None = None,
    ) -> None:
        """Record an iteration, as it ends.

        Parameters
        ----------
        estimator : estimator instance
            The estimator being fitted.
        context : sklearn.callback.CallbackContext
            The task that ends. Only tasks without sub-tasks are iterations.
        fitted_estimator : estimator instance or None
            The estimator as if fit had stopped here; None: nothing is recorded.
        """
        if fitted_estimator is None or context.max_subtasks != 0:
            return
        lineage = list(_lineage(context))
        path = (context.root_uuid, *(task.task_id for task in reversed(lineage)))
        seconds = (datetime.now(UTC) - _outermost_fit_task(lineage).init_time).total_seconds()
        values = [float(getattr(fitted_estimator, name, "nan")) for name in _QUANTITIES.values()]
        send(self._listener, (path, seconds, values))


def _lineage(context: CallbackContext | None) -> Iterator[CallbackContext]:
    """Yield the task and its ancestors, innermost first."""
    while context is not None:
        yield context
        context = context.parent


def _outermost_fit_task(lineage: list[CallbackContext]) -> CallbackContext:
    """Outermost task of the estimator's own fit: a search's tasks may stand above it."""
    return next((task for task in lineage if task.source_estimator_name is not None), lineage[-1])
