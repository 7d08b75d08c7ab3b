"""Objectives of spectral clustering, and the residual of its group constraint."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skfair.groups import check_groups
from skfair.utils._graph import cluster_links, group_constraint, node_degrees


def normalized_cut(labels: ArrayLike, affinity: Any) -> float:
    r"""Normalised cut of a clustering of a graph's nodes.

    .. math:: \sum_k \frac{\mathrm{cut}(C_k)}{\mathrm{vol}(C_k)}, \quad
        \mathrm{cut}(C) = \sum_{i \in C, j \notin C} K_{ij}, \quad
        \mathrm{vol}(C) = \sum_{i \in C} \sum_j K_{ij}

    Parameters
    ----------
    labels : array-like of shape (n_nodes,)
        Cluster of each node; every distinct label is a cluster.
    affinity : array-like or sparse matrix of shape (n_nodes, n_nodes), or RBFAffinity
        Symmetric and non-negative (not checked): a graph or a kernel. The diagonal counts as part
        of the volume, though never of a cut.

    Returns
    -------
    cut : float
        Between 0 (nothing connects the clusters) and the number of clusters. A cluster of isolated
        nodes, whose volume is zero, counts 0.

    Raises
    ------
    ValueError
        If the affinity is not square, or has not one row per label.

    References
    ----------
    .. [1] J. Shi and J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 22 (8), 2000.
    .. [2] F. Tonin, A. Lambert, J. Suykens and V. Cevher, "Accelerating spectral clustering under
       fairness constraints", ICML 2025.

    Examples
    --------
    >>> from skfair.metrics import normalized_cut
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> round(normalized_cut([0, 0, 1, 1], path), 3)  # 1/3 + 1/3
    0.667
    """
    affinity = _check_square(affinity)
    labels = column_or_1d(check_array(labels, ensure_2d=False, dtype=None, input_name="labels"))
    check_consistent_length(labels, affinity)
    # The cut of a cluster is its volume minus the affinity within it.
    clusters, codes = np.unique(labels, return_inverse=True)
    _, within, volumes = cluster_links(affinity, codes, len(clusters))
    cut = np.maximum(volumes - within, 0.0)
    return float(np.divide(cut, volumes, out=np.zeros(len(volumes)), where=volumes > 0).sum())


def spectral_objective(embedding, affinity):
    r"""Tr(H' M H) of an embedding H with M = D^-1/2 K D^-1/2: what spectral clustering maximises.

    Of a clustering, h_ik = sqrt(d_i / vol(C_k)) for node i in cluster k and 0 elsewhere, it is the
    number of clusters minus their normalised cut (Tonin et al., ICML 2025).
    """
    affinity = _check_square(affinity)
    H = _check_embedding(embedding, affinity)
    degrees, _ = node_degrees(affinity)
    # Tr(H' M H) = sum of T * (K T), with T = D^-1/2 H.
    T = H / np.sqrt(degrees)[:, None]
    return float(np.sum(T * (affinity @ T)))


def group_constraint_residual(embedding, affinity, *, sensitive_features):
    r"""Norm of C'H: residual of the constraint of equal group means in an embedding H.

    C is an orthonormal basis of the columns of :math:`F = D^{-1/2} (G - 1 z')`, with D the degrees,
    G the 0-1 membership in the groups and z their shares: H is group-fair if :math:`F'H = 0`
    (Kleindessner et al., ICML 2019, Lemma 1). A node without edges counts as of median degree.
    """
    affinity = _check_square(affinity)
    H = _check_embedding(embedding, affinity)
    groups = check_groups(sensitive_features, len(H))
    degrees, _ = node_degrees(affinity)
    C = group_constraint(groups.codes, len(groups.labels), degrees)
    return float(np.linalg.norm(C.T @ H))


def _check_square(affinity):
    """Check that an affinity is square and multiplies matrices."""
    if not hasattr(affinity, "__matmul__") or isinstance(affinity, np.ndarray):
        affinity = check_array(affinity, input_name="affinity")
    if affinity.shape[0] != affinity.shape[1]:
        raise ValueError(
            f"affinity must have one row and one column per node; got shape {affinity.shape}. "
            "Pass a square array, or a kernel's matrix instead of the features."
        )
    return affinity


def _check_embedding(embedding, affinity):
    """Check that an embedding has a row for every node of the affinity."""
    embedding = check_array(embedding, dtype=np.float64, input_name="embedding")
    check_consistent_length(embedding, affinity)
    return embedding
