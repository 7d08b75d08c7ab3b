"""TypeErrors of constructors that say where an argument goes."""

_OF_CONSTRAINT = (
    "is a parameter of the constraint: pass constraint=DemographicParity({}), an object of "
    "skfair.constraints"
)

_PLACES = {
    "ratio": _OF_CONSTRAINT.format("ratio=0.8"),
    "attributes": _OF_CONSTRAINT.format("attributes='each'"),
    "reference": _OF_CONSTRAINT.format("reference='overall'"),
    "aggregate": _OF_CONSTRAINT.format("aggregate='sum'"),
    "strata": (
        "is a parameter of a constraint: pass constraint=ConditionalDemographicParity(strata=...), "
        "an object of skfair.constraints"
    ),
    "upper_bound": (
        "is a parameter of a constraint: pass constraint=BoundedGroupLoss(upper_bound), an object "
        "of skfair.constraints"
    ),
    "constraints": "is called constraint here; it may be a list",
    "difference_bound": (
        "bounds the difference from all samples in fairlearn; here tolerance bounds that between "
        "groups, so pass twice the number as tolerance"
    ),
    "eps": "is called tolerance here",
    "ratio_bound": "is called ratio here, a parameter of constraints such as DemographicParity",
    "base_estimator": "is called estimator here, a parameter of ConstrainedClassifierCV",
    "estimator": "is a parameter of ConstrainedClassifierCV; this estimator has a model of its own",
    "prefit": "is cv='prefit' here, a parameter of ConstrainedClassifierCV",
    "sensitive_features": "is passed to fit, as in fit(X, y, sensitive_features=...)",
    "sensitive_feature_names": (
        "is not needed: pass the columns to fit, as in fit(X, y, sensitive_features=X[names])"
    ),
    "tolerance": "is a parameter of the estimator, and of constraints on differences",
}
"""Where an argument goes that a constructor does not have: a half sentence."""


def explain_arguments(cls, arguments):
    """Raise a TypeError that says where an argument goes that the constructor does not have."""
    for name in _PLACES.keys() & arguments.keys():
        if name not in cls._get_param_names():
            raise TypeError(
                f"{cls.__name__}() got an unexpected keyword argument {name!r}, which "
                f"{_PLACES[name]}."
            )
