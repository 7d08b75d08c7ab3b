"""Conditional demographic parity in fits: the strata are those of the training samples."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV

from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import DemographicParity
from skfair.metrics import demographic_parity_difference

N_SAMPLES = 600
RNG = np.random.default_rng(0)
GROUPS = RNG.integers(2, size=N_SAMPLES)
DEGREE = np.where(RNG.random(N_SAMPLES) < 0.3 + 0.3 * GROUPS, 1.0, 0.0)
X = pd.DataFrame({"skill": RNG.normal(size=N_SAMPLES) + 0.8 * GROUPS, "degree": DEGREE})
Y = (X["skill"] + X["degree"] + RNG.normal(size=N_SAMPLES) > 1).to_numpy().astype(int)


def gap(model, X, y, groups):
    return demographic_parity_difference(
        y, model.predict(X), sensitive_features=groups, control_features=X["degree"]
    )


def model(strata="degree", tolerance=0.02, **params):
    return ConstrainedERMClassifier(
        DemographicParity(control_features=strata), tolerance=tolerance, **params
    )


def test_the_gap_within_each_stratum_keeps_the_tolerance():
    fitted = model().fit(X, Y, sensitive_features=GROUPS)
    assert gap(fitted, X, Y, GROUPS) <= 0.02 + 1e-12
    plain = ConstrainedERMClassifier(None).fit(X, Y, sensitive_features=GROUPS)
    assert gap(plain, X, Y, GROUPS) > 0.2
    selected = fitted.predict(X)
    assert selected[GROUPS == 1].mean() - selected[GROUPS == 0].mean() > 0.05
    assert fitted.constraint_report_["event"].unique().tolist() == ["stratum 0.0", "stratum 1.0"]


def test_samples_without_weight_do_not_change_the_strata():
    """They come first: strata that are not indexed by the positive weights would be shifted."""
    absent = pd.DataFrame({"skill": np.zeros(200), "degree": np.tile([1.0, 0.0], 100)})
    weights = np.repeat([0.0, 1.0], [200, N_SAMPLES])
    weighted = model().fit(
        pd.concat([absent, X], ignore_index=True),
        np.r_[np.tile([0, 1], 100), Y],
        sensitive_features=np.r_[np.tile([0, 0, 1, 1], 50), GROUPS],
        sample_weight=weights,
    )
    alone = model().fit(X, Y, sensitive_features=GROUPS)
    np.testing.assert_allclose(weighted.coef_, alone.coef_, rtol=1e-9)
    assert gap(weighted, X, Y, GROUPS) <= 0.02 + 1e-12
    pd.testing.assert_frame_equal(
        weighted.constraint_report_, alone.constraint_report_, check_exact=False
    )


@pytest.mark.covering(0)
@pytest.mark.parametrize("strata", ["degree", 1, lambda X: X["degree"] > 0.5])
def test_cross_validation_indexes_the_strata(strata):
    class ScoredByGap(ConstrainedERMClassifier):
        """A classifier whose score is zero where the report has the gap of its fold."""

        def score(self, X, y, *, sensitive_features=None):
            return -abs(self.constraint_report_["gap"].max() - self.fold_gap_)

        def fit(self, X, y, *, sensitive_features=None, sample_weight=None):
            super().fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
            self.fold_gap_ = gap(self, X, y, sensitive_features)
            return self

    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ScoredByGap(DemographicParity(control_features=strata)),
            {"tolerance": [0.02, 0.1]},
            cv=3,
            error_score="raise",
        )
        search.fit(X, Y, sensitive_features=GROUPS)
    assert search.cv_results_["mean_test_score"] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_a_mask_of_all_samples_is_refused_in_a_fold():
    class Closed(DemographicParity):
        def cells(self, samples):
            return {"degree": DEGREE > 0}

    with pytest.raises(ValueError, match=r"shape \(300,\).*shape \(600,\).*of its own fold"):
        ConstrainedERMClassifier(Closed()).fit(X[:300], Y[:300], sensitive_features=GROUPS[:300])
