"""Data sets in tables: their files are read, cleaned and returned as bunches."""

import io
import itertools
import re
from os import PathLike
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.datasets import load_diabetes

from ._bunch import categorize_texts, check_choice, make_bunch, select_groups
from ._docstrings import dataset_docs
from ._fetch import fetch, find_user_file, read_csv
from ._sources import PERSONAL, SOURCES

_RACES = {1: "White", 2: "Black", 3: "Asian", 4: "American Indian or Alaska Native", 5: "Other"}
ACS_INCOME = """\
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
    table = read_csv("acs_income/OK_0.csv", data_home, download_if_missing).astype(int)
    coded = ["COW", "MAR", "OCCP", "POBP", "RELP", "SEX", "RAC1P"]
    # Named groups of the codes. "race" merges all codes but one.
    race5 = table["RAC1P"].map(_RACES)
    race = race5.where(race5 == "White", "Non-White")
    sex = table["SEX"].map({1: "Male", 2: "Female"})
    attributes = table[[]].assign(race=race, race5=race5, sex=sex).astype("category")
    groups = select_groups(attributes, sensitive)
    data = table.drop(columns="PINCP").astype(dict.fromkeys(coded, "category"))
    if drop_sensitive:
        names = [sensitive] if isinstance(sensitive, str) else sensitive
        data = data.drop(columns={"SEX" if name == "sex" else "RAC1P" for name in names})
    return make_bunch(data, table["PINCP"], groups, ACS_INCOME, as_frame, return_X_y)


BANK_MARKETING = """\
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
    table = read_csv("bank/bank-additional-full.csv", data_home, download_if_missing, sep=";")
    table = categorize_texts(table, "y")
    if drop_unknown_marital:
        table = table[table["marital"] != "unknown"].reset_index(drop=True)
        # The category is removed with its rows.
        table["marital"] = table["marital"].cat.remove_unused_categories()
    # The age band is an attribute, the age a feature.
    bands = table["age"].between(25, 60).map({True: "25-60", False: "other"}).astype("category")
    groups = select_groups(table.assign(age=bands), sensitive)
    if columns == "clustering":
        data = table["age duration euribor3m nr.employed cons.price.idx campaign".split()]
    else:
        data = table.drop(columns=["y", "duration"] if drop_duration else "y")
    if drop_sensitive:
        data = data.drop(columns=sensitive, errors="ignore")
    return make_bunch(data, table["y"], groups, BANK_MARKETING, as_frame, return_X_y)


_SHARES = ["racepctblack", "racePctHisp", "racePctAsian", "racePctWhite"]
COMMUNITIES_CRIME = """\
Communities and Crime: how violent is a community?

1,994 communities of the United States: census of 1990, police survey of 1990, crimes of 1995. Every
number was scaled to [0, 1] and rounded to two decimals at the source; values beyond three standard
deviations became 0 or 1.

Target "ViolentCrimesPerPop": violent crimes per person, scaled (mean .24, median .15).
Features: 122 numbers on people, income, families, housing and police. The five columns that say
where a community lies (state, county, community, communityname, fold) are left out.
Groups: communities whose share of a race (racepctblack, racePctHisp, racePctAsian, racePctWhite;
no percentage, but scaled like the rest) is above the median community's, or not. The median of
racepctblack is .06; 49 % are above.
Missing: 22 columns of the police survey in 84 % of the rows; OtherPerCap in one row.

Source: M. Redmond, UCI Machine Learning Repository, 2009, doi:10.24432/C53W3X.
Licence: CC BY 4.0 (as UCI states).
"""


