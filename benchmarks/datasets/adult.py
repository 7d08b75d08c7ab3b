"""Adult in the encoding a9a of LIBSVM."""

from os import PathLike
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from skfair.datasets import fetch_adult
from skfair.datasets._fetch import dataset_docs

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

    It is made from the files of :func:`~skfair.datasets.fetch_adult` and equals LIBSVM's files a9a
    and a9a.t row by row; their labels -1 and +1 are "<=50K" and ">50K".

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
    >>> from benchmarks.datasets import load_benchmark
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
