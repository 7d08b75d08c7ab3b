"""The COMPAS recidivism dataset."""

import csv
import io
from os import PathLike
from typing import Any, Literal

from ._bunch import check_choice, make_bunch, select_groups
from ._docstrings import dataset_docs
from ._fetch import RemoteFile, fetch, find_user_file

PERSONAL = {"name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number"}


def anonymise(body):
    """Drop the columns that name people or their cases from the bytes of the public file."""
    # Columns to keep, by position, for header and rows.
    header, *rows = csv.reader(io.StringIO(body.decode(), newline=""))
    positions = [position for position, name in enumerate(header) if name not in PERSONAL]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([row[position] for position in positions] for row in [header, *rows])
    return text.getvalue().encode()


PUBLIC = RemoteFile(
    url=(
        "https://raw.githubusercontent.com/propublica/compas-analysis/"
        "bafff5da3f2e45eca6c2d5055faad269defd135a/compas-scores-two-years.csv"
    ),
    sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    path="compas/compas-scores-two-years.csv",
)
ANONYMOUS = RemoteFile(
    url=PUBLIC.url,
    sha256="a5e5c34bfd2d1f065bb12a44c0323421baf74b98b97d585915a0c2e1513ecaba",
    path="compas/compas-scores-two-years-anonymous.csv",
    clean=anonymise,
    public_sha256=PUBLIC.sha256,
)
TARGET = "two_year_recid"
FEATURES = [
    "sex",
    "age",
    "race",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
]
DESCR = """\
COMPAS: who was charged with another crime within two years?

Defendants of Broward County, Florida, who were scored by the software COMPAS in 2013 and 2014:
7,214 people, 6,172 of them after ProPublica's filter (screened within 30 days of the arrest; a
known outcome; no ordinary traffic offence; a score).

Target "two_year_recid": 1 (charged again within two years; 46 % after the filter) or 0.
Features known at the screening: sex, age (years), race, counts of earlier juvenile felonies,
juvenile misdemeanours, other juvenile offences and adult offences (juv_fel_count, juv_misd_count,
juv_other_count, priors_count), c_charge_degree (F felony, M misdemeanour).
Groups after the filter: race (African-American 51 %, Caucasian 34 %, Hispanic 8 %, Other 6 %,
Asian 31 people, Native American 11 people), sex (Male 81 %, Female 19 %).

The other columns of the file (columns="all") hold what happened afterwards (is_recid, r_*, vr_*,
start, end, event, in_custody, out_custody) and what COMPAS said (decile_score, score_text): they
serve to audit the score, not to predict the target. To be charged is not to be guilty, and who is
charged depends on whom the police watch. The public file names people: names, birth dates and case
numbers are dropped before anything is written to disk.

Source: J. Angwin, J. Larson, S. Mattu and L. Kirchner, "Machine bias", ProPublica, 23 May 2016.
Licence: none stated; ProPublica's repository has no licence file.
"""


@dataset_docs
def fetch_compas(
    *,
    columns: Literal["default", "all"] = "default",
    propublica_filter: bool = True,
    sensitive: str | list[str] = "race",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load ProPublica's COMPAS recidivism dataset (binary classification).

    ==============  ==========================================
    Samples         6,172 (7,214 without ProPublica's filter)
    Features        8 (5 numeric, 3 categorical)
    Target          charged again within two years: 0 or 1
    Groups          race, sex
    ==============  ==========================================

    The file (2 MB) is taken from the folder named by the environment variable ``SKFAIR_DATA`` (as
    ``compas/compas-scores-two-years-anonymous.csv``, or ProPublica's own
    ``compas/compas-scores-two-years.csv``), else from scikit-learn's data home, else from the
    network; its digest is checked each time. Names, birth dates and case numbers are never
    returned, and dropped from a download before it is saved.

    Parameters
    ----------
    columns : {"default", "all"}, default="default"
        "default" takes the eight features known at the screening, "all" every column of the file,
        including COMPAS's own scores and traces of the outcome.
    propublica_filter : bool, default=True
        Whether to keep only the people whom ProPublica analysed: ``days_b_screening_arrest`` from
        -30 to 30, ``is_recid`` not -1, ``c_charge_degree`` not "O", ``score_text`` not missing.
    sensitive : str or list of str, default="race"
        Attribute that forms the groups: "race", "sex", or another categorical column of ``data``.
        A list for several attributes.
    {drop_sensitive, data_home, download_if_missing, as_frame, return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (n_samples, n_features)
            The features. Missing values, which only ``columns="all"`` has, are nan.
        target : Series of shape (n_samples,)
            0 or 1.
        {sensitive_features, feature_names, categories, DESCR, frame}
    {data_and_target}

    Raises
    ------
    ValueError
        If ``columns`` or ``sensitive`` names nothing known.
    {OSError}

    References
    ----------
    .. [1] J. Angwin, J. Larson, S. Mattu and L. Kirchner, "Machine bias", ProPublica, 2016.

    Examples
    --------
    >>> from skfair.datasets import fetch_compas
    >>> compas = fetch_compas(sensitive="sex")  # doctest: +SKIP
    >>> compas.data.shape  # doctest: +SKIP
    (6172, 8)
    >>> compas.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {'Male': 4997, 'Female': 1175}
    """
    check_choice("columns", columns, ("default", "all"))
    # A user's copy of the public file is equivalent to the anonymous one.
    path = find_user_file(PUBLIC) or fetch(
        ANONYMOUS, data_home=data_home, download_if_missing=download_if_missing
    )
    table = _read(path, propublica_filter)
    data = table[FEATURES] if columns == "default" else table.drop(columns=TARGET)
    groups = select_groups(data, sensitive)
    if drop_sensitive:
        data = data.drop(columns=sensitive)
    return make_bunch(data, table[TARGET], groups, DESCR, as_frame=as_frame, return_X_y=return_X_y)


def _read(path, propublica_filter):
    """Parse the file without personal data; text becomes categories after the filter."""
    import pandas as pd

    table = pd.read_csv(path).drop(columns=PERSONAL, errors="ignore")
    if propublica_filter:
        # A missing score ("N/A") is read as nan, and a missing number of days fails `between`.
        analysed = (
            table["days_b_screening_arrest"].between(-30, 30)
            & (table["is_recid"] != -1)
            & (table["c_charge_degree"] != "O")
            & table["score_text"].notna()
        )
        table = table[analysed].reset_index(drop=True)
    texts = table.select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(texts, "category"))
