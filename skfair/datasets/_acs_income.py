"""The ACSIncome dataset, Oklahoma 2018."""

from os import PathLike
from typing import Any, Literal

from ._bunch import make_bunch, select_groups
from ._docstrings import dataset_docs
from ._fetch import RemoteFile, fetch

OKLAHOMA = RemoteFile(
    url=(
        "https://raw.githubusercontent.com/xheilmann/FeDa4Fair/"
        "4fb955679ed0949fcf5001106340e29441638886/"
        "src/FeDa4Fair/data/cross_silo_value_final/OK_0.csv"
    ),
    sha256="6c8277305fc105c137bc9969f27da9331ae0bd07ad5f1777a68d92dbd7caeba5",
    path="acs_income/OK_0.csv",
)
TARGET = "PINCP"
CODED = ["COW", "MAR", "OCCP", "POBP", "RELP", "SEX", "RAC1P"]
RACES = {
    1: "White",
    2: "Black",
    3: "Asian",
    4: "American Indian or Alaska Native",
    5: "Other",
}
SEXES = {1: "Male", 2: "Female"}
COLUMN_OF = {"race": "RAC1P", "race5": "RAC1P", "sex": "SEX"}
DESCR = """\
ACSIncome, Oklahoma: who earned more than 50,000 dollars in 2018?

17,917 working adults of Oklahoma in the American Community Survey of 2018 (public use microdata),
chosen as folktables' ACSIncome task does: over 16, at least one hour of work a week, at least 100
dollars of income.

Target "PINCP": 1 (income above 50,000 dollars; 28 %) or 0.
Quantities: AGEP (age, years), SCHL (schooling, 1 none to 24 doctorate), WKHP (hours of work a
week).
Codes, categories without an order: COW (works for 1 a company, 2 a non-profit, 3 local,
4 state, 5 federal government, 6 themselves, 7 their own incorporated business, 8 a family business
without pay); MAR (1 married, 2 not); OCCP (occupation), POBP (place of birth) and RELP
(relationship to the first person of the household, who is 0) as in the Census Bureau's dictionary
of 2018; SEX (1 male, 2 female); RAC1P (1 White, 2 Black, 3 Asian, 4 American Indian or Alaska
Native, 5 Pacific Islander, other, or several races).
Groups: race (White 75 %, Non-White 25 %), race5 (the five codes of RAC1P), sex (Male 53 %, Female
47 %; 37 % and 18 % earn more than 50,000).
Missing: nothing. 433 rows repeat another one.

MAR and RAC1P are coarser here than in the Census file (5 and 9 codes), and dollars and weights are
left out, all by the source below, whose extract thins out some states, but not this one.

Source: X. Heilmann, L. Corbucci, M. Cerrato and A. Monreale, FeDa4Fair, after F. Ding, M. Hardt,
J. Miller and L. Schmidt, "Retiring Adult: new datasets for fair machine learning", NeurIPS 2021.
Licence: the data is the US Census Bureau's, under its terms of service
(www.census.gov/data/developers/about/terms-of-service.html); the extract names no licence, the code
of the repository that serves it is GPL-3.0.
"""


@dataset_docs
def fetch_acs_income(
    *,
    sensitive: Literal["race", "race5", "sex"] | list = "race",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the ACSIncome dataset of Oklahoma (binary classification).

    ==============  =========================================
    Samples         17,917
    Features        10 (3 numeric, 7 categorical)
    Target          income above 50,000 dollars: 0 or 1
    Groups          race (two groups), race5 (five), sex
    ==============  =========================================

    The file (1 MB) is taken from the folder named by the environment variable ``SKFAIR_DATA`` (as
    ``acs_income/OK_0.csv``), else from scikit-learn's data home, else from the network. Its digest
    is checked each time.

    Parameters
    ----------
    sensitive : {"race", "race5", "sex"} or list of these, default="race"
        Attribute that forms the groups: "race" is "White" against "Non-White", "race5" the five
        codes of the column RAC1P by name, "sex" is "Male" or "Female". A list for several
        attributes.
    drop_sensitive : bool, default=False
        Whether to leave the columns that form the groups (RAC1P, SEX) out of ``data``.
    {data_home, download_if_missing, as_frame, return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (n_samples, n_features)
            The features, under the Census Bureau's names.
        target : Series of shape (n_samples,)
            0 or 1.
        {sensitive_features, feature_names}
        categories : dict of str to list of int
            The codes of each categorical feature, in ascending order.
        DESCR : str
            Source, licence, meaning of the columns and codes.
        {frame}
    {data_and_target}

    Raises
    ------
    ValueError
        If ``sensitive`` names nothing known.
    {OSError}

    References
    ----------
    .. [1] F. Ding, M. Hardt, J. Miller and L. Schmidt, "Retiring Adult: new datasets for fair
       machine learning", NeurIPS 2021.

    Examples
    --------
    >>> from skfair.datasets import fetch_acs_income
    >>> acs = fetch_acs_income(drop_sensitive=True)  # doctest: +SKIP
    >>> acs.data.shape  # doctest: +SKIP
    (17917, 9)
    >>> acs.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {'White': 13350, 'Non-White': 4567}
    """
    import pandas as pd

    path = fetch(OKLAHOMA, data_home=data_home, download_if_missing=download_if_missing)
    table = pd.read_csv(path).astype(int).astype(dict.fromkeys(CODED, "category"))
    groups = select_groups(_name_groups(table), sensitive)
    data = table.drop(columns=TARGET)
    if drop_sensitive:
        names = [sensitive] if isinstance(sensitive, str) else sensitive
        data = data.drop(columns={COLUMN_OF[name] for name in names})
    return make_bunch(data, table[TARGET], groups, DESCR, as_frame=as_frame, return_X_y=return_X_y)


def _name_groups(table):
    """Table of the named groups of the codes, one categorical column per choice."""
    # "race" merges all codes but one.
    race5 = table["RAC1P"].astype(int).map(RACES)
    race = race5.where(race5 == "White", "Non-White")
    sex = table["SEX"].astype(int).map(SEXES)
    return table[[]].assign(race=race, race5=race5, sex=sex).astype("category")
