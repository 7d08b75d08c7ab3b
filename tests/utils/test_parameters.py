import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import make_constraint

import skfair
from skfair._names import SUBMODULES
from skfair._utils import parameters as parameters_module
from skfair._utils.api import RandomState
from skfair._utils.parameters import (
    Array,
    AtLeastOne,
    MinGroupSize,
    MissingGroups,
    NonNegative,
    NonNegativeInt,
    OpenShare,
    Positive,
    PositiveInt,
    PositiveShare,
    ProbabilisticClassifier,
    Share,
    Verbose,
    make_constructor,
    parameter_constraints,
    validate_params,
)
from skfair._utils.sklearn import StrOptions
from skfair.classification import PartialParityClassifier, PartialParityPostprocessor
from skfair.constraints import Constraint, PartialDemographicParity
from skfair.regression import PartialParityRegressor
from skfair.solvers import SOLVERS, SQP, Solver

if TYPE_CHECKING:
    from decimal import Decimal


def public_classes():
    """Public classes with constructor parameters."""
    modules = (importlib.import_module(f"skfair.{name}") for name in SUBMODULES)
    for one in (getattr(module, name) for module in modules for name in module.__all__):
        if isinstance(one, type) and issubclass(one, BaseEstimator) and not inspect.isabstract(one):
            yield one


def allows(hint, value):
    return any(
        make_constraint(one).is_satisfied_by(value) for one in parameters_module._checks(hint)
    )


def test_hints_of_every_public_class_resolve():
    classes = list(public_classes())
    assert len(classes) > 50
    for cls in classes:
        checks = parameter_constraints(cls)
        assert set(checks) <= set(cls._get_param_names()), cls
        for name, allowed in checks.items():
            # Every default is valid, so that a hint that drifts from its default is found.
            default = inspect.signature(cls).parameters[name].default
            if default is not inspect.Parameter.empty:
                assert any(make_constraint(one).is_satisfied_by(default) for one in allowed), name


def test_valid_values_are_stated_by_hints_alone():
    texts = [
        path.read_text(encoding="utf-8") for path in Path(skfair.__file__).parent.rglob("*.py")
    ]
    assert len(texts) > 150
    assert not any(re.search(r"\b_parameter_constraints\b", text) for text in texts)


@pytest.mark.parametrize("value", ["correction", "sweep", "path", "calibration", "brief"])
def test_parts_of_the_enforcement_are_no_values_of_it(value):
    checks = [parameter_constraints(cls).get("enforcement") for cls in public_classes()]
    checks = [one for one in checks if one is not None]
    assert len(checks) >= 5
    for allowed in checks:
        assert any(make_constraint(one).is_satisfied_by("auto") for one in allowed)
        assert not any(make_constraint(one).is_satisfied_by(value) for one in allowed)


@pytest.mark.parametrize(
    ("hint", "valid", "invalid"),
    [
        (PositiveInt, [1, np.int64(3)], [0, 1.0, "1", None]),
        (NonNegativeInt, [0], [-1, 0.5]),
        (NonNegative, [0, 0.0, 3.5, np.float32(1)], [-1e-9, np.nan, None]),
        (Positive, [1e-9, 2], [0.0, -1]),
        (AtLeastOne, [1, 2.5], [0.999]),
        (Share, [0, 0.5, 1], [-0.1, 1.1]),
        (OpenShare, [0.5], [0, 1, 1.0]),
        (PositiveShare, [1, 0.5], [0, 1.1]),
        (Array, [[1, 2], (1,), np.ones(2)], [1, None]),
        (Verbose, [0, 3, True], [-1, 0.5]),
        (MinGroupSize, [1, "auto"], [0, "all", None]),
        (MissingGroups, ["error", "exclude"], ["group", "drop", None]),
        (RandomState, [0, None, np.random.RandomState(0)], [-1, "0", 0.5]),
        (ProbabilisticClassifier, [LogisticRegression()], [SQP(), 1]),
        (bool, [True, np.bool_(0)], [1, None]),
        (float | str | None, [1, 1.5, "a", None], [[1], 1j]),
        (Literal["a", "b"] | Callable | None, ["a", print, None], ["c", 1]),
        (Annotated[str, StrOptions({"a": 1})] | Solver, ["a", SQP()], ["b", SQP]),
        (tuple[int, int] | dict, [(1, 2), {}], [[1, 2]]),
    ],
)
def test_a_hint_says_which_values_are_valid(hint, valid, invalid):
    assert [value for value in valid if not allows(hint, value)] == []
    assert [value for value in invalid if allows(hint, value)] == []


