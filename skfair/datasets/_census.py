"""Data sets of the census: Adult, its a9a encoding, and ACSIncome."""

from os import PathLike
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from skfair.datasets._fetch import (
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
    import pandas as pd

    # In these files "|" opens a comment, as the first line of the test file is.
    layout = {"names": ADULT_COLUMNS, "skipinitialspace": True, "comment": "|", "na_values": "?"}
    tables = {
        subset: fetch_csv(f"adult/adult.{extension}", data_home, download_if_missing, **layout)
        for subset, extension in [("train", "data"), ("test", "test")]
    }
    table = pd.concat(tables)
    # Labels of the test file end with a dot.
    table["income"] = table["income"].str.rstrip(".")
    return categorize_texts(table, "income")


COUNTRIES = """\
United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan
Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal
Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua
Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands"""
# Categories of a text, in their order, or lower ends of the intervals of a number.
A9A_ENCODING = {
    "age": [26, 33, 41, 50],
    "workclass": (
        "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay "
        "Never-worked"
    ).split(),
    "fnlwgt": [106648, 158662, 196338, 259873],
    "education": (
        "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th "
        "Masters 1st-4th 10th Doctorate 5th-6th Preschool"
    ).split(),
    "education-num": [9, 10, 11, 13],
    "marital-status": (
        "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
        "Married-AF-spouse"
    ).split(),
    "occupation": (
        "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
        "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving "
        "Priv-house-serv Protective-serv Armed-Forces"
    ).split(),
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried".split(),
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black".split(),
    "sex": "Female Male".split(),
    "capital-gain": [1],
    "capital-loss": [1],
    "hours-per-week": [35, 40, 41, 48],
    "native-country": COUNTRIES.split(),
}
A9A_DESCR = """\
a9a: Adult in 123 binary features.

The encoding of the Adult dataset that LIBSVM distributes as a9a (32,561 rows) and a9a.t (16,281):
one feature for each category of a text, and for each of five intervals of a number (two for
capital-gain and capital-loss: zero or not). A missing category sets no feature, so that a
row has 11 to 14 ones.

It is made here from Adult's own files, and equals LIBSVM's entry by entry; their label -1 is
"<=50K", +1 is ">50K". Their features 72 and 73, counted from 1, are "sex=Female" and "sex=Male".

Sources: B. Becker and R. Kohavi, UCI Machine Learning Repository, 1996, doi:10.24432/C5XW20; the
encoding: J. C. Platt, "Fast training of support vector machines using sequential minimal
optimization", 1998, as distributed with C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support
vector machines", ACM TIST 2(3), 2011.
Licence: CC BY 4.0 (Adult, as UCI states).
"""


@dataset_docs
def fetch_a9a(
    *,
    subset: Literal["train", "test", "all"] = "train",
    sensitive: str | list[str] = "sex",
    drop_sensitive: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load Adult in LIBSVM's a9a encoding, a sparse binary matrix (binary classification).

    ==============  ================================
    Samples         32,561 train + 16,281 test
    Features        123, binary, sparse
    Target          income: "<=50K" or ">50K"
    Groups          sex, race
    ==============  ================================

    It is made from the files of :func:`fetch_adult` and equals LIBSVM's files a9a and a9a.t row by
    row; their labels -1 and +1 are "<=50K" and ">50K".

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The rows of a9a, of a9a.t, or both in this order.
    sensitive : str or list of str, default="sex"
        The categorical column of Adult that forms the groups, such as "sex" or "race"; a list for
        several attributes.
    drop_sensitive : bool, default=False
        Whether to leave the features made from the columns named in ``sensitive`` out of ``data``.
    {data_home, download_if_missing, return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : csr_array of float64, shape (n_samples, n_features)
            Zeros and ones.
        target : ndarray of shape (n_samples,)
            "<=50K" or ">50K".
        sensitive_features : ndarray of shape (n_samples,) or (n_samples, n_attributes)
            The groups; two-dimensional if ``sensitive`` is a list.
        feature_names : list of str
            What each column means, such as "26<=age<33" or "sex=Female".
        {DESCR}
    {data_and_target}

    Raises
    ------
    ValueError
        If ``subset`` or ``sensitive`` names nothing known.
    {OSError}

    References
    ----------
    .. [1] C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support vector machines", ACM
       Transactions on Intelligent Systems and Technology 2(3), 2011.

    Examples
    --------
    >>> from skfair.datasets import load_benchmark
    >>> a9a = load_benchmark("a9a")  # doctest: +SKIP
    >>> a9a.data.shape  # doctest: +SKIP
    (32561, 123)
    >>> a9a.feature_names[71:73]  # doctest: +SKIP
    ['sex=Female', 'sex=Male']
    """
    adult = fetch_adult(
        subset=subset,
        sensitive=sensitive,
        drop_sensitive=drop_sensitive,
        data_home=data_home,
        download_if_missing=download_if_missing,
    )
    # Columns that were dropped have no features.
    encoding = {name: A9A_ENCODING[name] for name in A9A_ENCODING if name in adult.data}
    bunch = Bunch(
        data=_encode_bins(adult.data, encoding),
        target=adult.target.to_numpy(dtype=object),
        sensitive_features=adult.sensitive_features.to_numpy(dtype=object),
        feature_names=[
            text for name, bins in encoding.items() for text in _feature_names(name, bins)
        ],
        DESCR=A9A_DESCR,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _encode_bins(data, encoding):
    """One-hot matrix of the columns' bins; a row of ``data`` has at most one per column."""
    # Column of each one: position of the bin, plus the start of its feature.
    positions = np.column_stack([_find_bins(data[name], bins) for name, bins in encoding.items()])
    widths = [len(_feature_names(name, bins)) for name, bins in encoding.items()]
    starts = np.cumsum([0, *widths])
    known = positions >= 0
    # Some scikit-learn estimators take no indices wider than 32 bits.
    indices = (positions + starts[:-1])[known].astype(np.int32)
    indptr = np.cumsum([0, *known.sum(axis=1)], dtype=np.int32)
    shape = len(data), starts[-1]
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)


def _find_bins(column, bins):
    """Bin of each value, -1 if it is missing."""
    import pandas as pd

    if isinstance(bins[0], str):
        return pd.Categorical(column, categories=bins).codes.astype(int)
    return np.searchsorted(bins, column, side="right")


def _feature_names(name, bins):
    """Names of the features of a column, one per bin."""
    if isinstance(bins[0], str):
        return [f"{name}={category}" for category in bins]
    between = [f"{low}<={name}<{high}" for low, high in zip(bins[:-1], bins[1:], strict=True)]
    return [f"{name}<{bins[0]}", *between, f"{name}>={bins[-1]}"]


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
    table = fetch_csv("acs_income/OK_0.csv", data_home, download_if_missing).astype(int)
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
