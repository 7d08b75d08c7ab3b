"""Bad input is refused by a message that names something of the user's, in every public call.

Each estimator is fitted, and each function that takes the group of every sample is called, with one
argument after the other spoilt in each of several forms. The calls are generated from the lists of
public names.
"""

import inspect
import re
import warnings
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_regressor

from skfair import metrics, preprocessing, statistics
from skfair.audit import Audit
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityClassifier,
)
from skfair.cluster import FairKMeans, FairSpectralClustering
from skfair.conformal import ConformalClassifier
from skfair.constraints import Constraint, DemographicParity, MinimumRate
from skfair.ranking import ConstrainedRanker, ConstrainedRankerCV
from skfair.regression import ConstrainedERMRegressor, PartialParityRegressor
from tests.test_common import ESTIMATORS, QUICK

N_SAMPLES = 60
_RNG = np.random.default_rng(0)
GROUPS = np.arange(N_SAMPLES) % 2
X = _RNG.normal(size=(N_SAMPLES, 2)) + 0.5 * GROUPS[:, np.newaxis]
LABELS = (X[:, 0] + _RNG.normal(size=N_SAMPLES) > 0.3).astype(int)
SCORES = 1.0 / (1.0 + np.exp(-X[:, 0]))
COLUMNS = {
    "X": X,
    "y": LABELS,
    "y_true": LABELS,
    "y_pred": LABELS[::-1],
    "y_score": SCORES,
    "y_proba": SCORES,
    "values": LABELS,
    "labels": LABELS,
    "sensitive_features": GROUPS,
    "control_features": np.arange(N_SAMPLES) % 3,
    "sample_weight": np.ones(N_SAMPLES),
    "query_id": np.arange(N_SAMPLES) // 12,
}
"""Valid values of the arguments that have an entry for each sample, by name."""


def put(value, column):
    """The column with the value in its fifth row."""
    spoilt = np.array(column, dtype=float if isinstance(value, float) else object)
    spoilt[(4, *[0] * (spoilt.ndim - 1))] = value
    return spoilt


class DeviceArray:
    """An array in the memory of an accelerator, with the protocols of CuPy and PyTorch."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.shape, self.ndim, self.dtype = self.values.shape, self.values.ndim, self.values.dtype

    def __len__(self):
        return len(self.values)

    def __getitem__(self, rows):
        return DeviceArray(self.values[rows])

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_namespace__(self, api_version=None):
        return np

    def __dlpack_device__(self):
        return (2, 0)


FORMS = {
    "a row less": lambda column: column[:-1],
    "no rows": lambda column: column[:0],
    "three dimensions": lambda column: np.reshape(column, (N_SAMPLES, -1, 1)),
    "nan": partial(put, np.nan),
    "infinity": partial(put, np.inf),
    "None inside": partial(put, None),
    "NA inside": partial(put, pd.NA),
    "text inside": partial(put, "x"),
    "a list inside": partial(put, [1, 2]),
    "complex": lambda column: np.asarray(column) * 1j,
    "a single value": lambda column: np.full_like(column, 1),
    "zeros": np.zeros_like,
    "negative": lambda column: -np.abs(column) - 1,
    "huge": lambda column: np.asarray(column, dtype=float) * 1e200 + 1e200,
    "denormal": lambda column: np.full(np.shape(column), 5e-324),
    "sparse": lambda column: sparse.csr_array(np.reshape(column, (N_SAMPLES, -1))),
    "a dict": lambda column: {"a": 1},
    "a name": lambda column: "column",
    "a number": lambda column: 7,
    "a function": lambda column: len,
    "None": lambda column: None,
    "on a device": lambda column: DeviceArray(column),
}
"""How a column is spoilt."""

NUMBERS = {"a single value", "zeros", "negative", "huge", "denormal"}
VALID = {
    **dict.fromkeys(["y", "y_true", "y_pred", "values", "labels"], NUMBERS),
    **dict.fromkeys(["y_score", "y_proba"], NUMBERS | {"None"}),
    **dict.fromkeys(["query_id", "control_features"], NUMBERS | {"infinity", "None"}),
    "X": NUMBERS | {"sparse"},
    "sensitive_features": NUMBERS | {"infinity", "None", "sparse"},
    "sample_weight": {"a single value", "huge", "a number", "None"},
}
"""Forms that some call takes, for each argument."""

PRIVATE = (
    r"(?<![\w.])_[a-z]\w+|broadcast|'NoneType'|not supported between|no attribute"
    r"|unsupported operand|out of bounds|is ambiguous|infs or NaNs|ufunc|has no len|not iterable"
)
"""Names of the package's own, and what numpy and Python say of things that users do not see."""

