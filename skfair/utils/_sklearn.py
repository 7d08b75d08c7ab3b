"""The only place that imports private names of scikit-learn, or asks for its version.

Callbacks came with 1.9; before, fits go unwatched. So did the refusal of weights that are all zero.
"""

import inspect

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

if "allow_all_zero_weights" not in inspect.signature(check_sample_weight).parameters:
    check_any_weight = check_sample_weight

    def check_sample_weight(sample_weight, X, **options):
        """The weights, if one of them is not zero."""
        weights = check_any_weight(sample_weight, X, **options)
        if not weights.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return weights


try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
    from sklearn.callback._transport import can_reuse_listener, open_listener, send
except ImportError:

    class Unwatched:
        """A task of a fit that nobody watches."""

        def call_on_fit_task_begin(self, **data):
            """Tell nobody."""

        def call_on_fit_task_end(self, **data):
            """Tell nobody; nobody asks to stop."""
            return False

        def subcontext(self, **data):
            """The task itself."""
            return self

    class CallbackSupportMixin:
        """Estimators without ``set_callbacks``."""

        def _init_callback_context(self, **data):
            return Unwatched()

    def with_callbacks(fit):
        """The method as it is."""
        return fit

    def open_listener(*_, **__):
        """Refuse: there is nothing to listen to."""
        raise ImportError(
            "FairnessMonitor watches fits by scikit-learn's callbacks, which came with version "
            "1.9; update scikit-learn, or pass verbose=1."
        )

    can_reuse_listener = send = open_listener

__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "StrOptions",
    "can_reuse_listener",
    "check_method_params",
    "check_sample_weight",
    "open_listener",
    "safe_indexing",
    "send",
    "validate_parameter_constraints",
    "with_callbacks",
]
