"""The thyroid disease dataset."""

from os import PathLike
from typing import Any, Literal

from ._bunch import make_bunch, select_groups
from ._docstrings import dataset_docs
from ._fetch import RemoteFile, fetch

_SOURCE = (
    "https://raw.githubusercontent.com/bmacphee/gp/87f277c3b91f7070977356808ba798b01a3db56d/data/"
)
TRAIN = RemoteFile(
    url=_SOURCE + "ann-train.data",
    sha256="591777fe180b3cddb1d5dc6c9f292d1564810e801cdb490a410d8c3c5e8f9c8d",
    path="thyroid/ann-train.data",
)
TEST = RemoteFile(
    url=_SOURCE + "ann-test.data",
    sha256="e9f663168fe5a589a32b93a554e3b6a495bdfac64ec5440b009189d24c2417da",
    path="thyroid/ann-test.data",
)
TARGET = "class"
FEATURES = [
    "age",
    "sex",
    "on_thyroxine",
    "query_on_thyroxine",
    "on_antithyroid_medication",
    "sick",
    "pregnant",
    "thyroid_surgery",
    "I131_treatment",
    "query_hypothyroid",
    "query_hyperthyroid",
    "lithium",
    "goitre",
    "tumor",
    "hypopituitary",
    "psych",
    "TSH",
    "T3",
    "TT4",
    "T4U",
    "FTI",
]
DESCR = """\
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
    >>> from skfair.datasets import fetch_thyroid
    >>> thyroid = fetch_thyroid()  # doctest: +SKIP
    >>> thyroid.data.shape  # doctest: +SKIP
    (7200, 21)
    >>> thyroid.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {3: 6666, 2: 368, 1: 166}
    """
    table = _read(
        fetch(TRAIN, data_home=data_home, download_if_missing=download_if_missing),
        fetch(TEST, data_home=data_home, download_if_missing=download_if_missing),
    )
    # Both possible attributes as categories.
    groups = select_groups(table.astype({TARGET: "category", "sex": "category"}), sensitive)
    data = table[FEATURES]
    if drop_sensitive:
        data = data.drop(columns=sensitive, errors="ignore")
    return make_bunch(data, table[TARGET], groups, DESCR, as_frame=as_frame, return_X_y=return_X_y)


def _read(*paths):
    """Parse the files into one table."""
    import pandas as pd

    tables = [pd.read_csv(path, names=[*FEATURES, TARGET]) for path in paths]
    return pd.concat(tables, ignore_index=True)
