"""Adult and ACSIncome."""

from os import PathLike
from typing import Any, Literal

import pandas as pd

from skfair.datasets._fetch import (
    SOURCES,
    categorize_texts,
    dataset_docs,
    fetch_csv,
    make_bunch,
    select_sensitive,
)
from skfair.utils._checks import check_choice

ADULT_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
).split()
CLUSTERING_COLUMNS = ["age", "fnlwgt", "education-num", "capital-gain", "hours-per-week"]
ADULT_DESCR = """\
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
    table = _read_adult(data_home, download_if_missing)
    # Rows of the subset, numbered from 0.
    table = (table if subset == "all" else table.loc[[subset]]).reset_index(drop=True)
    groups = select_sensitive(table, sensitive)
    data = table[CLUSTERING_COLUMNS] if columns == "clustering" else table.drop(columns="income")
    if drop_sensitive:
        data = data.drop(columns=sensitive, errors="ignore")
    return make_bunch(data, table["income"], groups, ADULT_DESCR, as_frame, return_X_y)


def _read_adult(data_home, download_if_missing):
    """Parse the files into one table, indexed by (name of the file, row within it)."""
    # In these files "|" opens a comment, as the first line of the test file is.
    layout = {"names": ADULT_COLUMNS, "skipinitialspace": True, "comment": "|", "na_values": "?"}
    tables = {
        subset: fetch_csv(
            SOURCES[f"adult/adult.{extension}"], data_home, download_if_missing, **layout
        )
        for subset, extension in [("train", "data"), ("test", "test")]
    }
    table = pd.concat(tables)
    # Labels of the test file end with a dot.
    table["income"] = table["income"].str.rstrip(".")
    return categorize_texts(table, "income")


_RACES = {1: "White", 2: "Black", 3: "Asian", 4: "American Indian or Alaska Native", 5: "Other"}
ACS_INCOME_DESCR = """\
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
    table = fetch_csv(SOURCES["acs_income/OK_0.csv"], data_home, download_if_missing).astype(int)
    coded = ["COW", "MAR", "OCCP", "POBP", "RELP", "SEX", "RAC1P"]
    # Named groups of the codes. "race" merges all codes but one.
    race5 = table["RAC1P"].map(_RACES)
    race = race5.where(race5 == "White", "Non-White")
    sex = table["SEX"].map({1: "Male", 2: "Female"})
    attributes = table[[]].assign(race=race, race5=race5, sex=sex).astype("category")
    groups = select_sensitive(attributes, sensitive)
    data = table.drop(columns="PINCP").astype(dict.fromkeys(coded, "category"))
    if drop_sensitive:
        names = [sensitive] if isinstance(sensitive, str) else sensitive
        data = data.drop(columns={"SEX" if name == "sex" else "RAC1P" for name in names})
    return make_bunch(data, table["PINCP"], groups, ACS_INCOME_DESCR, as_frame, return_X_y)
