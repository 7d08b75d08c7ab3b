"""The law school admissions dataset."""

from os import PathLike
from typing import Any

from ._bunch import make_bunch, select_groups
from ._docstrings import dataset_docs
from ._fetch import RemoteFile, fetch

CLEAN = RemoteFile(
    url=(
        "https://raw.githubusercontent.com/tailequy/fairness_dataset/"
        "abb5a18b822ba56a221c5311082e192e85000b95/experiments/data/law_school_clean.csv"
    ),
    sha256="23c1b173f3480beb7afc4957b107a9917dfc4a8dc9d87ea6034ec35222152452",
    path="law_school/law_school_clean.csv",
)
TARGET = "pass_bar"
DESCR = """\
Law school: which students pass the bar examination?

20,798 students who entered law schools of the United States in 1991, followed by the Law School
Admission Council, as cleaned for the survey of Le Quy et al. (2022).

Target "pass_bar": 1 (passed; 89 %) or 0.
Features: decile1b, decile3 (decile of the grades in the first and the third year), lsat (score of
the admission test), ugpa (grade average before law school), zfygpa, zgpa (standardised grade
average of the first year and of all), fulltime (1 full time, 2 part time), fam_inc (family income,
1 lowest to 5), sex (the file's column "male"), tier (of the school, 1 to 6), race.
Groups: race (White 84 %, Non-White 16 %; 92 % and 72 % pass), sex (male 56 %, female 44 %; 90 % and
88 % pass).
Missing: nothing.

Sources: L. F. Wightman, "LSAC national longitudinal bar passage study", 1998; T. Le Quy, A. Roy,
V. Iosifidis, W. Zhang and E. Ntoutsi, "A survey on datasets for fairness-aware machine learning",
WIREs Data Mining and Knowledge Discovery 12(3), 2022.
Licence: none stated, neither for the data nor by the repository that serves it; the authors of the
survey ask to be cited.
"""


@dataset_docs
def fetch_law_school(
    *,
    sensitive: str | list[str] = "race",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the law school dataset (binary classification).

    ==============  ===================================
    Samples         20,798
    Features        11 (9 numeric, 2 categorical)
    Target          passed the bar examination: 0 or 1
    Groups          race, sex
    ==============  ===================================

    The file (1 MB) is taken from the folder named by the environment variable ``SKFAIR_DATA`` (as
    ``law_school/law_school_clean.csv``), else from scikit-learn's data home, else from the
    network; its digest is checked each time.

    Parameters
    ----------
    sensitive : str or list of str, default="race"
        Attribute that forms the groups: "race" or "sex"; a list for both.
    {drop_sensitive, data_home, download_if_missing, as_frame, return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (n_samples, n_features)
            The features.
        target : Series of shape (n_samples,)
            0 or 1.
        {sensitive_features, feature_names, categories, DESCR, frame}
    {data_and_target}

    Raises
    ------
    ValueError
        If ``sensitive`` names nothing known.
    {OSError}

    References
    ----------
    .. [1] L. F. Wightman, "LSAC national longitudinal bar passage study", 1998.
    .. [2] T. Le Quy, A. Roy, V. Iosifidis, W. Zhang and E. Ntoutsi, "A survey on datasets for
       fairness-aware machine learning", WIREs Data Mining and Knowledge Discovery 12(3), 2022.

    Examples
    --------
    >>> from skfair.datasets import fetch_law_school
    >>> law = fetch_law_school()  # doctest: +SKIP
    >>> law.data.shape  # doctest: +SKIP
    (20798, 11)
    >>> law.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {'White': 17491, 'Non-White': 3307}
    """
    table = _read(fetch(CLEAN, data_home=data_home, download_if_missing=download_if_missing))
    groups = select_groups(table, sensitive)
    data = table.drop(columns=TARGET)
    if drop_sensitive:
        data = data.drop(columns=sensitive)
    return make_bunch(data, table[TARGET], groups, DESCR, as_frame=as_frame, return_X_y=return_X_y)


def _read(path):
    """Parse the file, with named categories."""
    import pandas as pd

    # The file codes sex as "male", 1 or 0.
    table = pd.read_csv(path).rename(columns={"male": "sex"})
    table["sex"] = table["sex"].map({1: "male", 0: "female"})
    return table.astype({"race": "category", "sex": "category", TARGET: int})