def test_parameters_without_a_check_are_left_to_the_class():
    assert "interval" not in parameter_constraints(PartialDemographicParity)
    assert list(parameters_module._checks(Any)) == ["no_validation"]


def test_names_added_to_a_registry_are_valid(monkeypatch):
    model = PartialParityClassifier(loss="auc")
    validate_params(model)
    with pytest.raises(ValueError, match=r"'solver' parameter of PartialParityClassifier must be"):
        validate_params(clone(model).set_params(solver="no such solver"))
    names = parameter_constraints(SQP)["hessian"][0]
    assert names.options == {"exact", "lbfgs", "secants"}
    monkeypatch.setitem(SOLVERS, "my-sqp", SQP)
    allowed = parameter_constraints(importlib.import_module("skfair.ranking").ConstrainedRanker)
    assert allowed["solver"][0].is_satisfied_by("my-sqp")


def test_classes_of_users_inherit_checks_and_add_none():
    class Mine(SQP):
        rate: "Decimal"

        def __init__(
            self, max_iter: int = 5, tol=1e-6, *, step: "Decimal | None" = None, hessian=""
        ):
            super().__init__(max_iter, tol)
            self.step, self.hessian = step, hessian

    assert set(parameter_constraints(Mine)) == {"max_iter", "tol", "hessian"}
    validate_params(Mine(hessian="lbfgs", step="anything"))
    with pytest.raises(
        ValueError, match="'max_iter' parameter of Mine must be an int in the range"
    ):
        validate_params(Mine(max_iter=0, hessian="exact"))


def test_attributes_of_an_abstract_base_are_checked_in_classes_without_hints():
    class Step(Solver):
        def __init__(self, max_iter=1, tol=0.0):
            self.max_iter, self.tol = max_iter, tol

        def _iterate(self, problem, x, random_state):
            raise NotImplementedError

    with pytest.raises(ValueError, match="'tol' parameter of Step must be a float in the range"):
        validate_params(Step(tol=-1))


@pytest.mark.parametrize(
    "cls", [PartialParityClassifier, PartialParityRegressor, PartialParityPostprocessor]
)
def test_a_criterion_is_a_name_or_a_constraint(cls):
    validate_params(cls(constraint=PartialDemographicParity((0.1, 0.3))))
    hint = inspect.get_annotations(cls.__init__, eval_str=True)["constraint"]
    # Type checkers see a union with a constraint, whatever is checked of it at run time.
    types = get_args(get_args(hint)[0] if get_origin(hint) is Annotated else hint)
    assert any(issubclass(one if isinstance(one, type) else str, Constraint) for one in types)


@make_constructor
class _Scaler(BaseEstimator):
    fold = 3

    factor: Positive
    _: KW_ONLY
    shift: float = 0.5


@make_constructor
class _Mover(_Scaler):
    shift: float = 1.5


def test_a_constructor_is_made_of_the_declared_parameters():
    parameters = inspect.signature(_Scaler).parameters.values()
    assert [(one.name, one.kind, one.default) for one in parameters] == [
        ("factor", inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty),
        ("shift", inspect.Parameter.KEYWORD_ONLY, 0.5),
    ]
    assert vars(clone(_Scaler(2.0, shift=1.0))) == {"factor": 2.0, "shift": 1.0}


def test_defaults_are_no_attributes_and_parameters_of_bases_are_not_inherited():
    assert not hasattr(_Scaler, "shift") and _Scaler.fold == 3
    assert list(inspect.signature(_Mover).parameters) == ["shift"]
    assert _Mover().shift == 1.5


def test_estimators_are_no_dataclasses():
    # Tools take a dataclass for its fields: Dask would give two fits of equal parameters one name.
    assert not is_dataclass(_Scaler) and not is_dataclass(PartialParityClassifier)
    tokenize = pytest.importorskip("dask.base").tokenize
    models = [PartialParityClassifier(alpha=1.0) for _ in range(2)]
    models[0].coef_ = np.zeros(2)
    assert tokenize(models[0]) != tokenize(models[1])
