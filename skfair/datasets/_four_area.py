"""The four-area dataset of researchers."""

from os import PathLike
from typing import Any

from ._bunch import make_bunch
from ._docstrings import dataset_docs
from ._fetch import RemoteFile, fetch

EMBEDDING = RemoteFile(
    url=(
        "https://raw.githubusercontent.com/FaroukY/KFC-ScalableFairClustering/"
        "6c03289a45b33ad46222ff722386d23ebb2cab01/data/4area.csv"
    ),
    sha256="17cf978e8fcc1c21263e6d6d8c69a77eed60538460501f65ee3464ce466f4c08",
    path="4area/4area.csv",
)
TARGET = "area"
DESCR = """\
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
    >>> from skfair.datasets import fetch_four_area
    >>> researchers = fetch_four_area()  # doctest: +SKIP
    >>> researchers.data.shape  # doctest: +SKIP
    (35385, 8)
    >>> researchers.sensitive_features.value_counts(sort=False).to_dict()  # doctest: +SKIP
    {0: 8963, 1: 9774, 2: 7461, 3: 9187}
    """
    import pandas as pd

    path = fetch(EMBEDDING, data_home=data_home, download_if_missing=download_if_missing)
    table = pd.read_csv(path).rename(columns={"color": TARGET})
    data, area = table.drop(columns=TARGET), table[TARGET]
    return make_bunch(
        data, area, area.astype("category"), DESCR, as_frame=as_frame, return_X_y=return_X_y
    )
