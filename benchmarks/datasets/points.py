"""Points that are clustered: generated ones, DS-577, four areas and thyroid."""

import io
from os import PathLike
from typing import Any, Literal

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.utils import check_random_state

from benchmarks.datasets.sources import SOURCES
from skfair._utils.api import RandomState
from skfair._utils.checks import check_choice
from skfair.datasets._fetch import dataset_docs, fetch, fetch_csv, make_bunch, select_sensitive

_SYNTHETIC = {
    "equal_ds1": ([100] * 4, [(1, 1), (2.1, 1), (1, 5), (2.1, 5)], 0.1),
    "unequal_ds1": ([150, 150, 50, 50], [(1, 1), (2.1, 1), (1, 3.5), (2.1, 3.5)], 0.13),
    "equal_ds2": ([200, 200], [(1, 1), (2.1, 3.5)], 0.3),
    "unequal_ds2": ([300, 100], [(1, 1), (2.1, 3.5)], 0.3),
}
"""Points per blob, centers and standard deviation of each set; the groups are separate at y = 2."""


def make_fair_synthetic(
    variant: str = "equal_ds1", *, random_state: RandomState = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One of the four synthetic sets of Liu and Vicente: 400 points in the plane, two groups.

    In each set the blobs of one group lie below those of the other, so that the best two clusters
    and fair clusters contradict each other.

    ==============  ==============================================  =====  ============
    variant         centers: points                                 s.d.   groups
    ==============  ==============================================  =====  ============
    "equal_ds1"     (1, 1), (2.1, 1) | (1, 5), (2.1, 5): 100 each   0.1    200 and 200
    "unequal_ds1"   (1, 1), (2.1, 1): 150 each |                    0.13   300 and 100
                    (1, 3.5), (2.1, 3.5): 50 each
    "equal_ds2"     (1, 1): 200 | (2.1, 3.5): 200                   0.3    200 and 200
    "unequal_ds2"   (1, 1): 300 | (2.1, 3.5): 100                   0.3    300 and 100
    ==============  ==============================================  =====  ============

    The bar separates the two groups. The paper clusters with K = 2.

    Parameters
    ----------
    variant : {"equal_ds1", "unequal_ds1", "equal_ds2", "unequal_ds2"}, default="equal_ds1"
        Name of the set.
    random_state : int, RandomState instance or None, default=1
        Seed of the random draws. 1 reproduces the points of the authors' public code.

    Returns
    -------
    X : ndarray of shape (400, 2)
        The points, blob after blob.
    y : ndarray of shape (400,)
        The blob of each point, 0, 1, ... in the order of the table.
    sensitive_features : ndarray of shape (400,)
        The group of each point, 0 or 1.

    Raises
    ------
    ValueError
        If ``variant`` is not one of the four.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, Figure 2.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.datasets import load_benchmark
    >>> X, y, groups = load_benchmark("fair_synthetic", variant="unequal_ds1")
    >>> np.bincount(y).tolist(), np.bincount(groups).tolist()
    ([150, 150, 50, 50], [300, 100])
    """
    check_choice("variant", variant, tuple(_SYNTHETIC))
    sizes, centers, std = _SYNTHETIC[variant]
    X, y = make_blobs(
        sizes, centers=centers, cluster_std=std, shuffle=False, random_state=random_state
    )
    # The first half of the blobs lies below the second: these are the groups.
    return X, y, (y >= len(sizes) // 2).astype(int)


@dataset_docs
def make_elliptical(
    n_samples: int = 500, *, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two flat ellipses one above the other, with a group in each half (Elliptical).

    The points are uniform in two ellipses with semi-axes 4 and 1 and centers (0, -1.5) and
    (0, 1.5). Group 0 has the left halves, group 1 the right ones. The ellipses are perfectly fair
    clusters, which a connected affinity finds, while k-means prefers the groups.

    The sets of this name in the literature have two clusters and two groups as well [1]_, but their
    distribution is not published.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points. The sizes of the four halves differ by at most one.
    {random_state}

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points, in random order.
    y : ndarray of shape (n_samples,)
        The ellipse of each point, 0 (below) or 1 (above).
    sensitive_features : ndarray of shape (n_samples,)
        The group of each point, 0 (left) or 1 (right).

    References
    ----------
    .. [1] R. Feng, C. Zhong and T. Pan, "Fair spectral clustering based on coordinate descent",
       Symmetry 17(1), 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.datasets import load_benchmark
    >>> X, y, groups = load_benchmark("elliptical", n_samples=400, random_state=0)
    >>> X.shape
    (400, 2)
    >>> [np.bincount(groups[y == k]).tolist() for k in range(2)]
    [[100, 100], [100, 100]]
    """
    rng = check_random_state(random_state)
    y, groups = np.divmod(rng.permutation(n_samples) % 4, 2)
    # Uniform points in a half disc, stretched, reflected and shifted.
    radius = np.sqrt(rng.uniform(size=n_samples))
    angle = np.pi * (rng.uniform(size=n_samples) - 0.5)
    side = 2 * groups - 1
    height = 3 * y - 1.5
    X = np.column_stack([4 * side * radius * np.cos(angle), height + radius * np.sin(angle)])
    return X, y, groups


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
    >>> from benchmarks.datasets import load_benchmark
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
    >>> from benchmarks.datasets import load_benchmark
    >>> researchers = load_benchmark("four_area")  # doctest: +SKIP
    >>> researchers.data.shape  # doctest: +SKIP
    (35385, 8)
    >>> researchers.sensitive_features.value_counts(sort=False).to_dict()  # doctest: +SKIP
    {0: 8963, 1: 9774, 2: 7461, 3: 9187}
    """
    table = fetch_csv(SOURCES["4area/4area.csv"], data_home, download_if_missing)
    data = table.drop(columns="color")
    area = table["color"].rename("area")
    return make_bunch(data, area, area.astype("category"), FOUR_AREA_DESCR, as_frame, return_X_y)


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
    >>> from benchmarks.datasets import load_benchmark
    >>> thyroid = load_benchmark("thyroid")  # doctest: +SKIP
    >>> thyroid.data.shape  # doctest: +SKIP
    (7200, 21)
    >>> thyroid.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {3: 6666, 2: 368, 1: 166}
    """
    import pandas as pd

    layout = {"names": [*_THYROID_FEATURES, "class"]}
    files = ("thyroid/ann-train.data", "thyroid/ann-test.data")
    tables = [fetch_csv(SOURCES[file], data_home, download_if_missing, **layout) for file in files]
    table = pd.concat(tables, ignore_index=True)
    # Both possible attributes as categories.
    groups = select_sensitive(table.astype({"class": "category", "sex": "category"}), sensitive)
    data = table.drop(columns="class")
    if drop_sensitive:
        data = data.drop(columns=sensitive, errors="ignore")
    return make_bunch(data, table["class"], groups, THYROID_DESCR, as_frame, return_X_y)
