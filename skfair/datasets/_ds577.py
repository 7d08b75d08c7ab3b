"""The point set DS-577."""

import io
from os import PathLike
from typing import Any

from ._bunch import make_bunch
from ._docstrings import dataset_docs
from ._fetch import RemoteFile, fetch

POINTS = RemoteFile(
    url=(
        "https://raw.githubusercontent.com/deric/clustering-benchmark/"
        "fc7aba73c873b0e017dd3a6d7113b1cb2ede118a/"
        "src/main/resources/datasets/artificial/DS-577.arff"
    ),
    sha256="4a808adf156b29176ad690ce42b03c53debeb40cd90b086d8d5fa692c777d237",
    path="synthetic2d/DS-577.arff",
)
TARGET = "class"
N_GROUPS = 3
DESCR = """\
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
    >>> from skfair.datasets import fetch_ds577
    >>> points = fetch_ds577()  # doctest: +SKIP
    >>> points.target.value_counts(sort=False).sort_index().to_dict()  # doctest: +SKIP
    {1: 196, 2: 201, 3: 180}
    """
    import pandas as pd

    path = fetch(POINTS, data_home=data_home, download_if_missing=download_if_missing)
    # An ARFF file: attributes, then comma-separated rows.
    _, _, rows = path.read_text(encoding="utf-8").partition("@DATA")
    table = pd.read_csv(io.StringIO(rows), names=["x", "y", TARGET])
    # Deal the groups in turn to the points of each cluster.
    turn = table.groupby(TARGET).cumcount() % N_GROUPS
    groups = turn.rename("group").astype("category")
    return make_bunch(
        table[["x", "y"]], table[TARGET], groups, DESCR, as_frame=as_frame, return_X_y=return_X_y
    )
