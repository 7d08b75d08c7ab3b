"""The Bank Marketing dataset."""

from os import PathLike
from typing import Any, Literal

from ._bunch import check_choice, make_bunch, select_groups
from ._docstrings import dataset_docs
from ._fetch import RemoteFile, fetch

FULL = RemoteFile(
    url=(
        "https://raw.githubusercontent.com/sul217/SAfairKM/"
        "3470f62b8278f8ae2f4b027a5ddc9bfd2c8f9674/data/bank-additional-full.csv"
    ),
    sha256="74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
    path="bank/bank-additional-full.csv",
)
TARGET = "y"
CLUSTERING_COLUMNS = [
    "age",
    "duration",
    "euribor3m",
    "nr.employed",
    "cons.price.idx",
    "campaign",
]
DESCR = """\
Bank Marketing: did the client subscribe a term deposit?

41,188 telephone calls of a Portuguese bank, May 2008 to November 2010, in order of date.

Target "y": "yes" (11 %) or "no".
Client: age (years), job, marital, education, default, housing, loan ("unknown" is a category).
Call: contact, month, day_of_week, duration (seconds), campaign (calls to this client so far).
Before: pdays (days since the last campaign's call; 999 = never called), previous, poutcome.
Economy: emp.var.rate, cons.price.idx, cons.conf.idx, euribor3m, nr.employed.
Groups: marital (married 61 %, single 28 %, divorced or widowed 11 %, 80 unknown); age from 25 to
60, both included (95 %; 10 % of them say yes), against the rest (34 % say yes).
Missing: nothing but the category "unknown" (in 10,700 rows). 12 rows repeat another one.

duration is known only when the call is over, and then y is known too: a model that uses it cannot
choose whom to call. It is left out unless it is requested.

Source: S. Moro, P. Cortez and P. Rita, "A data-driven approach to predict the success of bank
telemarketing", Decision Support Systems 62, 2014, doi:10.1016/j.dss.2014.03.001.
Licence: CC BY 4.0 (as the UCI Machine Learning Repository states); the authors ask to be cited.
"""


@dataset_docs
def fetch_bank_marketing(
    *,
    columns: Literal["all", "clustering"] = "all",
    drop_duration: bool = True,
    drop_unknown_marital: bool = False,
    sensitive: str | list[str] = "marital",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the Bank Marketing dataset (binary classification, clustering).

    ==============  ==========================================
    Samples         41,188 (41,108 with known marital status)
    Features        19 (9 numeric, 10 categorical), duration
    Target          y: "yes" or "no"
    Groups          marital status, age band
    ==============  ==========================================

    The file (6 MB) is taken from the folder named by the environment variable ``SKFAIR_DATA`` (as
    ``bank/bank-additional-full.csv``), else from scikit-learn's data home, else from the network;
    its digest is checked each time.

    Parameters
    ----------
    columns : {"all", "clustering"}, default="all"
        "clustering" keeps the six numeric features on which fair clusterings are compared in the
        literature [2]_: age, duration, euribor3m, nr.employed, cons.price.idx, campaign. They come
        unscaled; the literature standardises the columns, then gives each row length 1, and uses
        ``drop_unknown_marital=True``.
    drop_duration : bool, default=True
        Whether ``columns="all"`` leaves out the length of the call, which is known only when the
        call is over and the answer with it. "clustering" always includes it.
    drop_unknown_marital : bool, default=False
        Whether to leave out the 80 clients with marital status "unknown", which otherwise form a
        group.
    sensitive : str or list of str, default="marital"
        Attribute that forms the groups: "marital", or "age" for the bands "25-60" (both included)
        and "other", or another categorical column. A list for several attributes.
    {drop_sensitive, data_home, download_if_missing, as_frame, return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (n_samples, n_features)
            The features.
        target : Series of shape (n_samples,)
            "yes" or "no".
        {sensitive_features, feature_names, categories, DESCR, frame}
    {data_and_target}

    Raises
    ------
    ValueError
        If ``columns`` or ``sensitive`` names nothing known.
    {OSError}

    References
    ----------
    .. [1] S. Moro, P. Cortez and P. Rita, "A data-driven approach to predict the success of bank
       telemarketing", Decision Support Systems 62, 2014.
    .. [2] I. M. Ziko, J. Yuan, E. Granger and I. Ben Ayed, "Variational fair clustering", AAAI
       2021.

    Examples
    --------
    >>> from skfair.datasets import fetch_bank_marketing
    >>> bank = fetch_bank_marketing(
    ...     columns="clustering", drop_unknown_marital=True
    ... )  # doctest: +SKIP
    >>> bank.data.shape  # doctest: +SKIP
    (41108, 6)
    >>> bank.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {'married': 24928, 'single': 11568, 'divorced': 4612}
    """
    check_choice("columns", columns, ("all", "clustering"))
    table = _read(fetch(FULL, data_home=data_home, download_if_missing=download_if_missing))
    if drop_unknown_marital:
        table = table[table["marital"] != "unknown"].reset_index(drop=True)
        # The category is removed with its rows.
        table["marital"] = table["marital"].cat.remove_unused_categories()
    groups = select_groups(table.assign(age=_age_band(table["age"])), sensitive)
    if columns == "clustering":
        data = table[CLUSTERING_COLUMNS]
    else:
        data = table.drop(columns=[TARGET, "duration"] if drop_duration else TARGET)
    if drop_sensitive:
        data = data.drop(columns=sensitive, errors="ignore")
    return make_bunch(data, table[TARGET], groups, DESCR, as_frame=as_frame, return_X_y=return_X_y)


def _read(path):
    """Parse the file, with text as categories."""
    import pandas as pd

    table = pd.read_csv(path, sep=";")
    texts = table.drop(columns=TARGET).select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(texts, "category"))


def _age_band(age):
    """Whether the age is from 25 to 60, as a category."""
    bands = age.between(25, 60).map({True: "25-60", False: "other"})
    return bands.astype("category")
