"""Data sets of people: income, marketing, recidivism, law school, patients."""

from __future__ import annotations

from os import PathLike
from typing import Literal

import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.utils import Bunch

from skfair._utils.checks import check_choice, check_flag
from skfair._utils.tables import Table
from skfair.datasets._fetch import (
    PERSONAL_COLUMNS,
    SOURCES,
    categorize_texts,
    check_fetch_options,
    dataset_docs,
    fetch,
    fetch_csv,
    find_user_file,
    make_bunch,
    select_sensitive,
)

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
) -> Bunch | tuple[Table, Table]:
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
    features = (
        table[CLUSTERING_COLUMNS] if columns == "clustering" else table.drop(columns="income")
    )
    if check_flag("drop_sensitive", drop_sensitive):
        features = features.drop(columns=sensitive, errors="ignore")
    return make_bunch(features, table["income"], groups, ADULT_DESCR, as_frame, return_X_y)


def _read_adult(data_home: PathLike[str] | str | None, download_if_missing: bool) -> pd.DataFrame:
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
Native, 5 Pacific Islander, other, or several races). OCCP has 492 codes, and
HistGradientBoostingClassifier takes 255 categories at most: encode it, or leave it out.
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
    sensitive: Literal["race", "race5", "sex"] | list[str] = "race",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[Table, Table]:
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
    features = table.drop(columns="PINCP").astype(dict.fromkeys(coded, "category"))
    if check_flag("drop_sensitive", drop_sensitive):
        names = [sensitive] if isinstance(sensitive, str) else sensitive
        features = features.drop(columns={"SEX" if name == "sex" else "RAC1P" for name in names})
    return make_bunch(features, table["PINCP"], groups, ACS_INCOME_DESCR, as_frame, return_X_y)


BANK_MARKETING_DESCR = """\
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
    columns: Literal["default", "all", "clustering"] = "default",
    sensitive: str | list[str] = "marital",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[Table, Table]:
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
    columns : {"default", "all", "clustering"}, default="default"
        "default" leaves out the length of the call, which is known only when the call is over and
        the answer with it; "all" includes it. "clustering" keeps the six numeric features on which
        fair clusterings are compared in the literature [2]_: age, duration, euribor3m, nr.employed,
        cons.price.idx, campaign. They come unscaled; the literature standardises the columns, then
        gives each row length 1, and leaves out the 80 clients whose marital status is "unknown".
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
    >>> bank = fetch_bank_marketing(columns="clustering")  # doctest: +SKIP
    >>> bank.data.shape  # doctest: +SKIP
    (41188, 6)
    >>> bank.sensitive_features.value_counts().to_dict()  # doctest: +SKIP
    {'married': 24928, 'single': 11568, 'divorced': 4612, 'unknown': 80}
    """
    check_choice("columns", columns, ("default", "all", "clustering"))
    table = fetch_csv(
        SOURCES["bank/bank-additional-full.csv"], data_home, download_if_missing, sep=";"
    )
    table = categorize_texts(table, "y")
    # The age band is an attribute, the age a feature.
    bands = table["age"].between(25, 60).map({True: "25-60", False: "other"}).astype("category")
    groups = select_sensitive(table.assign(age=bands), sensitive)
    if columns == "clustering":
        features = table["age duration euribor3m nr.employed cons.price.idx campaign".split()]
    else:
        features = table.drop(columns="y" if columns == "all" else ["y", "duration"])
    if check_flag("drop_sensitive", drop_sensitive):
        features = features.drop(columns=sensitive, errors="ignore")
    return make_bunch(features, table["y"], groups, BANK_MARKETING_DESCR, as_frame, return_X_y)


