"""How well a clustering or an embedding fits a graph, and how fair an embedding is."""

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skfair.groups import check_groups
from skfair.utils._graph import cluster_links, group_constraint, node_degrees


def normalized_cut(labels, affinity):
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
        nodes, whose volume is zero, cuts nothing and counts 0.

    Raises
    ------
    ValueError
        If the affinity is not square, or has not one row per label.

    See Also
    --------
    spectral_objective : The same of an embedding.

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
    clusters, codes = np.unique(labels, return_inverse=True)
    _, within, volumes = cluster_links(affinity, codes, len(clusters))
    cut = np.maximum(volumes - within, 0.0)
    return float(np.divide(cut, volumes, out=np.zeros(len(volumes)), where=volumes > 0).sum())


def spectral_objective(embedding, affinity):
    r"""Affinity that a spectral embedding keeps: what spectral clustering maximises.

    .. math:: \mathrm{Tr}(H' M H), \quad M = D^{-1/2} K D^{-1/2}

    with D the degrees (row sums) of K. The embedding that says which node is in which cluster,
    :math:`h_{ik} = \sqrt{d_i / \mathrm{vol}(C_k)}` for node i in cluster k and 0 elsewhere, has as
    objective the number of clusters minus their normalised cut.

    Parameters
    ----------
    embedding : array-like of shape (n_nodes, n_components)
        H, with orthonormal columns (not checked), as `skfair.cluster.fair_embedding` returns it:
        not yet divided by the roots of the degrees.
    affinity : array-like or sparse matrix of shape (n_nodes, n_nodes), or RBFAffinity
        Symmetric and non-negative (not checked).

    Returns
    -------
    objective : float
        At most the number of components; that number minus it is the cost of an
        embedding in the literature.

    Raises
    ------
    ValueError
        If the affinity is not square, or the embedding has not one finite row per node.

    See Also
    --------
    normalized_cut : The cost of a clustering.
    skfair.cluster.fair_embedding : Maximises the objective among fair embeddings.

    References
    ----------
    .. [1] F. Tonin, A. Lambert, J. Suykens and V. Cevher, "Accelerating spectral clustering under
       fairness constraints", ICML 2025, problem (5).

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.metrics import spectral_objective
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> clusters = np.sqrt([[1 / 3, 0], [2 / 3, 0], [0, 2 / 3], [0, 1 / 3]])
    >>> round(spectral_objective(clusters, path), 3)  # 2 - (1/3 + 1/3)
    1.333
    """
    affinity = _check_square(affinity)
    H = _check_embedding(embedding, affinity)
    degrees, _ = node_degrees(affinity)
    T = H / np.sqrt(degrees)[:, None]
    return float(np.sum(T * (affinity @ T)))


def group_constraint_residual(embedding, affinity, *, sensitive_features):
    r"""How far a spectral embedding is from giving every group the same mean.

    The embedding H is group-fair if :math:`F'H = 0`, with :math:`F = D^{-1/2} (G - 1 z')`, D the
    degrees, G the 0-1 membership in the groups and z their shares. As F has no natural scale, the
    residual is the length of the part of H that violates this,

    .. math:: \| C'H \|_F, \quad C \text{ an orthonormal basis of the columns of } F.

    Parameters
    ----------
    embedding : array-like of shape (n_nodes, n_components)
        H, usually with orthonormal columns.
    affinity : array-like or sparse matrix of shape (n_nodes, n_nodes), or RBFAffinity
        Symmetric and non-negative (not checked); only its degrees matter. A node without edges
        counts as of the median degree of the others.
    sensitive_features : array-like of shape (n_nodes,) or (n_nodes, n_attributes)
        Group of each node; with several attributes, the combinations that occur.

    Returns
    -------
    residual : float
        0 if and only if all groups have the same mean in :math:`D^{-1/2} H`.

    Raises
    ------
    ValueError
        If the affinity is not square, or there is not one finite row of the embedding and one
        group per node.

    See Also
    --------
    additive_violation : How far the groups' counts in the clusters are from proportion.

    References
    ----------
    .. [1] M. Kleindessner, S. Samadi, P. Awasthi and J. Morgenstern, "Guarantees for spectral
       clustering with fairness constraints", ICML 2019, Lemma 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.metrics import group_constraint_residual
    >>> ring = [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    >>> across, along = np.array([[1], [-1], [1], [-1]]) / 2, np.array([[1], [1], [-1], [-1]]) / 2
    >>> group = ["a", "b", "a", "b"]
    >>> round(group_constraint_residual(across, ring, sensitive_features=group), 3)
    1.0
    >>> round(group_constraint_residual(along, ring, sensitive_features=group), 3)
    0.0
    """
    affinity = _check_square(affinity)
    H = _check_embedding(embedding, affinity)
    groups = check_groups(sensitive_features, len(H))
    degrees, _ = node_degrees(affinity)
    C = group_constraint(groups.codes, len(groups.labels), degrees)
    return float(np.linalg.norm(C.T @ H))


def _check_square(affinity):
    """A square affinity that multiplies matrices."""
    if not hasattr(affinity, "__matmul__") or isinstance(affinity, np.ndarray):
        affinity = check_array(affinity, input_name="affinity")
    if affinity.shape[0] != affinity.shape[1]:
        raise ValueError(
            f"affinity must have one row and one column per node, but its shape is "
            f"{affinity.shape}; pass a square array, or a kernel's matrix instead of the features."
        )
    return affinity


def _check_embedding(embedding, affinity):
    """An embedding with a row for every node of the affinity."""
    embedding = check_array(embedding, dtype=np.float64, input_name="embedding")
    check_consistent_length(embedding, affinity)
    return embedding
