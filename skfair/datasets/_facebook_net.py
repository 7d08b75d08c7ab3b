"""FacebookNet: friendships of students in Marseilles."""

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
    "https://raw.githubusercontent.com/jiiwang/scalable_fair_spectral_clustering/"
    "e9ae75fc05a1c74e1cf5f33c69e1cab308397982/test/friendship/"
)
PAIRS = RemoteFile(
    url=_SOURCE + "Facebook-known-pairs_data_2013.csv",
    sha256="03e909c441bb4f7d48fbd7a34b7368cb211bcd94b582dc14ba8451bcb61682cd",
    path="facebooknet/Facebook-known-pairs_data_2013.csv",
)
STUDENTS = RemoteFile(
    url=_SOURCE + "metadata_2013.txt",
    sha256="b960986186214d2dede8496a6d5c270805d150b88a0b76419815f1b5ccca4dd8",
    path="facebooknet/metadata_2013.txt",
)
DESCR = """\
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
    >>> from skfair.datasets import fetch_facebook_net
    >>> graph = fetch_facebook_net()  # doctest: +SKIP
    >>> graph.adjacency.shape  # doctest: +SKIP
    (155, 155)
    >>> graph.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {'M': 85, 'F': 70}
    """
    import pandas as pd

    check_choice("subset", subset, ("connected", "all"))
    pairs = fetch(PAIRS, data_home=data_home, download_if_missing=download_if_missing)
    students = fetch(STUDENTS, data_home=data_home, download_if_missing=download_if_missing)
    gender = pd.read_csv(students, sep="\t", names=["id", "class", "gender"], index_col="id")
    # Students of unknown gender are left out, with their edges.
    gender = gender.query("gender != 'Unknown'")["gender"]
    known = pd.read_csv(pairs, sep=" ", names=["i", "j", "friends"])
    friends = known.loc[known["friends"] == 1, ["i", "j"]].to_numpy()
    return make_graph_bunch(friends, gender, DESCR, connected=subset == "connected")
