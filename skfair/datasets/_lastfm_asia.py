"""The LastFM Asia social network."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Literal

from ._bunch import check_choice
from ._docstrings import dataset_docs
from ._fetch import RemoteFile, fetch
from ._graphs import make_graph_bunch

if TYPE_CHECKING:
    from sklearn.utils import Bunch


_SOURCE = (
    "https://raw.githubusercontent.com/benedekrozemberczki/FEATHER/"
    "045db7963fb367eb9aed6439ceea96320e8ac7cc/new_node_level_dataset/"
)
EDGES = RemoteFile(
    url=_SOURCE + "edges/lastfm_asia_edges.csv",
    sha256="548eacff61bff564ab5007831fa4a7a30e1a3956075ffd24e43310ed33555842",
    path="lastfm/lastfm_asia_edges.csv",
)
COUNTRIES = RemoteFile(
    url=_SOURCE + "target/lastfm_asia_target.csv",
    sha256="91f19215f6eca8321feec038bd32900cf13fd4f7e041a9976cf202807c72ac16",
    path="lastfm/lastfm_asia_target.csv",
)
MIN_USERS = 500
DESCR = """\
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
    >>> from skfair.datasets import fetch_lastfm_asia
    >>> graph = fetch_lastfm_asia()  # doctest: +SKIP
    >>> graph.adjacency.shape  # doctest: +SKIP
    (5576, 5576)
    >>> graph.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {17: 1529, 10: 1266, 0: 1073, 6: 645, 14: 558, 3: 505}
    """
    import pandas as pd

    check_choice("subset", subset, ("connected", "all"))
    edges = fetch(EDGES, data_home=data_home, download_if_missing=download_if_missing)
    countries = fetch(COUNTRIES, data_home=data_home, download_if_missing=download_if_missing)
    country = pd.read_csv(countries, index_col="id")["target"].rename("country")
    connected = subset == "connected"
    # Countries of at least MIN_USERS users, as in the literature.
    if connected:
        country = country[country.map(country.value_counts()) >= MIN_USERS]
    return make_graph_bunch(pd.read_csv(edges).to_numpy(), country, DESCR, connected=connected)
