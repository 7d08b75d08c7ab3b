"""
A constraint in a PyTorch training loop, and in the last layer
==============================================================

This page adds demographic parity to a PyTorch training loop, with its optimiser and DataLoader, by
a :class:`~skfair.torch.ConstraintTerm` of the loss. All layers learn to lower the gap, and the
training ends near the tolerance, but not below it.
``ConstrainedTorchClassifier(module, solver=None)`` then fits the last layer again, which keeps it.

The page needs PyTorch (``pip install torch``). Without it the gallery shows the code but
does not run it.
"""

# sphinx_gallery_thumbnail_path = '_static/loop_torch.png'

# %%
# Loan applicants
# ---------------
# Income, debt and years of employment of generated applicants. Whether they pay back depends on
# income and debt in a way that no linear model can represent.

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from skfair.metrics import demographic_parity_difference
from skfair.torch import ConstrainedTorchClassifier, ConstraintTerm

TOLERANCE, N_EPOCHS = 0.03, 15


def draw_applicants(n, seed):
    """Columns, whether the loan is paid back, and sex."""
    rng = np.random.default_rng(seed)
    male = rng.random(n) < 0.6
    income = rng.normal(size=n) + 0.8 * male
    debt, years = rng.normal(size=(2, n)) + [[0.0], [0.5]] * male
    repaid = income - 1.5 * income * debt + 0.5 * years + rng.logistic(size=n) > 0.3
    return np.column_stack((income, debt, years)).astype(np.float32), repaid, male


X, y, male = draw_applicants(4000, seed=0)
X_test, y_test, male_test = draw_applicants(8000, seed=1)


# %%
# The loop
# --------
# One line is new, the term, and one is changed, which adds it to the loss.


def train(tolerance):
    """A module, and the gap of its decisions on the training samples after each epoch."""
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1)
    )
    optimizer = torch.optim.Adam(module.parameters(), lr=3e-3)
    term = ConstraintTerm("demographic_parity", y, male, tolerance=tolerance)
    columns = torch.as_tensor(X), torch.as_tensor(y), torch.as_tensor(male)
    gaps = []
    for _ in range(N_EPOCHS):
        for inputs, target, groups in DataLoader(TensorDataset(*columns), 256, shuffle=True):
            scores = module(inputs)[:, 0]
            loss = nn.functional.binary_cross_entropy_with_logits(scores, target.float())
            loss = loss + term(scores, target, groups)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        gaps.append(demographic_parity_difference(y, decide(module, X), sensitive_features=male))
    return module, gaps


def decide(module, samples):
    """Decisions of a module."""
    with torch.no_grad():
        return module(torch.as_tensor(samples))[:, 0].numpy() > 0


plain, plain_gaps = train(tolerance=1.0)
in_loop, loop_gaps = train(TOLERANCE)

# %%
# The last layer
# --------------
# ``module_`` is a copy of the module with another last layer.

last = ConstrainedTorchClassifier(in_loop, tolerance=TOLERANCE, solver=None)
enforced = last.fit(X, y, sensitive_features=male).module_
modules = {"plain": plain, "constraint in the loop": in_loop, "and last layer": enforced}
for name, module in modules.items():
    gaps = [
        demographic_parity_difference(target, decide(module, samples), sensitive_features=groups)
        for samples, target, groups in ((X, y, male), (X_test, y_test, male_test))
    ]
    accuracy = np.mean(decide(module, X_test) == y_test)
    print(f"{name:24}training gap {gaps[0]:.3f}, test gap {gaps[1]:.3f}, accuracy {accuracy:.3f}")

# %%
# The figure
# ----------
# Gap of the decisions on the training samples after each epoch. The dot is the last layer.

epochs = np.arange(1, N_EPOCHS + 1)
end = demographic_parity_difference(y, decide(enforced, X), sensitive_features=male)
figure, ax = plt.subplots(figsize=(7.0, 3.8), layout="constrained")
ax.plot(epochs, plain_gaps, color="#C77700", label="plain loop")
ax.plot(epochs, loop_gaps, color="#0072B2", label="constraint in the loop")
ax.plot(N_EPOCHS + 1, end, "o", color="#0072B2", label="last layer")
ax.axhline(TOLERANCE, color="gray", linestyle=":", label="tolerance")
ax.set(xlabel="epoch", ylabel="gap on the training samples", ylim=(0, None))
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=4, frameon=False)
_ = ax.set_title(
    f"A gap of {plain_gaps[-1]:.2f} falls to {loop_gaps[-1]:.3f}, then to {end:.3f}", loc="left"
)
