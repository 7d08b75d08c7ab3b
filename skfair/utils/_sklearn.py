"""The only place that imports private names of scikit-learn."""

from sklearn.callback._transport import can_reuse_listener, open_listener, send
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
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
]