INTERNAL = re.compile(rf"{PRIVATE}|skfair\.\w+\._")
"""The same, and private modules, which scikit-learn alone names, where it says the type allowed."""

WORDS = [*COLUMNS, "Sample weights", "group", "LogisticRegression", "LinearRegression", "2D array"]
"""What a message may name besides the class: arguments, models, and scikit-learn's words for X."""


def list_fits():
    """The fit of each estimator by name, and valid values of what it takes of each sample."""
    for cls in ESTIMATORS:
        estimator = cls(**QUICK.get(cls.__name__, {}))
        names = inspect.signature(cls.fit).parameters
        columns = {name: COLUMNS[name] for name in names if name in COLUMNS}
        if "y" in names and names["y"].default is None:
            columns.pop("y")
        elif is_regressor(estimator):
            columns["y"] = X[:, 0] + LABELS
        yield (
            cls.__name__,
            (lambda one=estimator, **arguments: clone(one).fit(**arguments)),
            columns,
        )


METHODS = ("predict", "decision_function", "predict_proba", "transform", "score")
USES_GROUPS = {"group_interactions": "intercept", "group_estimator": "sensitive_features"}
"""Parameters by which predictions depend on the group, where an estimator has them."""

IGNORES_GROUPS = {"ConstrainedMLPClassifier", "FairSpectralClustering", "ConstrainedRanker"}
IGNORES_GROUPS |= {"ConformalClassifier", "ConformalRegressor"}  # sets do not


def list_methods():
    """The methods of each estimator that are not those of scikit-learn."""
    for cls in ESTIMATORS:
        for method in METHODS:
            if getattr(getattr(cls, method, None), "__module__", "sklearn").startswith("skfair"):
                yield pytest.param(cls, method, id=f"{cls.__name__}.{method}")


@cache
def fit_aware(cls):
    """A fitted estimator whose predictions depend on the group where they can, and its columns."""
    _, _, columns = next(one for one in list_fits() if one[0] == cls.__name__)
    estimator = cls(**QUICK.get(cls.__name__, {}))
    settings = {name: USES_GROUPS[name] for name in USES_GROUPS & estimator.get_params().keys()}
    return estimator.set_params(**settings).fit(**columns), columns


def list_functions():
    """Each function of groups by name, and valid values of what it takes of each sample."""
    for module in (metrics, statistics, preprocessing):
        for name in module.__all__:
            function = getattr(module, name)
            known = inspect.signature(function).parameters if inspect.isfunction(function) else {}
            columns = {one: COLUMNS[one] for one in known if one in COLUMNS}
            if "sensitive_features" in columns:
                settings = {"interval": (0.2, 0.8)} if "interval" in known else {}
                yield name, partial(function, **settings), columns


def list_unclear_refusals(name, call, columns):
    """What is not refused, or by a message that names nothing of the user's."""
    known = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in [name, *WORDS])
    for argument, column in columns.items():
        for form in FORMS.keys() - VALID[argument]:
            try:
                call(**columns | {argument: FORMS[form](column)})
            except (TypeError, ValueError) as error:
                is_clear = re.search(known, str(error)) and not INTERNAL.search(str(error))
                if not is_clear:
                    yield argument, form, str(error)
            else:
                yield argument, form, "not refused"


