"""
Fine-tuning an image classifier under demographic parity
========================================================

This page shows how a network that recognises smiles is made to predict them equally often with and
without a hat. It learns from small drawings of faces, in which people with hats smile more often.
So the hat helps to predict the smile where the mouth is blurred, and a network that is trained for
accuracy alone uses it. After fine-tuning by :class:`~skfair.torch.ConstrainedTorchClassifier`, it
predicts "smile" equally often with and without a hat. This is a small version of the experiment
with CelebA in [1]_, on generated pictures.

The page needs PyTorch (``pip install torch``). Without it the gallery shows the code but
does not run it.
"""


# %%
# The figures
# -----------
# Sixteen by sixteen pixels, blurred and noisy. 70 % of the faces with a hat smile, and 40 % of the
# others.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter
from torch import nn

from skfair.metrics import demographic_parity_difference
from skfair.solvers import AdamPrimalDual
from skfair.torch import ConstrainedTorchClassifier

SIZE = 16


def draw_faces(n_faces, seed):
    """Pictures (n_faces, 1, 16, 16), and indicators of a smile and of a hat."""
    rng = np.random.default_rng(seed)
    hat = rng.random(n_faces) < 0.5
    smiles = rng.random(n_faces) < np.where(hat, 0.7, 0.4)
    faces = np.zeros((n_faces, SIZE, SIZE))
    faces[:, 5:7, [5, 10]] = 1.0  # the eyes
    faces[hat, 1:4, 4:12] = 0.6
    # The corners of the mouth go up or down by random amounts.
    corners = 11 + np.rint(np.where(smiles, -1, 1) + rng.normal(scale=0.9, size=n_faces))
    for column in (5, 6, 9, 10):
        faces[np.arange(n_faces), np.clip(corners, 9, 13).astype(int), column] = 1.0
    faces[:, 11, 7:9] = 1.0
    faces = gaussian_filter(faces, (0, 0.7, 0.7))
    return (faces + rng.normal(scale=0.12, size=faces.shape))[:, np.newaxis], smiles, hat


train = draw_faces(3000, seed=0)
test = draw_faces(6000, seed=1)


# %%
# A plain network, and the same one fine-tuned
# --------------------------------------------
# Training starts from the parameters of the module. So the fair network starts from the plain one,
# and reduces its use of the hat in a few epochs. The final fit of the last layer meets the
# tolerance on the training pictures. On test pictures the gap differs by sampling noise.


def network():
    """Two convolutions and two layers on top."""
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 1)),
    )


X, y, hat = train
plain = ConstrainedTorchClassifier(network, None, solver=AdamPrimalDual(max_iter=5), random_state=0)
plain.fit(X, y, sensitive_features=hat)
fair = ConstrainedTorchClassifier(
    plain.module_, tolerance=0.02, solver=AdamPrimalDual(max_iter=4), random_state=0
)
fair.fit(X, y, sensitive_features=hat)

models = {"plain": plain, "fine-tuned": fair}
rows = []
for name, model in models.items():
    for part, (faces, smile, wears) in {"training": train, "test": test}.items():
        decisions = model.predict(faces)
        gap = demographic_parity_difference(smile, decisions, sensitive_features=wears)
        rows.append(
            {"network": name, "pictures": part, "accuracy": np.mean(decisions == smile), "gap": gap}
        )
table = pd.DataFrame(rows)
print(table.round(3).to_string(index=False))

# %%
# The figure
# ----------
# Proportion of test pictures with a score above a threshold, without a hat (horizontal axis) and
# with a hat (vertical axis), for every threshold. Circles are at the threshold of the decisions,
# the only one that is constrained.

faces, smile, wears = test
figure = plt.figure(figsize=(8.2, 4.0), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.2))
cases = [(wearing, smiling) for wearing in (False, True) for smiling in (False, True)]
for ax, (wearing, smiling) in zip(left.subplots(2, 2).ravel(), cases, strict=True):
    one = np.flatnonzero((wears == wearing) & (smile == smiling))[0]
    ax.imshow(faces[one, 0], cmap="gray_r")
    ax.set_title(("hat, " if wearing else "no hat, ") + ("smile" if smiling else "no smile"))
    ax.set_axis_off()

ax = right.subplots()
for (name, model), color in zip(models.items(), ("#C77700", "#0072B2"), strict=True):
    scores = model.decision_function(faces)
    thresholds = np.append(np.quantile(scores, np.linspace(0, 1, 201)), 0.0)
    rates = [[np.mean(scores[wears == group] > t) for t in thresholds] for group in (0, 1)]
    without, with_hat = np.array(rates)
    ax.plot(without[:-1], with_hat[:-1], color=color, label=name)
    ax.plot(without[-1], with_hat[-1], "o", color=color)
ax.plot([0, 1], [0, 1], ":", color="gray", label="equal rates")
ax.set(xlabel='rate of "smile" without a hat', ylabel='rate of "smile" with a hat', aspect="equal")
ax.legend(loc="lower right", frameon=False)
before, after = table.query("pictures == 'test'").to_dict("records")
cost = 100 * (before["accuracy"] - after["accuracy"])
gaps = f"{before['gap']:.2f} to {after['gap']:.2f}"
ax.set_title(f"A gap of {gaps} for {cost:.1f} points", loc="left")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
#    percentiles by difference-of-convex constraints", arXiv:2505.12530, appendix G.9.
