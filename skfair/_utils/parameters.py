"""Parameters of constructors, declared once: their hints say which values are valid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import isfunction
from numbers import Integral, Real
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skfair._utils.checks import spelling_hint
from skfair._utils.sklearn import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


# Hints that parameters share. What follows the type is what scikit-learn checks.


PositiveInt = Annotated[int, Interval(Integral, 1, None, closed="left")]
NonNegativeInt = Annotated[int, Interval(Integral, 0, None, closed="left")]
NonNegative = Annotated[float, Interval(Real, 0, None, closed="left")]
Tolerance = NonNegative | dict[Any, float]
Positive = Annotated[float, Interval(Real, 0, None, closed="neither")]
AtLeastOne = Annotated[float, Interval(Real, 1, None, closed="left")]
Share = Annotated[float, Interval(Real, 0, 1, closed="both")]
OpenShare = Annotated[float, Interval(Real, 0, 1, closed="neither")]
PositiveShare = Annotated[float, Interval(Real, 0, 1, closed="right")]
Array = Annotated[ArrayLike, "array-like"]
ClassWeight = dict[Any, float] | Literal["balanced"]
Verbose = Annotated[int, "verbose"]
MinGroupSize = PositiveInt | Literal["auto"]
MissingGroups = Literal["error", "exclude", "at_random", "sufficient", "independent"]
ProbabilisticClassifier = Annotated[BaseEstimator, HasMethods(["fit", "predict_proba"])]

CONFIDENCE_LEVEL = 0.95
"""Confidence of intervals, claims, plans and monitors, unless another one is passed."""

MIN_AUDITED_GROUP = 30
"""Samples of a group from which on audits and monitors compare it, unless another is passed."""

_CONSTRAINTS = {bool: "boolean", int: Integral, float: Real, type(None): None}
"""What scikit-learn checks of values of these types; other types are checked by isinstance."""


Class = TypeVar("Class", bound=type)


@dataclass_transform(eq_default=False)
def make_constructor(cls: Class) -> Class:
    """Give a class the constructor that stores the parameters which the hints in its body declare.

    A decorator. Defaults are those of the constructor, not attributes of the class, and the class
    is no dataclass afterwards: tools take a dataclass for its fields, so that Dask would name a
    fitted estimator by its parameters alone. Parameters of bases are not inherited.
    """
    dataclass(eq=False, repr=False, match_args=False)(cls)
    fields = vars(cls)["__dataclass_fields__"]
    for name in {*fields, "__dataclass_fields__", "__dataclass_params__"} & {*vars(cls)}:
        delattr(cls, name)
    return cls


@cache
def parameter_constraints(cls: Any) -> dict[str, Any]:
    """Return what scikit-learn checks of each parameter of a class, as its hints say.

    The hint of the class itself counts before that of a base. Classes of users inherit the checks
    of their bases and add none, as their hints need not be meant as such.
    """
    classes = [base for base in cls.__mro__ if base.__module__.partition(".")[0] == "skfair"]
    # Attributes of abstract bases first, which the constructors of subclasses may narrow.
    hints = get_type_hints(classes[0], include_extras=True)
    for base in reversed(classes):
        if "__init__" in vars(base):
            hints |= get_type_hints(base.__init__, include_extras=True)
    checks = {name: [*_checks(hints.get(name, Any))] for name in cls._get_param_names()}
    return {name: allowed for name, allowed in checks.items() if "no_validation" not in allowed}


def validate_params(estimator: Any) -> None:
    """Validate constructor parameters by the hints of the class; errors suggest names meant.

    Those of a loss, a surrogate or a solver of skfair are validated with it.
    """
    cls: Any = type(estimator)
    constraints = parameter_constraints(cls)
    for name in constraints:  # get_params would inspect the constructor
        value = getattr(estimator, name)
        try:
            validate_parameter_constraints(constraints, {name: value}, cls.__name__)
        except InvalidParameterError as error:
            known = [one.known for one in constraints[name] if isinstance(one, StrOptions)]
            hint = next(filter(None, (spelling_hint(value, names) for names in known)), "")
            hint = hint or _hint_of_function(value)
            raise InvalidParameterError(f"{error}{hint}") from None
        is_of_skfair = type(value).__module__.partition(".")[0] == "skfair"
        if is_of_skfair and isinstance(value, BaseEstimator) and not hasattr(value, "fit"):
            validate_params(value)


def _hint_of_function(value: int | str | None) -> str:
    """What to pass in place of a function where an object with methods is needed."""
    if not isfunction(value):
        return ""
    return (
        " Of a function pass its values as a column of X, with skfair.preprocessing.ScoreColumn, "
        "or a class whose predict_proba calls it, with cv='prefit'."
    )


def _checks(hint: Any) -> Iterator[Any]:
    """Yield what scikit-learn checks of values with a hint."""
    origin = get_origin(hint)
    members = get_args(hint)
    if hint is Any:
        yield "no_validation"
    elif origin is Annotated:
        yield from hint.__metadata__
    elif origin in (Union, UnionType):
        for member in members:
            yield from _checks(member)
    elif origin is Literal:
        yield StrOptions({*members})
    elif Callable in (hint, origin):
        yield callable
    else:
        yield _CONSTRAINTS.get(hint, origin or hint)
