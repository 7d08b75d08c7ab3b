r"""
Fair k-means as a smooth bi-objective problem
=============================================

The stochastic alternating bi-objective gradient method (SA2GD) of Liu and Vicente [1]_,
``skfair.solvers.literature.sa2gd_front``, alternates gradient steps on the cost of a
clustering and on its imbalance. The numbers of steps weight the two objectives. On a smooth
relaxation of fair k-means it finds several points of the trade-off, none better than those of
:func:`~skfair.cluster.cluster_front`.
"""

# %%
# The method takes two gradients. Iteration t makes :math:`n_a` steps along negative noisy gradients
# of :math:`f_a`, then :math:`n_b` along those of :math:`f_b`, all with step size
#
# .. math:: \alpha_t = \frac{2}{c\,(t + 1)\,(n_a + n_b)}, \qquad t = 0, 1, \dots
#
# If both are strongly convex with the constant c, iterates approach the minimiser of
# :math:`\lambda f_a + (1 - \lambda) f_b` with :math:`\lambda = n_a / (n_a + n_b)`, and the smallest
# expected gap of that sum among the first T iterates is O(1 / T) (Theorem 5.1 of [1]_).

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, softmax

from skfair.cluster import FairKMeans, cluster_front
from skfair.solvers.literature import sa2gd_front

# %%
# 400 samples are in two groups that overlap along the first feature. The relaxation replaces the
# label of sample p by its weight :math:`s_p = 1 / (1 + e^{-\theta_p})` in the first of two
# clusters. With :math:`n_{kj}` the total weight of group j in cluster k, the cost and a smooth
# minimum of all ratios of groups are
#
# .. math::
#
#     f_a = \sum_{p, k} s_{pk} |x_p - c_k|^2, \qquad
#     f_b = N \tau \log \sum_{k, j \ne j'} \exp\Bigl(-\frac{n_{kj}}{\tau\, n_{kj'}}\Bigr),
#
# where the centres :math:`c_k` are the means of the clusters. A small ridge term, :math:`c\,
# |\theta|^2 / 2`, is added to both. The sums remain non-convex, so the theorem does not apply here.

rng = np.random.default_rng(0)
X = rng.normal(scale=(1.5, 1.0), size=(400, 2))
groups = (rng.random(400) < expit(1.5 * X[:, 0])).astype(int)
RIDGE, TEMPERATURE, BATCH = 0.05, 0.05, 100
one_hot = np.eye(2)[groups]


def cost_slope(theta):
    """Gradient of f_a by the logits; the derivative by the optimal centres is 0."""
    weights = np.column_stack((expit(theta), expit(-theta)))
    centers = weights.T @ X / weights.sum(axis=0)[:, np.newaxis]
    first, second = ((X - center) ** 2 @ np.ones(2) for center in centers)
    return (first - second) * weights.prod(axis=1) + RIDGE * theta


def imbalance_slope(theta):
    """Gradient of f_b by the logits."""
    weights = np.column_stack((expit(theta), expit(-theta)))
    counts = weights.T @ one_hot
    ratios = counts / counts[:, ::-1]  # of each group to the other one
    slopes = softmax(-ratios / TEMPERATURE)
    # A larger count of a group raises one ratio of its cluster and lowers the other.
    by_count = slopes / counts[:, ::-1] - (slopes * ratios)[:, ::-1] / counts
    by_weight = by_count @ one_hot.T  # (clusters, samples)
    return -len(theta) * (by_weight[0] - by_weight[1]) * weights.prod(axis=1) + RIDGE * theta


def estimate_on_batches(slope):
    """Unbiased estimate of a gradient from random mini-batches."""

    def estimate(theta, random_state):
        batch = random_state.choice(len(theta), BATCH, replace=False)
        gradient = np.zeros_like(theta)
        gradient[batch] = slope(theta)[batch] * len(theta) / BATCH
        return gradient

    return estimate


# %%
# Final iterates are rounded to labels. Cost and balance are those of the labels.

ends = sa2gd_front(
    estimate_on_batches(cost_slope),
    estimate_on_batches(imbalance_slope),
    0.1 * rng.normal(size=len(X)),
    n_total=10,
    n_iter=300,
    strong_convexity=RIDGE,
    random_state=0,
)


def cost_and_balance(labels):
    """Mean squared distance to the centre, and the worst ratio of two groups in a cluster."""
    counts = np.eye(2)[labels].T @ one_hot
    cost = sum(X[labels == k].var(axis=0).sum() * (labels == k).mean() for k in range(2))
    return cost, (counts.min(axis=1) / counts.max(axis=1)).min()


points = np.array([cost_and_balance((end < 0).astype(int)) for end in ends])
front = cluster_front(FairKMeans(2, random_state=0), X, sensitive_features=groups)

# %%
# With more steps on the cost, the clustering has a lower cost and less balance. All points are on
# the front or above it.

figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
axes.plot(front.balance, front.cost, color="#0072B2", label="cluster_front")
axes.plot(points[:, 1], points[:, 0], "o", color="#D55E00", label="SA2GD, labels rounded")
for n_a, place in ((0, (8, 6)), (5, (0, -18)), (6, (10, -14)), (7, (6, -16))):
    axes.annotate(f"$n_a$ = {n_a}", points[n_a, ::-1], xytext=place, textcoords="offset points")
axes.set(xlabel="balance (smallest / largest group)", ylabel="cost (mean squared distance)")
axes.legend(loc="upper left")
axes.margins(0.1)
axes.set_title(
    "Alternating gradients reach the front, and never go below it",
    fontsize="medium",
)
plt.show()

# %%
# .. rubric:: References
#
# .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
#    clustering", LION 2022, arXiv:2105.14172, section 5.
