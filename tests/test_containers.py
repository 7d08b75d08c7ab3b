"""Every public call gives equal results for a column in any container, or refuses it by its name.

Each role (X, y, groups, weights, scores, ...) is passed in one container at a time.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

from skfair import plotting
from skfair.audit import Audit, Outcomes, SensitiveFeatures, fairness_front
from skfair.classification import ConstrainedERMClassifier, suggest_interval
from skfair.cluster import FairKMeans, FairKMedoids, cluster_front, fair_embedding
from skfair.metrics import (
    GroupMetric,
    expected_calibration_error,
    flip_rate,
    get_scorer,
    group_report,
    make_scorer,
    normalized_cut,
)
from skfair.model_selection import fit_ladder
from skfair.monitoring import GapMonitor
from skfair.preprocessing import ScoreColumn
from skfair.ranking import rerank
from tests.test_common import ESTIMATORS, PUBLIC
from tests.test_read_only import COLUMNS_OF_FITS, assert_same, fit_and_predict
from tests.test_refusals import COLUMNS as VALID
from tests.test_refusals import LABELS, SCORES, X, list_functions

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def name_columns(table):
    return pd.DataFrame(table, columns=[f"column {i}" for i in range(np.shape(table)[1])])


def widen_indices(table):
    matrix = sparse.csr_array(table)
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


TABLES = {
    "list": np.ndarray.tolist,
    "Fortran order": np.asfortranarray,
    "nullable": lambda table: name_columns(table).convert_dtypes(),
    "pandas with Arrow": lambda table: name_columns(table).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda table: pl.DataFrame(name_columns(table)),
    "polars, lazy": lambda table: pl.DataFrame(name_columns(table)).lazy(),
    "pyarrow": lambda table: pa.table(name_columns(table)),
    "rows, indices of 64 bits": widen_indices,
    "columns": sparse.csc_matrix,
    "coordinates": sparse.coo_array,
}
"""Containers of a table of numbers."""

COLUMNS = {
    "list": np.ndarray.tolist,
    "tuple": tuple,
    "objects": lambda column: column.astype(object),
    "one column": lambda column: column[:, np.newaxis],
    "nullable": lambda column: pd.Series(column).convert_dtypes(),
    "pandas with Arrow": lambda column: pd.Series(column).convert_dtypes(dtype_backend="pyarrow"),
    "categorical": lambda column: pd.Series(column).astype("category"),
    "pandas, one column": lambda column: pd.DataFrame({"name": column}),
    "polars": pl.Series,
    "polars, one column": lambda column: pl.DataFrame({"name": column}),
    "polars, lazy": lambda column: pl.DataFrame({"name": column}).lazy(),
    "pyarrow": pa.array,
    "pyarrow, chunks": lambda column: pa.chunked_array([column[:20], column[20:]]),
    "pyarrow, one column": lambda column: pa.table({"name": column}),
}
"""Containers of a column."""

REFUSED = {
    ("y", "objects"): "Unknown label type: y holds numbers",
    ("codes", "polars, lazy"): "X must be in memory",  # the parameter that takes them
    ("sample_weight", "one column"): "sample_weight must be 1D",
    ("sample_weight", "pandas, one column"): "sample_weight must be 1D",
    ("sample_weight", "polars, one column"): "sample_weight must be 1D",
    ("sample_weight", "pyarrow, one column"): "sample_weight must be 1D",
    **{
        ("y_pred", f"{of}one column"): "y_pred must hold labels, or sets"
        for of in ("", "pandas, ", "polars, ", "pyarrow, ")
    },
}
"""What may be refused, and how the refusal begins or goes on."""

SPARSE = {"rows, indices of 64 bits", "columns", "coordinates"}


def check_containers(call, columns):
    """Differences, errors of other libraries, and refusals that are not listed."""
    expected = call(columns)
    of_sparse = None
    problems = []
    for role, column in columns.items():
        containers = TABLES if column.ndim == 2 else COLUMNS
        for container, make in containers.items():
            words = [REFUSED.get((role, container), f"{role} must be in memory")]
            if container in SPARSE:
                words = ["Sparse data was passed"]
            if role == "X":
                words.append("X must be a DataFrame of pandas or a dense array in memory")
            try:
                if container in SPARSE and of_sparse is None:
                    of_sparse = call(columns | {role: sparse.csr_array(column)})
                got = call(columns | {role: make(column)})
            except (ValueError, TypeError) as error:
                if not any(one in str(error) for one in words):
                    problems.append((role, container, error))
                continue
            if "lazy" in container:
                problems.append((role, container, "taken"))
                continue
            try:
                compare(got, of_sparse if container in SPARSE else expected)
            except AssertionError as error:
                problems.append((role, container, error))
    return problems


def compare(got, expected):
    """Raise unless results are equal, but for names of columns and the type of labels."""
    if isinstance(expected, dict):
        left_out = {"feature_names_in_", "pos_label_"}
        got, expected = (
            {name: one for name, one in each.items() if name not in left_out}
            for each in (got, expected)
        )
    if isinstance(expected, dict | float | int | np.ndarray | pd.DataFrame | pd.Series):
        assert_same(got, expected)
    else:
        assert repr(got) == repr(expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "function, columns", [pytest.param(*one[1:], id=one[0]) for one in list_functions()]
)
def test_functions_take_columns_in_any_container(function, columns):
    columns = {name: np.asarray(column) for name, column in columns.items()}
    assert check_containers(lambda passed: function(**passed), columns) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_estimators_take_columns_in_any_container(cls):
    columns = {name: np.asarray(one) for name, one in COLUMNS_OF_FITS[cls.__name__].items()}
    assert check_containers(lambda passed: fit_and_predict(cls, passed), columns) == []


MODEL = LogisticRegression().fit(X, LABELS)
AUDITED = {"y_true": LABELS, "y_pred": LABELS, "sensitive_features": VALID["sensitive_features"]}
FITTED = ConstrainedERMClassifier(tolerance=0.2)
AFFINITY = np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=-1))
FAR = ((X[:, np.newaxis] - X) ** 2).sum(axis=-1)
NEIGHBOURS = (FAR <= np.sort(FAR, axis=1)[:, [12]]).astype(float)


def predict_by_all(models):
    return np.array([one.predict(X) for one in models])


def write(table):
    """A table as text; a column of groups that has a name is another attribute."""
    return table.drop(columns="attribute", errors="ignore").round(9).to_csv()


def monitor(**columns):
    one = GapMonitor("equal_opportunity", 0.5)
    one.update(columns.pop("y_true"), columns.pop("y_pred"), **columns)
    return write(one.summary())


def score(scorer):
    return lambda **columns: scorer(MODEL, columns.pop("X"), columns.pop("y"), **columns)


def draw(display):
    """The numbers that a display shows."""
    pytest.importorskip("matplotlib").use("agg")

    def call(**columns):
        shown = display.from_predictions(**columns)
        tables = [one for one in vars(shown).values() if isinstance(one, pd.DataFrame | np.ndarray)]
        return repr([np.asarray(one) for one in tables])

    return call


GROUPED = ("sensitive_features", "sample_weight")
PREDICTED = ("y_true", "y_pred")
DOORS = {
    "Audit.from_predictions": (
        lambda **columns: write(Audit.from_predictions(**columns).report().frame),
        (*PREDICTED, "y_score", *GROUPED),
    ),
    "Audit.from_estimator": (
        lambda **columns: write(Audit.from_estimator(MODEL, **columns).report().frame),
        ("X", "y", *GROUPED),
    ),
    "Audit.compare": (
        lambda after: write(Audit.from_predictions(**AUDITED).compare(after).gaps),
        ("after",),
    ),
    "Audit.alternatives": (
        lambda candidates: write(
            Audit.from_predictions(**AUDITED)
            .alternatives({"other": candidates}, margin=0.2)
            .to_frame()
        ),
        ("candidates",),
    ),
    "SensitiveFeatures": (
        lambda y_pred, sensitive_features: write(
            Audit.from_predictions(
                LABELS, y_pred, sensitive_features=SensitiveFeatures(sensitive_features)
            )
            .report()
            .frame
        ),
        ("y_pred", "sensitive_features"),
    ),
    "Outcomes": (
        lambda y_true, y_pred, sensitive_features, decided: write(
            Audit.from_predictions(
                Outcomes(y_true, decided=decided), y_pred, sensitive_features=sensitive_features
            )
            .report()
            .frame
        ),
        (*PREDICTED, "sensitive_features", "decided"),
    ),
    "fairness_front": (
        lambda **columns: write(fairness_front(MODEL, cv=2, **columns).to_frame()),
        ("X", "y", *GROUPED),
    ),
    "suggest_interval": (
        lambda **columns: suggest_interval(width=0.2, **columns),
        ("y_score", *GROUPED),
    ),
    "cluster_front": (
        lambda **columns: vars(cluster_front(FairKMeans(2, random_state=0), n_levels=3, **columns))[
            "balance"
        ],
        ("X", *GROUPED),
    ),
    "fair_embedding": (
        lambda **columns: np.abs(fair_embedding(n_components=2, random_state=0, **columns)[0]),
        ("affinity", "sensitive_features"),
    ),
    "FairKMedoids.fit with connectivity": (
        lambda **columns: FairKMedoids(2, random_state=0).fit(**columns).labels_,
        ("X", "sensitive_features", "connectivity"),
    ),
    "GroupMetric": (
        lambda y_true, y_pred, **columns: group_report(
            y_true, y_pred, metrics=[GroupMetric(accuracy_score)], **columns
        ),
        (*PREDICTED, *GROUPED),
    ),
    "expected_calibration_error": (
        expected_calibration_error,
        ("y_true", "y_proba", "sample_weight"),
    ),
    "get_scorer": (score(get_scorer("neg_demographic_parity_difference")), ("X", "y", *GROUPED)),
    "make_scorer": (
        score(make_scorer("recall", transform="difference")),
        ("X", "y", *GROUPED),
    ),
    "flip_rate": (lambda codes: flip_rate(MODEL, codes, column=0), ("codes",)),
    "normalized_cut": (normalized_cut, ("labels", "affinity")),
    "fit_ladder": (
        lambda **columns: predict_by_all(fit_ladder(FITTED, values=(0.5, None), **columns)),
        ("X", "y", *GROUPED),
    ),
    "GapMonitor": (monitor, (*PREDICTED, *GROUPED)),
    "ScoreColumn": (lambda X: ScoreColumn(0).fit(X, LABELS).predict(X), ("X",)),
    "rerank": (
        lambda **columns: rerank(k=4, minimum={0: 2}, **columns),
        ("scores", "query_id", "sensitive_features"),
    ),
    "rerank of prefixes": (
        lambda **columns: rerank(k=4, maximum={0: [1, 1, 2, 2]}, **columns),
        ("scores", "query_id", "sensitive_features"),
    ),
    "GroupRateDisplay": (draw(plotting.GroupRateDisplay), (*PREDICTED, *GROUPED)),
    "GroupRateCurveDisplay": (draw(plotting.GroupRateCurveDisplay), ("y_score", *GROUPED)),
    "GroupCalibrationDisplay": (
        draw(plotting.GroupCalibrationDisplay),
        ("y_true", "y_proba", *GROUPED),
    ),
    "ScoreDistributionDisplay": (draw(plotting.ScoreDistributionDisplay), ("y_score", *GROUPED)),
    "ClusterCompositionDisplay": (
        draw(plotting.ClusterCompositionDisplay),
        ("labels", "sensitive_features"),
    ),
}
"""Further calls that take columns, and the names of these; the first word is a public name."""

VALID = VALID | {
    "after": LABELS[::-1],
    "codes": np.round(X),
    "decided": LABELS[::-1],
    "candidates": LABELS[::-1],
    "scores": SCORES,
    "affinity": AFFINITY,
    "connectivity": NEIGHBOURS,
}

NO_COLUMNS = {
    "skfair.constraints": "Constraints hold hyper-parameters; estimators and audits pass samples.",
    "skfair.solvers": "Solvers see problems, never data.",
    "skfair.losses": "Losses are functions of arrays that fits make.",
    "skfair.surrogates": "Surrogates are functions of arrays that fits make.",
    "skfair.datasets": "Datasets are read or drawn.",
    "skfair.exceptions": "Exceptions are raised.",
    "skfair.callbacks": "Callbacks are passed iterates.",
    "skfair.torch": "Modules and terms take tensors of PyTorch.",
    "skfair.groups": "Samples are made by the package, for constraints of one's own.",
    **dict.fromkeys(["DCADMM", "SFSC", "AlternatingSwaps", "Homotopy"], "Settings of a method."),
    **dict.fromkeys(
        ["Alternatives", "AlternatingFront", "Claim", "FairnessFront", "FairnessReport"]
        + ["ParetoFront", "ParetoFrontDisplay"],
        "Results that functions return.",
    ),
    **dict.fromkeys(["certify_in_order", "verify"], "Audits are passed, which have the columns."),
    **dict.fromkeys(["get_metric_names", "get_scorer_names", "best_subject_to"], "Names alone."),
    "Rate": "A formula of counts.",
    "check_onnx": "A runtime is passed the columns that predict is passed.",
    "to_onnx": "The example states the names and types of columns, and no values are computed.",
    "required_sample_size": "Numbers alone.",
}
"""Public names, or modules of them, that take no columns, and why."""


QUICK_DOORS = {"expected_calibration_error", "get_scorer", "normalized_cut", "rerank"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "door",
    [pytest.param(one, marks=[pytest.mark.slow] * (one not in QUICK_DOORS)) for one in DOORS],
)
def test_further_calls_take_columns_in_any_container(door):
    call, names = DOORS[door]
    columns = {name: np.asarray(VALID[name]) for name in names}
    assert check_containers(lambda passed: call(**passed), columns) == []


def test_every_public_name_is_in_the_table_or_has_a_reason():
    tested = {name for name, *_ in list_functions()} | {one.__name__ for one in ESTIMATORS}
    tested |= {door.split()[0].split(".")[0] for door in DOORS}
    names = {path: path.rpartition(".") for path in PUBLIC}
    open_names = [
        path
        for path, (module, _, name) in names.items()
        if name not in tested and not {module, name} & NO_COLUMNS.keys()
    ]
    assert open_names == []
    known = {part for module, _, name in names.values() for part in (module, name)}
    assert NO_COLUMNS.keys() <= known
    assert not NO_COLUMNS.keys() & tested