FITS = [pytest.param(*one, id=one[0]) for one in list_fits()]
CALLS = [pytest.param(*one, id=one[0]) for one in list_functions()]
QUICKLY = {"demographic_parity_difference", "group_report", "class_report", "reliability_table"} | {
    "mean_score_difference", "gap_interval", "reweighing_weights",
}  # fmt: skip
SLOWLY = [
    one if one.id in QUICKLY else pytest.param(*one.values, id=one.id, marks=pytest.mark.slow)
    for one in CALLS
]

quiet = pytest.mark.filterwarnings("ignore")


@pytest.mark.covering(0)
@quiet
@pytest.mark.parametrize("name, fit, columns", FITS)
def test_fits_refuse_bad_input_in_terms_of_the_user(name, fit, columns):
    assert [*list_unclear_refusals(name, fit, columns)] == []


@pytest.mark.covering(0)
@quiet
@pytest.mark.parametrize("cls, method", list_methods())
def test_methods_refuse_bad_input_in_terms_of_the_user(cls, method):
    model, columns = fit_aware(cls)
    names = set(inspect.signature(getattr(cls, method)).parameters) & columns.keys()
    names -= {"sensitive_features"} if cls.__name__ in IGNORES_GROUPS else set()
    unclear = list_unclear_refusals(
        cls.__name__, getattr(model, method), {name: columns[name] for name in sorted(names)}
    )
    # Alone, X may have any number of rows, and sums may have tiny weights.
    harmless = {("X", "a row less")} if len(names) == 1 or method == "transform" else set()
    harmless |= {("sample_weight", "denormal")} if cls is FairKMeans else set()
    assert [one for one in unclear if one[:2] not in harmless] == []


def test_no_estimator_has_the_score_of_sklearn_that_takes_negative_weights():
    checked = {cls for cls, method in (one.values for one in list_methods()) if method == "score"}
    assert checked == {cls for cls in ESTIMATORS if hasattr(cls, "score")}


@quiet
@pytest.mark.parametrize("name, function, columns", SLOWLY)
def test_functions_refuse_bad_input_in_terms_of_the_user(name, function, columns):
    assert [*list_unclear_refusals(name, function, columns)] == []


def list_labelled():
    """Each call, and its arguments that hold labels: of groups, classes, strata or queries."""
    for name, call, columns in [one.values for one in (*FITS, *SLOWLY)]:
        of_labels = {"sensitive_features", "control_features", "query_id"} & columns.keys()
        if name == "class_report":
            of_labels.add("y_true")
        for argument in sorted(of_labels):
            yield pytest.param(call, argument, columns, id=f"{name}-{argument}")


@pytest.mark.covering(0)
@pytest.mark.parametrize("call, argument, columns", list_labelled())
def test_labels_like_missing_values_are_warned_of(call, argument, columns):
    labels = np.where(columns[argument] == columns[argument][0], "NA", "")
    classes = {"y", "y_true", "y_pred"} & columns.keys()
    changed = dict.fromkeys(classes if argument in classes else {argument}, labels)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(**columns | changed)
    named = {str(one.message) for one in caught if "like missing values" in str(one.message)}
    assert len(named) == len(changed)
    assert all("'', 'NA'." in one or "'NA', ''." in one for one in named)


def test_classes_like_missing_values_are_warned_of():
    with pytest.warns(UserWarning, match="Labels of y look like missing values, .*: '', 'nan'"):
        ConstrainedERMClassifier(pos_label="").fit(
            X, np.where(LABELS == 1, "", "nan"), sensitive_features=GROUPS
        )


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_unknown_values_of_parameters_are_refused_by_their_name(cls):
    estimator = cls(**QUICK.get(cls.__name__, {}))
    columns = {"X": X, "sensitive_features": GROUPS}
    if "y" in inspect.signature(cls.fit).parameters:
        columns["y"] = LABELS
    if cls is ConstrainedRankerCV:
        columns["query_id"] = COLUMNS["query_id"]
    for parameter in estimator.get_params(deep=False):
        changed = clone(estimator).set_params(**{parameter: {"no": "value"}})
        with pytest.raises((TypeError, ValueError), match=parameter) as caught:
            changed.fit(**columns)
        assert not re.search(PRIVATE, str(caught.value))