_COMPAS_FEATURES = (
    "sex age race juv_fel_count juv_misd_count juv_other_count priors_count c_charge_degree"
).split()
COMPAS_DESCR = """\
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
    subset: Literal["analysed", "all"] = "analysed",
    sensitive: str | list[str] = "race",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[Table, Table]:
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
    subset : {"analysed", "all"}, default="analysed"
        "analysed" keeps only the people whom ProPublica analysed: ``days_b_screening_arrest`` from
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
        If ``columns``, ``subset`` or ``sensitive`` names nothing known.
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
    check_choice("subset", subset, ("analysed", "all"))
    table = _read_compas(data_home, download_if_missing)
    if subset == "analysed":
        # A missing score ("N/A") is read as nan, and a missing number of days fails `between`.
        analysed = (
            table["days_b_screening_arrest"].between(-30, 30)
            & (table["is_recid"] != -1)
            & (table["c_charge_degree"] != "O")
            & table["score_text"].notna()
        )
        table = table[analysed].reset_index(drop=True)
    # Categories are those that the filter leaves.
    table = categorize_texts(table, "two_year_recid")
    features = (
        table[_COMPAS_FEATURES] if columns == "default" else table.drop(columns="two_year_recid")
    )
    groups = select_sensitive(features, sensitive)
    if check_flag("drop_sensitive", drop_sensitive):
        features = features.drop(columns=sensitive)
    return make_bunch(features, table["two_year_recid"], groups, COMPAS_DESCR, as_frame, return_X_y)


def _read_compas(data_home: PathLike[str] | str | None, download_if_missing: bool) -> pd.DataFrame:
    """Parse the file without personal data."""
    check_fetch_options(data_home, download_if_missing)
    name = "compas/compas-scores-two-years.csv"
    # A user's copy of the public file is equivalent to the anonymous one.
    path = find_user_file(SOURCES[name]) or fetch(
        SOURCES[name.replace(".csv", "-anonymous.csv")],
        data_home=data_home,
        download_if_missing=download_if_missing,
    )
    return pd.read_csv(path).drop(columns=PERSONAL_COLUMNS, errors="ignore")


LAW_SCHOOL_DESCR = """\
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
) -> Bunch | tuple[Table, Table]:
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
    table = fetch_csv(SOURCES["law_school/law_school_clean.csv"], data_home, download_if_missing)
    # The file codes sex as "male", 1 or 0.
    table = table.rename(columns={"male": "sex"})
    table["sex"] = table["sex"].map({1: "male", 0: "female"})
    table = table.astype({"race": "category", "sex": "category", "pass_bar": int})
    groups = select_sensitive(table, sensitive)
    features = table.drop(columns="pass_bar")
    if check_flag("drop_sensitive", drop_sensitive):
        features = features.drop(columns=sensitive)
    return make_bunch(features, table["pass_bar"], groups, LAW_SCHOOL_DESCR, as_frame, return_X_y)


PATIENTS_DESCR = """\
Patients: how far has diabetes progressed after one year?

442 patients; the data is bundled with scikit-learn (sklearn.datasets.load_diabetes), here in the
units of the source instead of scaled columns.

Target "target": disease progression one year after baseline (a number, 25 to 346).
Features: age (years), sex (code 1 or 2), bmi (body mass index), bp (mean blood pressure), s1 to s6
(blood serum: total cholesterol, low- and high-density lipoproteins, total / high-density
cholesterol, probably the log of triglycerides, blood sugar).
Groups: sex, "sex 1" (235 patients) and "sex 2" (207). The source does not say which code stands
for women and which for men, so neither do the labels.

Source: B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle regression", Annals of
Statistics 32, 2004.
"""


@dataset_docs
def load_patients(
    *, drop_sensitive: bool = False, as_frame: bool = True, return_X_y: bool = False
) -> Bunch | tuple[Table, Table]:
    """Load scikit-learn's diabetes patients with their sex as group (regression, clustering).

    ==============  ========================================
    Samples         442
    Features        10, numeric, in the units of the source
    Target          disease progression, 25 to 346
    Groups          sex ("sex 1": 235, "sex 2": 207)
    ==============  ========================================

    Nothing is downloaded. The source codes sex as 1 and 2 without saying which is which; the
    labels keep these codes rather than guess.

    Parameters
    ----------
    drop_sensitive : bool, default=False
        Whether to leave the column sex out of ``data``.
    as_frame : bool, default=True
        If False, arrays instead of pandas objects.
    {return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (442, 10), or (442, 9) without sex
            The features, float64, not scaled.
        target : Series of shape (442,)
            Disease progression one year after baseline.
        sensitive_features : Series of shape (442,)
            "sex 1" or "sex 2".
        {feature_names, no_categories}
        DESCR : str
            Source, meaning of the columns.
        frame : DataFrame of shape (442, n_features + 1) or None
            ``data`` and ``target``; None if ``as_frame=False``.
    {data_and_target}

    References
    ----------
    .. [1] B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle regression", Annals
       of Statistics 32, 2004.

    Examples
    --------
    >>> from skfair.datasets import load_patients
    >>> patients = load_patients(drop_sensitive=True)
    >>> patients.data.shape
    (442, 9)
    >>> patients.sensitive_features.value_counts().to_dict()
    {'sex 1': 235, 'sex 2': 207}
    """
    source = load_diabetes(scaled=False, as_frame=True)
    groups = source.data["sex"].map({1.0: "sex 1", 2.0: "sex 2"}).astype("category")
    drops = check_flag("drop_sensitive", drop_sensitive)
    features = source.data.drop(columns="sex") if drops else source.data
    return make_bunch(features, source.target, groups, PATIENTS_DESCR, as_frame, return_X_y)
