"""Graphs with groups: two social networks, and random graphs without clusters."""

from os import PathLike
from typing import Literal

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.utils import Bunch, check_random_state

from benchmarks.datasets.sources import SOURCES
from skfair._utils.checks import check_choice
from skfair.datasets._fetch import dataset_docs, fetch_csv
from skfair.datasets._generators import adjacency_matrix, check_shares, draw_edges

MIN_USERS = 500
FACEBOOK_NET_DESCR = """\
FacebookNet: which students of a school are friends on Facebook?

Students of a high school in Marseilles, December 2013. For 4,515 pairs it is known whether they
are friends on Facebook (1,437 are) or not. Of 329 students 7 have no known gender and are left
out: 322 remain, with 1,412 friendships. 155 of them form the one large component; the other 167
have no known friend among the 322.

Groups: the gender, "F" or "M" (70 and 85 students in the component; 146 and 176 in all).

Source: R. Mastrandrea, J. Fournet and A. Barrat, "Contact patterns in a high school: a comparison
between data collected using wearable sensors, contact diaries and friendship surveys", PLoS ONE
10(9), 2015, doi:10.1371/journal.pone.0136497; www.sociopatterns.org.
Licence: SocioPatterns publishes its high-school data under Creative Commons
Attribution-NonCommercial-ShareAlike: commercial use is not allowed, and the article is to be
cited. The repository that serves these copies states no licence of its own.
"""