FAR = [
    (ConstrainedERMClassifier(), 1e15),
    (ConstrainedERMClassifier(group_interactions="intercept"), 1e15),
    (ConstrainedERMClassifier(group_interactions=True), 1e15),
    (PartialParityClassifier(), 1e15),
    (ConstrainedERMRegressor(), 1e15),
    (PartialParityRegressor(), 1e15),
    (ConstrainedMLPClassifier(hidden_layer_sizes=(4,)), 1e11),
    (ConstrainedRanker(), 1e11),
]
"""Models of X as passed, and a shift of its columns that leaves few digits of their products."""


@pytest.mark.parametrize("model, shift", FAR, ids=str)
def test_columns_that_predictions_would_round_are_refused(model, shift):
    query = {"query_id": COLUMNS["query_id"]} if isinstance(model, ConstrainedRanker) else {}
    with pytest.raises(ValueError, match=r"Columns of X must vary .* column \d"):
        model.fit(X + shift, LABELS, sensitive_features=GROUPS, **query)


@pytest.mark.parametrize("factor", [1e-156, 1e-300])
@pytest.mark.parametrize("model", [one for one, _ in FAR], ids=str)
def test_columns_whose_squares_are_lost_are_refused(model, factor):
    query = {"query_id": COLUMNS["query_id"]} if isinstance(model, ConstrainedRanker) else {}
    tiny = np.c_[X[:, 0], np.ones(N_SAMPLES), factor * X[:, 1]]
    for features in (tiny, sparse.csr_array(tiny)):
        with pytest.raises(ValueError, match="Columns of X must vary by 1e-140, .* column 2"):
            model.fit(features, LABELS, sensitive_features=GROUPS, **query)


@quiet
@pytest.mark.parametrize("interactions", [False, "intercept", True])
def test_columns_that_differ_by_rounding_alone_do_not_decide(interactions):
    model = ConstrainedERMClassifier(group_interactions=interactions)
    model.fit(np.c_[X[:, 0] + 1e17, X[:, 1]], LABELS, sensitive_features=GROUPS)
    coef = model.group_coef_ if interactions is True else model.coef_
    assert (coef[:, 0] == 0.0).all() and (coef[:, 1] != 0.0).all()


def test_messages_say_where_the_entry_is():
    fit = ConstrainedERMClassifier().fit
    with pytest.raises(ValueError, match="sample_weight must hold numbers, .* 'one' in row 4;"):
        fit(X, LABELS, sensitive_features=GROUPS, sample_weight=put("one", np.ones(N_SAMPLES)))
    with pytest.raises(TypeError, match="X must hold numbers, .* <NA> in row 4 of column 0;"):
        fit(put(pd.NA, X), LABELS, sensitive_features=GROUPS)
    with pytest.raises(ValueError, match="y must hold a value or label .* holds None in row 4"):
        fit(X, put(None, LABELS), sensitive_features=GROUPS)
    model = fit(X, LABELS, sensitive_features=GROUPS)
    with pytest.raises(ValueError, match=r"X has text in 1 column\(s\): 0"):
        model.predict(put("x", X))


def test_weights_that_are_products_may_be_tiny_and_those_that_are_squared_not_huge():
    tiny = {"sample_weight": np.full(N_SAMPLES, 1e-300), "sensitive_features": GROUPS}
    ranker = ConstrainedRanker().fit(X, LABELS, query_id=COLUMNS["query_id"], **tiny)
    assert ranker.constraint_violation_ == 0.0
    with pytest.raises(ValueError, match="The squares of sample_weight must add up to a finite"):
        FairKMeans(2).fit(X, sensitive_features=GROUPS, sample_weight=np.full(N_SAMPLES, 1e300))


