"""The Adult census income dataset."""

from os import PathLike
from typing import Any, Literal

from ._bunch import check_choice, make_bunch, select_groups
from ._docstrings import dataset_docs
from ._fetch import RemoteFile, fetch

_SOURCE = (
    "https://raw.githubusercontent.com/yuhenglai/FairICP/"
    "6a7662190486ae83357a2c3a521a341ad33e63de/data/"
)
TRAIN = RemoteFile(
    url=_SOURCE + "adult.data",
    sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    path="adult/adult.data",
)
TEST = RemoteFile(
    url=_SOURCE + "adult.test",
    sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    path="adult/adult.test",
)
TARGET = "income"
COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    TARGET,
]
CLUSTERING_COLUMNS = ["age", "fnlwgt", "education-num", "capital-gain", "hours-per-week"]
DESCR = """\
Adult: who earned more than 50,000 dollars a year?

People of the 1994 census of the United States: 32,561 for training, 16,281 for testing.

Target "income": "<=50K" or ">50K" (24 % of the people).
Features: age (years); fnlwgt (sampling weight: number of people whom this one represents);
education-num (rank of education); capital-gain, capital-loss (dollars); hours-per-week; and the
categories
workclass, education, marital-status, occupation, relationship, race, sex, native-country.
Groups: sex (Male 67 %, Female 33 %; 31 % and 11 % of them earn more than 50K), race.
Missing: 7 % of the rows miss workclass, occupation or native-country ("?" in the file, nan here).
A few rows (24 in training, 5 in test) repeat another one; they are kept.

The relationships "Husband" and "Wife" reveal sex: dropping the column sex does not hide it.

Source: B. Becker and R. Kohavi, UCI Machine Learning Repository, 1996, doi:10.24432/C5XW20.
Licence: CC BY 4.0 (as UCI states).
"""


@dataset_docs
def fetch_adult(
    *,
    subset: Literal["train", "test", "all"] = "train",
    columns: Literal["all", "clustering"] = "all",
    sensitive: str | list[str] = "sex",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the Adult census income dataset (binary classification, clustering).

    ==============  ================================
    Samples         32,561 train + 16,281 test
    Features        14 (6 numeric, 8 categorical)
    Target          income: "<=50K" or ">50K"
    Groups          sex, race
    ==============  ================================

    The files (6 MB) are taken from the folder named by the environment variable ``SKFAIR_DATA``
    (as ``adult/adult.data`` and ``adult/adult.test``), else from scikit-learn's data home, else
    from the network; their digest is checked each time.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The rows of the published training file, test file, or both in this order.
    columns : {"all", "clustering"}, default="all"
        "clustering" keeps the five numeric features on which fair clusterings are compared in the
        literature [2]_: age, fnlwgt, education-num, capital-gain, hours-per-week. They come
        unscaled; the literature standardises the columns, then gives each row length 1.
    sensitive : str or list of str, default="sex"
        The categorical column that forms the groups, such as "sex" or "race"; a list for several
        attributes.
    {drop_sensitive, data_home, download_if_missing, as_frame, return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (n_samples, n_features)
            Missing values are nan. Categories do not depend on ``subset``.
        target : Series of shape (n_samples,)
            "<=50K" or ">50K".
        {sensitive_features, feature_names, categories, DESCR, frame}
    {data_and_target}

    Raises
    ------
    ValueError
        If ``subset``, ``columns`` or ``sensitive`` names nothing known.
    {OSError}

    References
    ----------
    .. [1] B. Becker and R. Kohavi, "Adult", UCI Machine Learning Repository, 1996.
    .. [2] I. M. Ziko, J. Yuan, E. Granger and I. Ben Ayed, "Variational fair clustering", AAAI
       2021.

    Examples
    --------
    >>> from skfair.datasets import fetch_adult
    >>> adult = fetch_adult(columns="clustering")  # doctest: +SKIP
    >>> adult.data.shape  # doctest: +SKIP
    (32561, 5)
    >>> adult.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {'Male': 21790, 'Female': 10771}
    """
    check_choice("subset", subset, ("train", "test", "all"))
    check_choice("columns", columns, ("all", "clustering"))
    # Both files are read for every subset, so that a category always has the same code.
    table = _read(
        train=fetch(TRAIN, data_home=data_home, download_if_missing=download_if_missing),
        test=fetch(TEST, data_home=data_home, download_if_missing=download_if_missing),
    )
    # Rows of the subset, numbered from 0.
    table = (table if subset == "all" else table.loc[[subset]]).reset_index(drop=True)
    groups = select_groups(table, sensitive)
    data = table[CLUSTERING_COLUMNS] if columns == "clustering" else table.drop(columns=TARGET)
    if drop_sensitive:
        data = data.drop(columns=sensitive, errors="ignore")
    return make_bunch(data, table[TARGET], groups, DESCR, as_frame=as_frame, return_X_y=return_X_y)


def _read(**paths):
    """Parse the files into one table, indexed by (name of the file, row within it)."""
    import pandas as pd

    # In these files "|" opens a comment, as the first line of the test file is.
    layout = {"names": COLUMNS, "skipinitialspace": True, "comment": "|", "na_values": "?"}
    tables = {name: pd.read_csv(path, **layout) for name, path in paths.items()}
    table = pd.concat(tables)
    # Labels of the test file end with a dot.
    table[TARGET] = table[TARGET].str.rstrip(".")
    texts = table.drop(columns=TARGET).select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(texts, "category"))