@dataset_docs
def fetch_facebook_net(
    *,
    subset: Literal["connected", "all"] = "connected",
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch:
    """Load the Facebook friendships of a high school with the students' gender (graph clustering).

    ==============  ===================================
    Nodes           155 students ("all": 322)
    Edges           1,412
    Groups          gender: "F" or "M"
    ==============  ===================================

    The files (50 kB; for non-commercial use only, see ``DESCR``) are taken from the folder named by
    the environment variable ``SKFAIR_DATA`` (as
    ``facebooknet/Facebook-known-pairs_data_2013.csv`` and ``facebooknet/metadata_2013.txt``), else
    from scikit-learn's data home, else from the network; their digest is checked each time.

    Parameters
    ----------
    subset : {"connected", "all"}, default="connected"
        "connected" is the largest component, on which fair clusterings are compared in the
        literature [2]_; "all" adds 167 isolated students.
    {data_home, download_if_missing}

    Returns
    -------
    graph : :class:`~sklearn.utils.Bunch`
        adjacency : csr_array of shape (n_nodes, n_nodes)
            1 where two students are known to be friends; symmetric, zero diagonal.
        sensitive_features : Series of shape (n_nodes,)
            "F" or "M".
        node_ids : ndarray of shape (n_nodes,)
            The number of each student in the files.
        DESCR : str
            Source, licence, meaning of the groups.

    Raises
    ------
    ValueError
        If ``subset`` is neither of the two.
    {OSError}

    References
    ----------
    .. [1] R. Mastrandrea, J. Fournet and A. Barrat, "Contact patterns in a high school", PLoS ONE
       10(9), 2015.
    .. [2] J. Wang, D. Lu, I. Davidson and Z. Bai, "Scalable spectral clustering with group
       fairness constraints", AISTATS 2023.

    Examples
    --------
    >>> from benchmarks.datasets import load_benchmark
    >>> graph = load_benchmark("facebook_net")  # doctest: +SKIP
    >>> graph.adjacency.shape  # doctest: +SKIP
    (155, 155)
    >>> graph.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {'M': 85, 'F': 70}
    """
    check_choice("subset", subset, ("connected", "all"))
    where = {"data_home": data_home, "download_if_missing": download_if_missing}
    pairs = SOURCES["facebooknet/Facebook-known-pairs_data_2013.csv"]
    known = fetch_csv(pairs, **where, sep=" ", names=["i", "j", "friends"])
    friends = known.loc[known["friends"] == 1, ["i", "j"]].to_numpy()
    columns = ["id", "class", "gender"]
    metadata = SOURCES["facebooknet/metadata_2013.txt"]
    students = fetch_csv(metadata, **where, sep="\t", names=columns)
    # Students of unknown gender are left out, with their edges.
    gender = students.set_index("id").query("gender != 'Unknown'")["gender"]
    return make_graph_bunch(friends, gender, FACEBOOK_NET_DESCR, connected=subset == "connected")


LASTFM_ASIA_DESCR = """\
LastFM Asia: who follows whom, and where do they live?

Users of the music site Last.fm in Asia, joined where each follows the other: 7,624 users, 27,806
edges, 18 countries. Studies of fair clustering keep the six countries of at least 500 users
(5,713 users), and of those the largest connected component: 5,576 users, 19,587 edges.

Groups: the country, as a code from 0 to 17. In the component: 17 (27 %), 10 (23 %), 0 (19 %),
6 (12 %), 14 (10 %), 3 (9 %). The source does not say which country a code stands for.

Source: B. Rozemberczki and R. Sarkar, "Characteristic functions on graphs: birds of a feather,
from statistical descriptors to parametric models", CIKM 2020, doi:10.1145/3340531.3411866.
Licence: MIT (the repository that publishes the files).
"""


@dataset_docs
def fetch_lastfm_asia(
    *,
    subset: Literal["connected", "all"] = "connected",
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch:
    """Load the LastFM Asia social network with the users' countries (graph clustering).

    ==============  ===================================
    Nodes           5,576 users ("all": 7,624)
    Edges           19,587 ("all": 27,806)
    Groups          country, 6 codes ("all": 18)
    ==============  ===================================

    The files (0.3 MB) are taken from the folder named by the environment variable ``SKFAIR_DATA``
    (as ``lastfm/lastfm_asia_edges.csv`` and ``lastfm/lastfm_asia_target.csv``), else from
    scikit-learn's data home, else from the network; their digest is checked each time.

    Parameters
    ----------
    subset : {"connected", "all"}, default="connected"
        "connected" is the graph on which fair clusterings are compared in the literature [2]_:
        the countries of at least 500 users, and of those the largest connected component.
    {data_home, download_if_missing}

    Returns
    -------
    graph : :class:`~sklearn.utils.Bunch`
        adjacency : csr_array of shape (n_nodes, n_nodes)
            1 where two users follow each other; symmetric, zero diagonal.
        sensitive_features : Series of shape (n_nodes,)
            The code of each user's country.
        node_ids : ndarray of shape (n_nodes,)
            The number of each user in the files.
        DESCR : str
            Source, licence, meaning of the groups.

    Raises
    ------
    ValueError
        If ``subset`` is neither of the two.
    {OSError}

    References
    ----------
    .. [1] B. Rozemberczki and R. Sarkar, "Characteristic functions on graphs: birds of a feather,
       from statistical descriptors to parametric models", CIKM 2020.
    .. [2] J. Wang, D. Lu, I. Davidson and Z. Bai, "Scalable spectral clustering with group
       fairness constraints", AISTATS 2023.

    Examples
    --------
    >>> from benchmarks.datasets import load_benchmark
    >>> graph = load_benchmark("lastfm_asia")  # doctest: +SKIP
    >>> graph.adjacency.shape  # doctest: +SKIP
    (5576, 5576)
    >>> graph.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {17: 1529, 10: 1266, 0: 1073, 6: 645, 14: 558, 3: 505}
    """
    check_choice("subset", subset, ("connected", "all"))
    where = {"data_home": data_home, "download_if_missing": download_if_missing}
    edges = fetch_csv(SOURCES["lastfm/lastfm_asia_edges.csv"], **where).to_numpy()
    users = fetch_csv(SOURCES["lastfm/lastfm_asia_target.csv"], **where, index_col="id")
    country = users["target"].rename("country")
    # Countries of at least MIN_USERS users, as in the literature.
    if subset == "connected":
        country = country[country.map(country.value_counts()) >= MIN_USERS]
    return make_graph_bunch(edges, country, LASTFM_ASIA_DESCR, connected=subset == "connected")


def largest_component(adjacency):
    """Nodes of the largest connected component, ascending."""
    _, component = connected_components(adjacency, directed=False)
    return np.flatnonzero(component == np.bincount(component).argmax())


def make_graph_bunch(edges, groups, descr, *, connected):
    """Make the bunch of a graph, or with `connected` of its largest connected component.

    `edges` has one row of two node numbers per edge. `groups` is a Series indexed by node numbers;
    edges to a node without a group are left out.
    """
    # Positions of the ends in the order of the groups, -1 without a group.
    ends = groups.index.get_indexer(np.ravel(edges)).reshape(-1, 2)
    adjacency = adjacency_matrix(*ends[np.all(ends >= 0, axis=1)].T, len(groups))
    if connected:
        nodes = largest_component(adjacency)
        adjacency = adjacency[nodes][:, nodes]
        groups = groups.iloc[nodes]
    return Bunch(
        adjacency=adjacency,
        sensitive_features=groups.reset_index(drop=True).astype("category"),
        node_ids=groups.index.to_numpy(),
        DESCR=descr,
    )


def make_rand_laplace(n_samples=1000, *, density=0.1, group_shares=(0.7, 0.3), random_state=None):
    """Random weighted graph without clusters, with random groups (RandLaplace): adjacency, groups.

    Any two nodes are linked with probability ``density``, with a weight drawn uniformly from
    (0, 1]. The group of each node is drawn independently. The graph serves to time eigensolvers on
    clustered eigenvalues.

    The density is that of the public code of J. Wang et al., "Scalable spectral clustering with
    group fairness constraints", AISTATS 2023. The groups, two with probabilities 0.7 and 0.3,
    follow the text of F. Tonin et al., "Accelerating spectral clustering under fairness
    constraints", ICML 2025, Appendix A.2, where a figure and a table mention five.
    """
    if not 0 < density <= 1:
        raise ValueError(f"density must lie in (0, 1]; got {density!r}.")
    shares = check_shares(group_shares)
    rng = check_random_state(random_state)
    rows, cols = draw_edges(np.array([n_samples]), np.array([[density]]), rng)
    # Uniform in (0, 1]: a weight of 0 would be no edge.
    weights = 1 - rng.uniform(size=len(rows))
    groups = rng.choice(len(shares), size=n_samples, p=shares)
    return adjacency_matrix(rows, cols, n_samples, weights), groups
