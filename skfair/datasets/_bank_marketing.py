"""The Bank Marketing dataset."""

from ._bunch import check_choice, deliver, make_bunch, pick_groups
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
choose whom to call. It is left out unless it is asked for.

Source: S. Moro, P. Cortez and P. Rita, "A data-driven approach to predict the success of bank
telemarketing", Decision Support Systems 62, 2014, doi:10.1016/j.dss.2014.03.001.
Licence: CC BY 4.0 (as the UCI Machine Learning Repository states); the authors ask to be cited.
"""


def fetch_bank_marketing(
    *,
    columns="all",
    drop_duration=True,
    drop_unknown_marital=False,
    sensitive="marital",
    drop_sensitive=False,
    data_home=None,
    download_if_missing=True,
    as_frame=True,
    return_X_y=False,
):
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
        call is over and the answer with it. "clustering" always has it.
    drop_unknown_marital : bool, default=False
        Whether to leave out the 80 clients whose marital status is "unknown", which would
        otherwise be a group of its own.
    sensitive : str or list of str, default="marital"
        What forms the groups: "marital", or "age" for the bands "25-60" (both included) and
        "other", or another categorical column; a list for several attributes.
    drop_sensitive : bool, default=False
        Whether to leave the columns named in ``sensitive`` out of ``data``.
    data_home : str or path-like, default=None
        Folder of the cache; scikit-learn's data home by default.
    download_if_missing : bool, default=True
        If False, raise OSError instead of using the network.
    as_frame : bool, default=True
        If False, arrays instead of pandas objects: ``data`` is then float64, with each category
        replaced by its position in ``categories`` (a name, not a quantity: one-hot encode it
        before measuring distances).
    return_X_y : bool, default=False
        If True, return ``(data, target)`` only.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (n_samples, n_features)
            The features.
        target : Series of shape (n_samples,)
            "yes" or "no".
        sensitive_features : Series (n_samples,) or DataFrame (n_samples, n_attributes)
            The groups, in the order of the rows of ``data``; a DataFrame if ``sensitive`` is a
            list.
        feature_names : list of str
            The columns of ``data``.
        categories : dict of str to list of str
            The categories of each categorical feature, in the order of their codes.
        DESCR : str
            Source, licence, meaning of the columns.
        frame : DataFrame of shape (n_samples, n_features + 1) or None
            ``data`` and ``target``; None if ``as_frame=False``.
    (data, target) : tuple if ``return_X_y=True``

    Raises
    ------
    ValueError
        If ``columns`` or ``sensitive`` names nothing known.
    OSError
        If the file is neither on disk nor to be had from the network, or its digest is wrong.

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
        table["marital"] = table["marital"].cat.remove_unused_categories()
    groups = pick_groups(table.assign(age=_age_band(table["age"])), sensitive)
    if columns == "clustering":
        data = table[CLUSTERING_COLUMNS]
    else:
        data = table.drop(columns=[TARGET, "duration"] if drop_duration else TARGET)
    if drop_sensitive:
        data = data.drop(columns=sensitive, errors="ignore")
    bunch = make_bunch(data, table[TARGET], groups, DESCR)
    return deliver(bunch, as_frame=as_frame, return_X_y=return_X_y)


def _read(path):
    import pandas as pd

    table = pd.read_csv(path, sep=";")
    texts = table.drop(columns=TARGET).select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(texts, "category"))


def _age_band(age):
    bands = age.between(25, 60).map({True: "25-60", False: "other"})
    return bands.astype("category")