def test_a_constraint_of_another_estimator_is_close_to_a_known_one():
    with pytest.raises(ValueError, match=r"Did you mean 'partial_statistical_parity'\?"):
        PartialParityClassifier("statistical_parity").fit(X, LABELS, sensitive_features=GROUPS)


def test_results_are_made_by_keywords_alone():
    report = Audit.from_predictions(LABELS, LABELS, sensitive_features=GROUPS)
    kinds = {type(report.report()), type(report.certify(DemographicParity(tolerance=0.5)))}
    for kind in kinds:
        with pytest.raises(TypeError, match="takes 1 positional argument but 3 were given"):
            kind(LABELS, LABELS)


# Refusals that name the way out ----------------------------------------------------------


class NoCells(Constraint):
    """A constraint whose author forgot to say what is compared."""


class Graph:
    """A graph as networkx has them, which numpy takes for a single number."""

    def number_of_nodes(self):
        return N_SAMPLES


def fit_spectral(X=X, **settings):
    pairs = {name: settings.pop(name) for name in ("must_link", "cannot_link") if name in settings}
    model = FairSpectralClustering(3, random_state=0, **settings)
    return model.fit(X, sensitive_features=GROUPS, **pairs)


def fit_constraint(constraint):
    return ConstrainedERMClassifier(constraint).fit(X, LABELS, sensitive_features=GROUPS)


CHAIN = [(row, row + 1) for row in range(N_SAMPLES - 1)]
DISTANCES = np.abs(X[:, :1] - X[:, 0])
WAYS_OUT = {
    "bound by group": (
        lambda: fit_constraint(MinimumRate("recall", {"rural": 0.5})),
        "'bound' parameter of MinimumRate must be a float",
    ),
    "constraint without cells": (
        lambda: fit_constraint(NoCells()),
        r"NoCells.cells returned None. Define cells\(self, samples\)",
    ),
    "graph": (
        lambda: fit_spectral(Graph(), affinity="precomputed"),
        "it is a Graph. Pass networkx.to_scipy_sparse_array",
    ),
    "pairs that join all samples": (
        lambda: fit_spectral(must_link=CHAIN),
        "must_link joins the samples to 1 sets, but n_clusters=3 and 2 groups need at least 4",
    ),
    "pairs of different lengths": (
        lambda: fit_spectral(must_link=[(1, 2), (3,)]),
        "must_link must have two row numbers in each line.* different lengths",
    ),
    "function": (
        lambda: ConstrainedClassifierCV(lambda X: X).fit(X, LABELS, sensitive_features=GROUPS),
        "Of a function pass its values as a column of X, with skfair.preprocessing.ScoreColumn",
    ),
}
"""Calls that are refused, and what the message says."""


@quiet
@pytest.mark.parametrize("name", WAYS_OUT)
def test_refusals_name_the_way_out(name):
    call, message = WAYS_OUT[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@quiet
def test_as_many_units_as_clusters_and_groups_need_are_enough():
    pairs = [(row, row + 1) for row in range(N_SAMPLES - 4)]
    assert len(set(fit_spectral(must_link=pairs).labels_)) <= 3


@quiet
def test_similarities_with_a_diagonal_are_no_distances():
    affinity = DISTANCES.max() - DISTANCES
    assert fit_spectral(affinity, affinity="precomputed").labels_.shape == (N_SAMPLES,)
    # An edge that is missing, as in most graphs.
    graph = DISTANCES.copy()
    graph[0, 1] = graph[1, 0] = 0.0
    assert fit_spectral(graph, affinity="precomputed").labels_.shape == (N_SAMPLES,)


def test_a_conformal_model_names_the_report_that_it_has():
    with pytest.raises(AttributeError, match="no constraint_report_; it has coverage_report_"):
        _ = ConformalClassifier().constraint_report_
