"""Out-of-fold fronts of accuracy and gap."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.audit import FairnessFront, fairness_front
from skfair.audit._fairness_front import _find_beaten
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import DemographicParity, MinimumRate
from skfair.metrics import (
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    group_report,
)
from skfair.statistics import gap_interval


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b", "c"], size=900)
    X = rng.normal(size=(900, 3)) + 0.8 * (groups == "a")[:, np.newaxis]
    return X, (X.sum(axis=1) + rng.logistic(size=900) > 1).astype(int), groups


def measure(*data, **settings):
    """The front as a table."""
    return fairness_front(*data, **settings).to_frame()


@pytest.mark.parametrize(
    ("constraint", "metric"),
    [
        ("demographic_parity", demographic_parity_difference),
        ("equal_opportunity", equal_opportunity_difference),
    ],
)
def test_decisions_are_those_of_cross_validation(data, constraint, metric):
    X, y, groups = data
    model = LogisticRegression()
    folds = KFold(4, shuffle=True, random_state=0)
    front = measure(model, X, y, sensitive_features=groups, constraint=constraint, cv=folds).iloc[0]
    decisions = cross_val_predict(model, X, y, cv=folds)
    assert front["accuracy"] == pytest.approx(np.mean(decisions == y))
    assert front["gap"] == pytest.approx(metric(y, decisions, sensitive_features=groups))
    assert np.isnan(front["tolerance"])


@pytest.mark.parametrize("has_weights", [False, True])
def test_numbers_are_those_of_numpy(data, has_weights):
    """Every number, to the last bits, from the decisions of two models that are fitted by hand."""
    X, y, groups = data
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 900) if has_weights else None
    folds = KFold(3, shuffle=True, random_state=1)
    model = LogisticRegression()
    options = {"sensitive_features": groups, "sample_weight": weights, "parameter": "C"}
    front = measure(model, X, y, values=[0.01, 1.0], cv=folds, **options)
    for row, C in zip(front.itertuples(), [0.01, 1.0], strict=True):
        decisions = np.zeros(900)
        for train, test in folds.split(X):
            weight = weights[train] if has_weights else None
            model = LogisticRegression(C=C).fit(X[train], y[train], sample_weight=weight)
            decisions[test] = model.predict(X[test])
        count = np.ones(900) if weights is None else weights
        rates = [
            np.average(decisions[groups == one], weights=count[groups == one]) for one in "abc"
        ]
        share = np.average(decisions == y, weights=count)
        grouped = {"sensitive_features": groups, "sample_weight": weights}
        overall = group_report(y, decisions, confidence_level=0.95, **grouped).loc["overall"]
        numbers = [C, share, overall["accuracy_low"], overall["accuracy_high"]]
        limits = gap_interval(decisions, **grouped)
        numbers += [max(rates) - min(rates), limits.low, limits.high]
        np.testing.assert_allclose(row[1:-1], numbers, rtol=1e-13, atol=1e-15)


def test_a_front_is_a_table_a_picture_and_a_page(data, tmp_path):
    X, y, groups = data
    options = {"sensitive_features": groups, "parameter": "C", "cv": 3}
    front = fairness_front(LogisticRegression(), X, y, values=[0.01, 1.0], **options)
    assert repr(front) == "<FairnessFront of 2 tolerances>"
    table = front.to_frame()
    table.loc[0, "gap"] = 5.0
    assert front.to_frame()["gap"].max() < 1.0
    # The page has each number, and an interval of each.
    page = front.to_html(tmp_path / "front.html")
    assert page == (tmp_path / "front.html").read_text(encoding="utf-8")
    for row in front.to_frame().itertuples():
        assert f"{100 * row.accuracy:.1f}" in page and f">{row.tolerance}" in page
        assert f"{100 * row.gap:.1f}" in page
    assert page.count("<svg") == 2 and "Gap in selection rate<" in page
    assert "nan" not in page
    assert "| 0.01 |" in front.to_markdown()
    assert str(front).startswith(f"{front.title}\nAccuracy is ")
    stored = json.loads(front.to_json())
    assert stored["format"] == "skfair.FairnessFront"
    assert stored["frame"]["gap"] == front.to_frame()["gap"].tolist()
    # Several models are in one picture.
    display = front.plot(name="penalised", selected=1)
    plain = fairness_front(LogisticRegression(), X, y, sensitive_features=groups)
    plain.plot(name="plain", ax=display.ax_)
    assert [text.get_text() for text in display.ax_.texts] == ["0.01", "1.0"]
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert {"penalised", "plain"} < {*names}
    assert plain.to_html().count(">none</th>") == 1
    plt.close(display.figure_)


def test_a_front_has_no_models_and_is_made_by_the_function(data):
    X, y, groups = data
    front = fairness_front(LogisticRegression(), X, y, sensitive_features=groups, cv=2)
    assert {*vars(front)} == {"frame", "constraint", "description"}
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        FairnessFront(front.frame)


@pytest.mark.parametrize(
    ("constraint", "title"),
    [
        (DemographicParity(ratio=0.8), "Ratio in selection rate<"),
        (MinimumRate("recall", 0.6), "Floor in true positive rate<"),
        ("equalized_odds", "Gap in true positive rate or false positive rate<"),
    ],
)
def test_a_page_says_what_the_gap_is(data, constraint, title):
    X, y, groups = data
    options = {"sensitive_features": groups, "constraint": constraint, "cv": 2}
    front = fairness_front(LogisticRegression(), X, y, **options)
    assert title in front.to_html()
    # One row is no range, and a ratio is no gap.
    form = title.split()[0].lower()
    number = f"{front.to_frame()['gap'].item():.3f}"
    assert f" %, and the {form} {number}. Each row is " in front.findings[0]
    assert f"The {form} is that of " in front.findings[0]


def test_intervals_contain_the_gap(data):
    X, y, groups = data
    front = measure(
        ConstrainedERMClassifier(), X, y, sensitive_features=groups, values=[0.3, 0.05], cv=3
    )
    assert front["tolerance"].tolist() == [0.3, 0.05]
    assert front["gap"][1] < front["gap"][0]
    for name in ("gap", "accuracy"):
        assert (front[f"{name}_low"] <= front[name]).all()
        assert (front[name] <= front[f"{name}_high"]).all()
    # Wilson's interval of a share of 900.
    error = np.sqrt(front["accuracy"] * (1 - front["accuracy"]) / 900)
    width = front["accuracy_high"] - front["accuracy_low"]
    np.testing.assert_allclose(width, 2 * 1.96 * error, rtol=0.01)


def test_of_a_ratio_the_front_states_the_smallest_one(data):
    X, y, groups = data
    model = ConstrainedERMClassifier(DemographicParity(ratio=0.8))
    parity = "constraint__ratio"
    front = measure(
        model, X, y, sensitive_features=groups, constraint=DemographicParity(ratio=0.8),
        parameter=parity, values=[0.3, 0.6], cv=3,
    )  # fmt: skip
    assert front["gap"][1] > front["gap"][0] + 0.2
    assert (front["gap_low"] <= front["gap"]).all() and (front["gap"] <= front["gap_high"]).all()
    folds = cross_val_predict(LogisticRegression(), X, y, cv=3)
    plain = measure(
        LogisticRegression(), X, y, sensitive_features=groups, constraint=model.constraint, cv=3
    )
    ratio = demographic_parity_ratio(y, folds, sensitive_features=groups)
    assert plain["gap"].tolist() == [pytest.approx(ratio)]


def test_a_model_without_positive_decisions_has_no_ratio(data):
    X, y, groups = data
    options = {"sensitive_features": groups, "constraint": DemographicParity(ratio=0.8), "cv": 2}
    # One logistic regression is shrunk to the prior: no sample is selected.
    y = y & (X[:, 0] > 0.3)
    front = measure(LogisticRegression(), X, y, parameter="C", values=[1e-6, 1.0], **options)
    assert np.isnan(front["gap"][0]) and front["gap"][1] > 0
    # The gap that is unknown has no picture of a value.
    unknown = fairness_front(
        LogisticRegression(), X, y, parameter="C", values=[1e-6, 1.0], **options
    )
    page = unknown.to_html()
    assert "nan" not in page and page.count('class="dot near"') == 1
    assert len(unknown.plot().line_.get_xdata()) == 1
    with pytest.raises(ValueError, match=r"ratio=0.8\) must have a value for one fit at least"):
        fairness_front(LogisticRegression(C=1e-6), X, y, **options)


def test_pipelines_name_their_parameter(data):
    X, y, groups = data
    pipeline = make_pipeline(StandardScaler(), ConstrainedERMClassifier())
    with sklearn.config_context(enable_metadata_routing=True):
        front = measure(
            pipeline,
            X,
            y,
            sensitive_features=groups,
            values=[0.05],
            parameter="constrainedermclassifier__tolerance",
            cv=2,
        )
    assert front["gap"][0] < 0.2


def test_weights_count_in_fits_and_rates(data):
    X, y, groups = data
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 900)
    model = LogisticRegression()
    folds = KFold(3)
    front = measure(model, X, y, sensitive_features=groups, sample_weight=weights, cv=folds).iloc[0]
    decisions = cross_val_predict(model, X, y, cv=folds, params={"sample_weight": weights})
    assert front["accuracy"] == pytest.approx(np.average(decisions == y, weights=weights))
    settings = {"sensitive_features": groups, "sample_weight": weights}
    assert front["gap"] == pytest.approx(demographic_parity_difference(y, decisions, **settings))


def test_of_several_classes_the_widest_gap_counts(data):
    X, y, groups = data
    y = y + (X[:, 0] > 1)
    folds = KFold(3)
    front = measure(LogisticRegression(), X, y, sensitive_features=groups, cv=folds).iloc[0]
    decisions = cross_val_predict(LogisticRegression(), X, y, cv=folds)
    gaps = [
        demographic_parity_difference(y == one, decisions == one, sensitive_features=groups)
        for one in range(3)
    ]
    assert front["gap"] == pytest.approx(max(gaps))
    assert front["accuracy"] == pytest.approx(np.mean(decisions == y))


@pytest.mark.slow
def test_the_default_is_a_grid_that_ends_without_constraint(data):
    X, y, groups = data
    options = {"sensitive_features": groups, "cv": 3}
    front = measure(ConstrainedERMClassifier(), X, y, **options)
    assert front["tolerance"].tolist() == [0.01, 0.02, 0.05, 0.1, 0.2, 1.0]
    plain = measure(ConstrainedERMClassifier(None), X, y, values=[0.5], **options)
    columns = ["accuracy", "gap"]
    pd.testing.assert_series_equal(
        front.iloc[-1][columns], plain.iloc[0][columns], check_names=False
    )
    assert front["gap"].iloc[0] < front["gap"].iloc[-1]
    # Without such a parameter there is one model.
    assert len(measure(LogisticRegression(), X, y, **options)) == 1


@pytest.mark.filterwarnings("ignore")
def test_a_wrapper_fits_its_base_once_for_all_tolerances(data, monkeypatch):
    X, y, group = (column[:300] for column in data[:3])
    fits = []
    fit = LogisticRegression.fit

    def count(self, *args, **params):
        fits.append(self)
        return fit(self, *args, **params)

    model = ConstrainedClassifierCV(
        LogisticRegression(), cv=3, group_estimator="sensitive_features"
    )
    arguments = {"sensitive_features": group, "cv": KFold(2)}
    expected = [
        fairness_front(model, X, y, values=[one], **arguments).to_frame() for one in (0.1, 0.4)
    ]
    monkeypatch.setattr(LogisticRegression, "fit", count)
    front = fairness_front(model, X, y, values=[0.1, 0.4], **arguments)
    # Calibrations have other settings.
    assert sum(one.C == 1.0 for one in fits) == 6
    pd.testing.assert_frame_equal(front.to_frame(), pd.concat(expected, ignore_index=True))


def test_errors_name_what_must_hold(data):
    X, y, groups = data
    options = {"sensitive_features": groups}
    with pytest.raises(ValueError, match="LossParity compares losses or ranks"):
        fairness_front(LogisticRegression(), X, y, constraint="loss_parity", **options)
    with pytest.raises(ValueError, match="has no parameter 'tolerance'"):
        fairness_front(LogisticRegression(), X, y, values=[0.1], **options)
    with pytest.raises(ValueError, match="but 900 are in several"):
        twice = RepeatedStratifiedKFold(n_splits=2, n_repeats=2)
        fairness_front(LogisticRegression(), X, y, cv=twice, **options)
    overlapping = [(np.arange(900), test) for _, test in KFold(3).split(X)]
    with pytest.raises(ValueError, match="300 of the 300 test rows of fold 0 of cv are among its"):
        fairness_front(LogisticRegression(), X, y, cv=overlapping, **options)
    with pytest.raises(ValueError, match="confidence_level"):
        fairness_front(LogisticRegression(), X, y, confidence_level=1.5, **options)


def test_rows_that_another_row_beats_are_marked():
    accuracy = pd.Series([0.8, 0.82, 0.82, 0.81, np.nan])
    gap = pd.Series([0.05, 0.1, 0.12, 0.1, 0.01])
    assert _find_beaten(accuracy, gap).tolist() == [False, False, True, True, False]
    # Equal rows do not beat each other.
    assert not _find_beaten(pd.Series([0.8, 0.8]), pd.Series([0.1, 0.1])).any()
    frame = pd.DataFrame(
        {
            "tolerance": [0.1, 1.0],
            **dict.fromkeys(("accuracy", "accuracy_low", "accuracy_high"), [0.8, 0.79]),
            **dict.fromkeys(("gap", "gap_low", "gap_high"), [0.05, 0.1]),
            "is_beaten": [False, True],
        }
    )
    front = FairnessFront(frame=frame, constraint=DemographicParity(), description="Two rows.")
    page = front.to_html()
    assert page.count("beaten by another row") == 1 and '<tr class="small">' in page
    assert "| 1.0 (beaten by another row) |" in front.to_markdown()