@dataset_docs
def fetch_communities_crime(
    *,
    threshold: float | None = None,
    missing: Literal["drop", "keep"] = "drop",
    sensitive: str | list[str] = "racepctblack",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the Communities and Crime dataset (regression, binary classification).

    ==============  ===============================================
    Samples         1,994 communities
    Features        99 without missing values, 122 with, all in [0, 1]
    Target          violent crimes per person, in [0, 1]; or 0, 1
    Groups          share of a race above its median, or not
    ==============  ===============================================

    The files (1 MB) are taken from the folder named by the environment variable ``SKFAIR_DATA``
    (as ``communities_crime/communities.data`` and ``communities.names``), else from scikit-learn's
    data home, else from the network; their digest is checked each time.

    Parameters
    ----------
    threshold : float, default=None
        If given, the target is 1 for communities with more violent crimes than this, else 0; 0.15
        is the median, 0.238 the mean.
    missing : {"drop", "keep"}, default="drop"
        "drop" leaves out the 23 features with a missing value; "keep" gives them with nan.
    sensitive : str or list of str, default="racepctblack"
        The share that forms the groups "above median" and "up to median": "racepctblack",
        "racePctHisp", "racePctAsian" or "racePctWhite"; a list for several attributes.
    {drop_sensitive, data_home, download_if_missing}
    as_frame : bool, default=True
        If False, arrays instead of pandas objects.
    {return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (n_samples, n_features)
            The features, float64.
        target : Series of shape (n_samples,)
            Violent crimes per person, scaled; 0 or 1 with ``threshold``.
        {sensitive_features, feature_names, no_categories, DESCR, frame}
    {data_and_target}

    Raises
    ------
    ValueError
        If ``missing`` or ``sensitive`` names nothing known.
    {OSError}

    References
    ----------
    .. [1] M. Redmond, "Communities and Crime", UCI Machine Learning Repository, 2009.

    Examples
    --------
    >>> from skfair.datasets import fetch_communities_crime
    >>> crime = fetch_communities_crime(threshold=0.15)  # doctest: +SKIP
    >>> crime.data.shape  # doctest: +SKIP
    (1994, 99)
    >>> crime.target.value_counts().to_dict()  # doctest: +SKIP
    {0: 1001, 1: 993}
    """
    check_choice("missing", missing, ("drop", "keep"))
    table = _read_communities(data_home, download_if_missing)
    groups = select_groups(_halves(table[_SHARES]), sensitive)
    place = ["state", "county", "community", "communityname", "fold"]
    data = table.drop(columns=[*place, "ViolentCrimesPerPop"])
    if missing == "drop":
        data = data.dropna(axis="columns")
    if drop_sensitive:
        data = data.drop(columns=sensitive)
    target = table["ViolentCrimesPerPop"]
    if threshold is not None:
        target = (target > threshold).astype(int)
    return make_bunch(data, target, groups, COMMUNITIES_CRIME, as_frame, return_X_y)


def communities_crime_groups(*, data_home=None, download_if_missing=True):
    """Membership in 704 overlapping groups of communities (a boolean csr_array), and their names.

    A group is "share of Black people at least a, of Hispanic people at least b, of Asian people at
    least c". Each of a, b and c is a quantile of its share at 0, 0.1, ..., 0.9. The first excludes
    no community, so that groups by one or two shares are included. Of the 1,000 combinations those
    with more than 1 % of the communities, but not all, are kept, and one of several with the same
    members. The 535 groups of H. Narasimhan et al., "Approximate heavily-constrained learning with
    Lagrange multiplier models", NeurIPS 2020, are made from such thresholds too, but their
    description is not sufficient to reproduce them.
    """
    table = _read_communities(data_home, download_if_missing)
    thresholds = [_threshold_conditions(table[share]) for share in _SHARES[:3]]
    # The first of several groups with the same mask is kept.
    groups = {}
    for conditions in itertools.product(*thresholds):
        # Members of the intersection of one condition per share.
        mask = np.logical_and.reduce([members for _, members in conditions])
        if 0.01 < mask.mean() < 1:
            name = " & ".join(text for text, members in conditions if not members.all())
            groups.setdefault(mask.tobytes(), (name, mask))
    names, masks = zip(*groups.values(), strict=True)
    return sparse.csr_array(np.column_stack(masks)), list(names)


def _threshold_conditions(share):
    """Ten conditions on a share, as pairs (text, members)."""
    # The deciles from 0 on; the lowest condition holds for all communities.
    quantiles = np.quantile(share, np.arange(10) / 10, method="inverted_cdf")
    return [(f"{share.name} >= {value:g}", share.to_numpy() >= value) for value in quantiles]


def _halves(shares):
    """Whether each share is above its median, as categories."""
    above = shares > shares.median()
    return above.map({True: "above median", False: "up to median"}.get).astype("category")


def _read_communities(data_home, download_if_missing):
    """Parse the table, with the column names in the header of the second file."""
    where = {"data_home": data_home, "download_if_missing": download_if_missing}
    header = fetch(SOURCES["communities_crime/communities.names"], **where)
    names = re.findall(r"^@attribute (\S+)", header.read_text("latin-1"), flags=re.MULTILINE)
    path = "communities_crime/communities.data"
    # A copy in one block, else pandas warns at the next column that is added.
    return read_csv(path, **where, names=names, na_values="?").copy()


_COMPAS_FEATURES = (
    "sex age race juv_fel_count juv_misd_count juv_other_count priors_count c_charge_degree"
).split()
COMPAS = """\
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
    table = _read_compas(data_home, download_if_missing)
    if propublica_filter:
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
    data = table[_COMPAS_FEATURES] if columns == "default" else table.drop(columns="two_year_recid")
    groups = select_groups(data, sensitive)
    if drop_sensitive:
        data = data.drop(columns=sensitive)
    return make_bunch(data, table["two_year_recid"], groups, COMPAS, as_frame, return_X_y)


def _read_compas(data_home, download_if_missing):
    """Parse the file without personal data."""
    import pandas as pd

    name = "compas/compas-scores-two-years.csv"
    # A user's copy of the public file is equivalent to the anonymous one.
    path = find_user_file(SOURCES[name]) or fetch(
        SOURCES[name.replace(".csv", "-anonymous.csv")],
        data_home=data_home,
        download_if_missing=download_if_missing,
    )
    return pd.read_csv(path).drop(columns=PERSONAL, errors="ignore")


DS577 = """\
DS-577: three clusters in the plane.

577 points; target "class": the cluster, 1 (196 points), 2 (201) or 3 (180).
Features: x, y.
Groups: three, dealt in turn to the points of each cluster (the first gets group 0, the second
group 1, ...), so that the true clusters are fair. The file has no groups, and the studies of fair
clustering that use it with three groups do not say how they drew them.

Source: M. C. Su, C. H. Chou and C. C. Hsieh, "Fuzzy c-means algorithm with a point symmetry
distance", International Journal of Fuzzy Systems 7(4), 2005.
Licence: none stated; the file asks for citation of the article.
"""


@dataset_docs
def fetch_ds577(
    *,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load DS-577: three clusters in the plane, with three groups dealt to them (clustering).

    ==============  ========================
    Samples         577
    Features        2, numeric
    Target          cluster: 1, 2 or 3
    Groups          0, 1 or 2
    ==============  ========================

    The file (12 kB) is taken from the folder named by the environment variable ``SKFAIR_DATA`` (as
    ``synthetic2d/DS-577.arff``), else from scikit-learn's data home, else from the network; its
    digest is checked each time.

    Parameters
    ----------
    {data_home, download_if_missing}
    as_frame : bool, default=True
        If False, arrays instead of pandas objects.
    {return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (577, 2)
            The points.
        target : Series of shape (577,)
            The cluster, 1 to 3.
        sensitive_features : Series of shape (577,)
            The group, 0 to 2: not in the file, but dealt in turn to the points of each cluster.
        {feature_names, no_categories}
        DESCR : str
            Source, licence, how the groups were made.
        frame : DataFrame of shape (577, 3) or None
            ``data`` and ``target``; None if ``as_frame=False``.
    {data_and_target}

    Raises
    ------
    {OSError}

    References
    ----------
    .. [1] M. C. Su, C. H. Chou and C. C. Hsieh, "Fuzzy c-means algorithm with a point symmetry
       distance", International Journal of Fuzzy Systems 7(4), 2005.

    Examples
    --------
    >>> from skfair.datasets import fetch_ds577
    >>> points = fetch_ds577()  # doctest: +SKIP
    >>> points.target.value_counts(sort=False).sort_index().to_dict()  # doctest: +SKIP
    {1: 196, 2: 201, 3: 180}
    """
    import pandas as pd

    source = SOURCES["synthetic2d/DS-577.arff"]
    path = fetch(source, data_home=data_home, download_if_missing=download_if_missing)
    # An ARFF file: attributes, then comma-separated rows.
    _, _, rows = path.read_text(encoding="utf-8").partition("@DATA")
    table = pd.read_csv(io.StringIO(rows), names=["x", "y", "class"])
    # Deal three groups in turn to the points of each cluster.
    groups = (table.groupby("class").cumcount() % 3).rename("group").astype("category")
    return make_bunch(table[["x", "y"]], table["class"], groups, DS577, as_frame, return_X_y)


FOUR_AREA = """\
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
    table = read_csv("4area/4area.csv", data_home, download_if_missing)
    data, area = table.drop(columns="color"), table["color"].rename("area")
    return make_bunch(data, area, area.astype("category"), FOUR_AREA, as_frame, return_X_y)


LAW_SCHOOL = """\
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
    table = read_csv("law_school/law_school_clean.csv", data_home, download_if_missing)
    # The file codes sex as "male", 1 or 0.
    table = table.rename(columns={"male": "sex"})
    table["sex"] = table["sex"].map({1: "male", 0: "female"})
    table = table.astype({"race": "category", "sex": "category", "pass_bar": int})
    groups = select_groups(table, sensitive)
    data = table.drop(columns="pass_bar")
    if drop_sensitive:
        data = data.drop(columns=sensitive)
    return make_bunch(data, table["pass_bar"], groups, LAW_SCHOOL, as_frame, return_X_y)


PATIENTS = """\
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
) -> Any:
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
    data = source.data.drop(columns="sex") if drop_sensitive else source.data
    return make_bunch(data, source.target, groups, PATIENTS, as_frame, return_X_y)


_THYROID_FEATURES = (
    "age sex on_thyroxine query_on_thyroxine on_antithyroid_medication sick pregnant "
    "thyroid_surgery I131_treatment query_hypothyroid query_hyperthyroid lithium goitre tumor "
    "hypopituitary psych TSH T3 TT4 T4U FTI"
).split()
THYROID = """\
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
    import pandas as pd

    layout = {"names": [*_THYROID_FEATURES, "class"]}
    files = ("thyroid/ann-train.data", "thyroid/ann-test.data")
    tables = [read_csv(file, data_home, download_if_missing, **layout) for file in files]
    table = pd.concat(tables, ignore_index=True)
    # Both possible attributes as categories.
    groups = select_groups(table.astype({"class": "category", "sex": "category"}), sensitive)
    data = table.drop(columns="class")
    if drop_sensitive:
        data = data.drop(columns=sensitive, errors="ignore")
    return make_bunch(data, table["class"], groups, THYROID, as_frame, return_X_y)
