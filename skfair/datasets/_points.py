"""Data sets of points and of graphs, which are clustered."""

from __future__ import annotations

import io
from os import PathLike
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_diabetes
from sklearn.utils import Bunch

from skfair.datasets._fetch import (
    SOURCES,
    dataset_docs,
    fetch,
    fetch_csv,
    make_bunch,
    select_sensitive,
)
from skfair.utils._checks import check_choice

# Data sets of measurements: points in the plane, researchers, patients.


DS577_DESCR = """\
DS-577: three clusters in the plane.

577 points; target "class": the cluster, 1 (196 points), 2 (201) or 3 (180).
Features: x, y.
Groups: three, dealt in turn to the points of each cluster (the first gets group 0, the second
group 1, ...), so that the true clusters are fair. The file has no groups, and the studies of fair
clustering that use it with three groups do not say how they drew them.

Source: M. C. Su, C. H. Chou and C. C. Hsieh, "Fuzzy c-means algorithm with a point symmetry
distance", International Journal of Fuzzy Systems 7(4), 2005.
Licence: none stated; the file asks for citation of the article.
"""


@dataset_docs
def fetch_ds577(
    *,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load DS-577: three clusters in the plane, with three groups dealt to them (clustering).

    ==============  ========================
    Samples         577
    Features        2, numeric
    Target          cluster: 1, 2 or 3
    Groups          0, 1 or 2
    ==============  ========================

    The file (12 kB) is taken from the folder named by the environment variable ``SKFAIR_DATA`` (as
    ``synthetic2d/DS-577.arff``), else from scikit-learn's data home, else from the network; its
    digest is checked each time.

    Parameters
    ----------
    {data_home, download_if_missing}
    as_frame : bool, default=True
        If False, arrays instead of pandas objects.
    {return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (577, 2)
            The points.
        target : Series of shape (577,)
            The cluster, 1 to 3.
        sensitive_features : Series of shape (577,)
            The group, 0 to 2: not in the file, but dealt in turn to the points of each cluster.
        {feature_names, no_categories}
        DESCR : str
            Source, licence, how the groups were made.
        frame : DataFrame of shape (577, 3) or None
            ``data`` and ``target``; None if ``as_frame=False``.
    {data_and_target}

    Raises
    ------
    {OSError}

    References
    ----------
    .. [1] M. C. Su, C. H. Chou and C. C. Hsieh, "Fuzzy c-means algorithm with a point symmetry
       distance", International Journal of Fuzzy Systems 7(4), 2005.

    Examples
    --------
    >>> from skfair.datasets import load_benchmark
    >>> points = load_benchmark("ds577")  # doctest: +SKIP
    >>> points.target.value_counts(sort=False).sort_index().to_dict()  # doctest: +SKIP
    {1: 196, 2: 201, 3: 180}
    """
    import pandas as pd

    source = SOURCES["synthetic2d/DS-577.arff"]
    path = fetch(source, data_home=data_home, download_if_missing=download_if_missing)
    # An ARFF file: attributes, then comma-separated rows.
    _, _, rows = path.read_text(encoding="utf-8").partition("@DATA")
    table = pd.read_csv(io.StringIO(rows), names=["x", "y", "class"])
    # Deal three groups in turn to the points of each cluster.
    groups = (table.groupby("class").cumcount() % 3).rename("group").astype("category")
    return make_bunch(table[["x", "y"]], table["class"], groups, DS577_DESCR, as_frame, return_X_y)


FOUR_AREA_DESCR = """\
Four areas: in which field does a researcher publish?

35,385 researchers in DBLP (1 May 2020) who published at a main conference of databases, data
mining, information retrieval or machine learning, as nodes of the graph of co-authors, embedded in
eight dimensions by DeepWalk.

Target "area": 0 (25 %), 1 (28 %), 2 (21 %) or 3 (26 %).
Features: "1" to "8", the coordinates of the embedding.
Groups: the area, as in the literature on fair clustering. The source does not say which code is
which area; its note lists databases, data mining, information retrieval, machine learning in this
order.

This is a reconstruction: the data of the study that introduced it (S. Ahmadian, A. Epasto, R. Kumar
and M. Mahdian, "Clustering without over-representation", KDD 2019) was not available to its makers.

Source: E. Harb and H. S. Lam, "KFC: a scalable approximation algorithm for k-center fair
clustering", NeurIPS 2020.
Licence: MIT (as the repository that publishes the file says).
"""


@dataset_docs
def fetch_four_area(
    *,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the four-area dataset: researchers by their co-authors (clustering).

    ==============  ===================================
    Samples         35,385 researchers
    Features        8, numeric (a graph embedding)
    Target          research area: 0, 1, 2 or 3
    Groups          research area
    ==============  ===================================

    The file (4 MB) is taken from the folder named by the environment variable ``SKFAIR_DATA`` (as
    ``4area/4area.csv``), else from scikit-learn's data home, else from the network. Its digest is
    checked each time.

    Parameters
    ----------
    {data_home, download_if_missing}
    as_frame : bool, default=True
        If False, arrays instead of pandas objects.
    {return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (n_samples, n_features)
            The coordinates of the embedding, float64, not scaled.
        target : Series of shape (n_samples,)
            The research area, 0 to 3.
        sensitive_features : Series of shape (n_samples,)
            The research area as a category.
        {feature_names, no_categories, DESCR, frame}
    {data_and_target}

    Raises
    ------
    {OSError}

    References
    ----------
    .. [1] E. Harb and H. S. Lam, "KFC: a scalable approximation algorithm for k-center fair
       clustering", NeurIPS 2020.

    Examples
    --------
    >>> from skfair.datasets import load_benchmark
    >>> researchers = load_benchmark("four_area")  # doctest: +SKIP
    >>> researchers.data.shape  # doctest: +SKIP
    (35385, 8)
    >>> researchers.sensitive_features.value_counts(sort=False).to_dict()  # doctest: +SKIP
    {0: 8963, 1: 9774, 2: 7461, 3: 9187}
    """
    table = fetch_csv("4area/4area.csv", data_home, download_if_missing)
    data, area = table.drop(columns="color"), table["color"].rename("area")
    return make_bunch(data, area, area.astype("category"), FOUR_AREA_DESCR, as_frame, return_X_y)


PATIENTS_DESCR = """\
Patients: how far has diabetes progressed after one year?

442 patients; the data is bundled with scikit-learn (sklearn.datasets.load_diabetes), here in the
units of the source instead of scaled columns.

Target "target": disease progression one year after baseline (a number, 25 to 346).
Features: age (years), sex (code 1 or 2), bmi (body mass index), bp (mean blood pressure), s1 to s6
(blood serum: total cholesterol, low- and high-density lipoproteins, total / high-density
cholesterol, probably the log of triglycerides, blood sugar).
Groups: sex, "sex 1" (235 patients) and "sex 2" (207). The source does not say which code stands
for women and which for men, so neither do the labels.

Source: B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle regression", Annals of
Statistics 32, 2004.
"""


@dataset_docs
def load_patients(
    *, drop_sensitive: bool = False, as_frame: bool = True, return_X_y: bool = False
) -> Any:
    """Load scikit-learn's diabetes patients with their sex as group (regression, clustering).

    ==============  ========================================
    Samples         442
    Features        10, numeric, in the units of the source
    Target          disease progression, 25 to 346
    Groups          sex ("sex 1": 235, "sex 2": 207)
    ==============  ========================================

    Nothing is downloaded. The source codes sex as 1 and 2 without saying which is which; the
    labels keep these codes rather than guess.

    Parameters
    ----------
    drop_sensitive : bool, default=False
        Whether to leave the column sex out of ``data``.
    as_frame : bool, default=True
        If False, arrays instead of pandas objects.
    {return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (442, 10), or (442, 9) without sex
            The features, float64, not scaled.
        target : Series of shape (442,)
            Disease progression one year after baseline.
        sensitive_features : Series of shape (442,)
            "sex 1" or "sex 2".
        {feature_names, no_categories}
        DESCR : str
            Source, meaning of the columns.
        frame : DataFrame of shape (442, n_features + 1) or None
            ``data`` and ``target``; None if ``as_frame=False``.
    {data_and_target}

    References
    ----------
    .. [1] B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle regression", Annals
       of Statistics 32, 2004.

    Examples
    --------
    >>> from skfair.datasets import load_patients
    >>> patients = load_patients(drop_sensitive=True)
    >>> patients.data.shape
    (442, 9)
    >>> patients.sensitive_features.value_counts().to_dict()
    {'sex 1': 235, 'sex 2': 207}
    """
    source = load_diabetes(scaled=False, as_frame=True)
    groups = source.data["sex"].map({1.0: "sex 1", 2.0: "sex 2"}).astype("category")
    data = source.data.drop(columns="sex") if drop_sensitive else source.data
    return make_bunch(data, source.target, groups, PATIENTS_DESCR, as_frame, return_X_y)


_THYROID_FEATURES = (
    "age sex on_thyroxine query_on_thyroxine on_antithyroid_medication sick pregnant "
    "thyroid_surgery I131_treatment query_hypothyroid query_hyperthyroid lithium goitre tumor "
    "hypopituitary psych TSH T3 TT4 T4U FTI"
).split()
THYROID_DESCR = """\
Thyroid disease: is the thyroid working normally?

7,200 patients: the 3,772 of the training file, then the 3,428 of the test file.

Target "class": 3 (normal; 93 %), 2 (5 %) or 1 (2 %); the two diseased classes are hyperfunction and
subnormal function.
Features: age and five laboratory values (TSH, T3, TT4, T4U, FTI), scaled at the source; sex and 14
answers, 0 or 1.
Groups: the class, as in the literature on fair spectral clustering; or sex, 0 (70 %) or 1 (30 %).
The files do not say which code of sex stands for women; thyroid patients are mostly women, so 0
probably does.
Missing: nothing. 71 rows repeat another one.

Source: R. Quinlan, "Thyroid Disease", UCI Machine Learning Repository, 1987, doi:10.24432/C5D010
(its files ann-train and ann-test, here with commas instead of blanks).
Licence: CC BY 4.0 (as UCI states); the repository that serves these copies states none of its own.
"""


@dataset_docs
def fetch_thyroid(
    *,
    sensitive: Literal["class", "sex"] | list = "class",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the thyroid disease dataset (clustering, classification).

    ==============  =========================================
    Samples         7,200
    Features        21, numeric (15 of them 0 or 1)
    Target          class: 1, 2 or 3 (normal)
    Groups          class, sex
    ==============  =========================================

    The files (0.5 MB) are taken from the folder named by the environment variable ``SKFAIR_DATA``
    (as ``thyroid/ann-train.data`` and ``thyroid/ann-test.data``), else from scikit-learn's data
    home, else from the network; their digest is checked each time.

    Parameters
    ----------
    sensitive : {"class", "sex"} or list of these, default="class"
        Attribute that forms the groups. The literature on fair spectral clustering takes the three
        classes [2]_. A list for both attributes.
    drop_sensitive : bool, default=False
        Whether to leave the column sex out of ``data`` if ``sensitive`` names it.
    {data_home, download_if_missing}
    as_frame : bool, default=True
        If False, arrays instead of pandas objects.
    {return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (n_samples, n_features)
            The features.
        target : Series of shape (n_samples,)
            1, 2 or 3.
        {sensitive_features, feature_names, no_categories, DESCR, frame}
    {data_and_target}

    Raises
    ------
    ValueError
        If ``sensitive`` names nothing known.
    {OSError}

    References
    ----------
    .. [1] R. Quinlan, "Thyroid Disease", UCI Machine Learning Repository, 1987.
    .. [2] F. Tonin, A. Lambert, J. A. K. Suykens and V. Cevher, "Accelerating spectral clustering
       under fairness constraints", ICML 2025.

    Examples
    --------
    >>> from skfair.datasets import load_benchmark
    >>> thyroid = load_benchmark("thyroid")  # doctest: +SKIP
    >>> thyroid.data.shape  # doctest: +SKIP
    (7200, 21)
    >>> thyroid.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {3: 6666, 2: 368, 1: 166}
    """
    import pandas as pd

    layout = {"names": [*_THYROID_FEATURES, "class"]}
    files = ("thyroid/ann-train.data", "thyroid/ann-test.data")
    tables = [fetch_csv(file, data_home, download_if_missing, **layout) for file in files]
    table = pd.concat(tables, ignore_index=True)
    # Both possible attributes as categories.
    groups = select_sensitive(table.astype({"class": "category", "sex": "category"}), sensitive)
    data = table.drop(columns="class")
    if drop_sensitive:
        data = data.drop(columns=sensitive, errors="ignore")
    return make_bunch(data, table["class"], groups, THYROID_DESCR, as_frame, return_X_y)


# Graphs with groups, and their adjacency matrices.


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
    >>> from skfair.datasets import load_benchmark
    >>> graph = load_benchmark("facebook_net")  # doctest: +SKIP
    >>> graph.adjacency.shape  # doctest: +SKIP
    (155, 155)
    >>> graph.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {'M': 85, 'F': 70}
    """
    check_choice("subset", subset, ("connected", "all"))
    where = {"data_home": data_home, "download_if_missing": download_if_missing}
    pairs = "facebooknet/Facebook-known-pairs_data_2013.csv"
    known = fetch_csv(pairs, **where, sep=" ", names=["i", "j", "friends"])
    friends = known.loc[known["friends"] == 1, ["i", "j"]].to_numpy()
    columns = ["id", "class", "gender"]
    students = fetch_csv("facebooknet/metadata_2013.txt", **where, sep="\t", names=columns)
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
    >>> from skfair.datasets import load_benchmark
    >>> graph = load_benchmark("lastfm_asia")  # doctest: +SKIP
    >>> graph.adjacency.shape  # doctest: +SKIP
    (5576, 5576)
    >>> graph.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {17: 1529, 10: 1266, 0: 1073, 6: 645, 14: 558, 3: 505}
    """
    check_choice("subset", subset, ("connected", "all"))
    where = {"data_home": data_home, "download_if_missing": download_if_missing}
    edges = fetch_csv("lastfm/lastfm_asia_edges.csv", **where).to_numpy()
    users = fetch_csv("lastfm/lastfm_asia_target.csv", **where, index_col="id")
    country = users["target"].rename("country")
    # Countries of at least MIN_USERS users, as in the literature.
    if subset == "connected":
        country = country[country.map(country.value_counts()) >= MIN_USERS]
    return make_graph_bunch(edges, country, LASTFM_ASIA_DESCR, connected=subset == "connected")


def adjacency_matrix(rows, cols, n_nodes, weights=None):
    """Make the symmetric adjacency matrix of the edges (row, column), each given once, no loops."""
    weights = np.ones(len(rows)) if weights is None else weights
    # 32 bits halve the memory, and some scikit-learn estimators take no wider indices.
    rows, cols = np.asarray(rows, dtype=np.int32), np.asarray(cols, dtype=np.int32)
    ends = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    return sparse.coo_array((np.tile(weights, 2), ends), shape=(n_nodes, n_nodes)).tocsr()


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
        adjacency, groups = adjacency[nodes][:, nodes], groups.iloc[nodes]
    return Bunch(
        adjacency=adjacency,
        sensitive_features=groups.reset_index(drop=True).astype("category"),
        node_ids=groups.index.to_numpy(),
        DESCR=descr,
    )
