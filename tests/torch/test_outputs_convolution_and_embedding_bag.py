"""Shapes and bounds of a convolution and of an embedding bag; their accuracy is not measured."""

import numpy as np
import pytest

from skfair.metrics import demographic_parity_difference
from skfair.solvers import AdamPrimalDual
from skfair.torch import ConstrainedTorchClassifier, ConstraintTerm
from tests.torch_device import DEVICE

torch = pytest.importorskip("torch")
nn = torch.nn


def make_convolution():
    """Scores of images of one channel and 8 x 8 pixels."""
    features = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*features, nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 1))


def make_embedding_bag():
    """Scores of bags of six of 20 words."""
    return nn.Sequential(nn.EmbeddingBag(20, 8), nn.ReLU(), nn.Linear(8, 1))


def draw_images(rng, groups, y):
    """Images that are brighter where the class is positive, or of a group."""
    X = rng.normal(scale=0.5, size=(len(y), 1, 8, 8)).astype(np.float32)
    X[:, 0, :4] += (0.3 * y + 0.3 * groups)[:, None, None]
    return X


def draw_bags(rng, groups, y):
    """Bags with more large words where the class is positive, or of a group."""
    return (rng.integers(12, size=(len(y), 6)) + 4 * y[:, None] + 4 * groups[:, None]).astype(int)


CASES = {
    "convolution": (make_convolution, draw_images),
    "embedding bag": (make_embedding_bag, draw_bags),
}


@pytest.fixture(params=CASES)
def case(request):
    """A function that makes a module, samples, classes and groups."""
    make_module, draw = CASES[request.param]
    rng = np.random.default_rng(0)
    groups, y = rng.integers(2, size=400), rng.integers(2, size=400)
    return make_module, draw(rng, groups, y), y, groups


def count_gap(model, X, y, groups):
    return demographic_parity_difference(y, model.predict(X), sensitive_features=groups)


def test_the_estimator_keeps_its_bound(case):
    make_module, X, y, groups = case
    solver = AdamPrimalDual(max_iter=3, batch_size=64)
    model = ConstrainedTorchClassifier(
        make_module, tolerance=0.05, solver=solver, device=DEVICE, random_state=0
    )
    model.fit(X, y, sensitive_features=groups)
    assert count_gap(model, X, y, groups) <= 0.05
    assert model.decision_function(X[:7]).shape == (7,)


def test_the_term_ends_in_a_last_layer_that_keeps_its_bound(case):
    make_module, X, y, groups = case
    torch.manual_seed(0)
    module = make_module().to(DEVICE)
    optimizer = torch.optim.Adam(module.parameters(), lr=5e-3)
    term = ConstraintTerm("demographic_parity", y, groups, tolerance=0.05)
    inputs, target = torch.as_tensor(X, device=DEVICE), torch.as_tensor(y, device=DEVICE)
    sex = torch.as_tensor(groups, device=DEVICE)
    for rows in torch.randperm(400).repeat(4).split(50):
        scores = module(inputs[rows])
        value = term(scores, target[rows], sex[rows])
        assert value.shape == ()
        assert value.device == scores.device
        loss = nn.functional.binary_cross_entropy_with_logits(scores[:, 0], target[rows].float())
        optimizer.zero_grad()
        (loss + value).backward()
        optimizer.step()
    assert term.multipliers[0].shape == (2,)
    last = ConstrainedTorchClassifier(module, tolerance=0.05, solver=None, device=DEVICE)
    last.fit(X, y, sensitive_features=groups)
    assert count_gap(last, X, y, groups) <= 0.05
