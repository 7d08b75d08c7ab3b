"""Names of solvers, constraints, losses, ...: entries added later count, and typos are answered."""

import re

import numpy as np
import pytest

from skfair.classification import ConstrainedERMClassifier, ConstrainedMLPClassifier
from skfair.cluster import FairKMeans, FairSpectralClustering, fair_embedding
from skfair.constraints import CONSTRAINTS, DemographicParity, MeanParity, PartialStatisticalParity
from skfair.losses import LOSSES, LogisticLoss
from skfair.metrics import METRICS, demographic_parity_difference, get_scorer
from skfair.regression import ConstrainedERMRegressor
from skfair.solvers import PLADA, SOLVERS, SQP, AdamPrimalDual


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    groups = np.arange(120) % 2
    X = rng.normal(size=(120, 2)) + groups[:, np.newaxis]
    return X, (X[:, 0] + rng.normal(size=120) > 0.5).astype(int), groups


class Recorded(SQP):
    """A solver that counts its calls."""

    n_calls = 0

    def iterate(self, *args, **kwargs):
        type(self).n_calls += 1
        return super().iterate(*args, **kwargs)


def test_a_solver_added_later_is_used_by_name(data, monkeypatch):
    X, y, groups = data
    monkeypatch.setitem(SOLVERS, "recorded", Recorded)
    ConstrainedERMClassifier(solver="recorded").fit(X, y, sensitive_features=groups)
    after_classifier = Recorded.n_calls
    ConstrainedERMRegressor(solver="recorded").fit(X, y, sensitive_features=groups)
    assert 0 < after_classifier < Recorded.n_calls


@pytest.mark.parametrize(
    "registry, entry, parameter",
    [
        (CONSTRAINTS, DemographicParity, "constraint"),
        (LOSSES, LogisticLoss, "loss"),
    ],
)
def test_what_is_added_later_equals_the_object(data, monkeypatch, registry, entry, parameter):
    X, y, groups = data
    monkeypatch.setitem(registry, "mine", entry)
    by_name, by_object = (
        ConstrainedERMClassifier(**{parameter: value}).fit(X, y, sensitive_features=groups)
        for value in ("mine", entry())
    )
    np.testing.assert_array_equal(by_name.coef_, by_object.coef_)


def test_networks_and_regressors_know_what_is_added_later(data, monkeypatch):
    X, y, groups = data
    monkeypatch.setitem(CONSTRAINTS, "mine", MeanParity)
    monkeypatch.setitem(LOSSES, "mine", LogisticLoss)
    named, plain = (
        ConstrainedERMRegressor(name).fit(X, X[:, 0], sensitive_features=groups)
        for name in ("mine", "mean_parity")
    )
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    network = ConstrainedMLPClassifier(
        "demographic_parity", loss="mine", random_state=0, solver=AdamPrimalDual(max_iter=2)
    )
    network.fit(X, y, sensitive_features=groups)
    assert network.coefs_[0].shape[0] == 2


def test_a_metric_added_later_has_a_scorer(data, monkeypatch):
    X, y, groups = data
    monkeypatch.setitem(METRICS, "mine", METRICS["demographic_parity_difference"])
    model = ConstrainedERMClassifier().fit(X, y, sensitive_features=groups)
    expected = demographic_parity_difference(y, model.predict(X), sensitive_features=groups)
    assert get_scorer("neg_mine")(model, X, y, sensitive_features=groups) == -expected


@pytest.mark.parametrize(
    "estimator, meant",
    [
        (ConstrainedERMClassifier(solver="sqpp"), "sqp"),
        (ConstrainedERMClassifier("demografic_parity"), "demographic_parity"),
        (ConstrainedERMClassifier(["demographic_paritie"]), "demographic_parity"),
        (ConstrainedERMClassifier(loss="logistik"), "logistic"),
        (ConstrainedERMClassifier(PartialStatisticalParity(surrogate="sigmoide")), "sigmoid"),
        (ConstrainedERMClassifier(DemographicParity(aggregate="maxx")), "max"),
        (ConstrainedERMClassifier(enforcement="autom"), "auto"),
        (ConstrainedERMRegressor("mean_parit"), "mean_parity"),
        (ConstrainedERMClassifier(solver=PLADA(theta_update="exakt")), "exact"),
        (FairKMeans(algorithm="homotropy"), "homotopy"),
        (FairSpectralClustering(eigen_solver="chebychev"), "chebyshev"),
        (FairSpectralClustering(assign_labels="kmean"), "kmeans"),
    ],
    ids=str,
)
def test_the_error_of_a_typo_suggests_the_name(data, estimator, meant):
    X, y, groups = data
    with pytest.raises(ValueError, match=rf"Did you mean '{meant}'\?$") as caught:
        estimator.fit(X, y, sensitive_features=groups)
    listed = re.search(r"[{\[]('.*?)[}\]]", str(caught.value))[1].split(", ")
    assert listed == sorted(listed)


def test_functions_answer_typos_too():
    graph = {"affinity": np.ones((4, 4)), "sensitive_features": [0, 1, 0, 1], "n_components": 2}
    with pytest.raises(ValueError, match=r"Did you mean 'block-lanczos'\?"):
        fair_embedding(**graph, eigen_solver="block_lanczos")
    with pytest.raises(ValueError, match=r"Did you mean 'to_overall'\?"):
        demographic_parity_difference([0, 1], [0, 1], sensitive_features=[0, 1], method="overall")


def test_what_is_like_no_name_has_no_suggestion(data):
    X, y, groups = data
    with pytest.raises(ValueError, match=r"Got 'xyzzy' instead\.$"):
        ConstrainedERMClassifier(solver="xyzzy").fit(X, y, sensitive_features=groups)
