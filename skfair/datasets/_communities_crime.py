"""The Communities and Crime dataset, and its overlapping groups."""

import itertools
import re

import numpy as np
from scipy import sparse

from ._bunch import check_choice, deliver, make_bunch, pick_groups
from ._fetch import RemoteFile, fetch

_SOURCE = (
    "https://raw.githubusercontent.com/yuhenglai/FairICP/6a7662190486ae83357a2c3a521a341ad33e63de/"
)
TABLE = RemoteFile(
    url=_SOURCE + "data/communities.data",
    sha256="09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
    path="communities_crime/communities.data",
)
NAMES = RemoteFile(
    url=(
        _SOURCE + "others/continuous-fairness-master/examples/"
        "continuous_fairness_aware_learning/communities.names"
    ),
    sha256="80914f24ab37261fb0fbda7e417cad8001335dadda4a8d702c265601ef8434fc",
    path="communities_crime/communities.names",
)
TARGET = "ViolentCrimesPerPop"
PLACE = ["state", "county", "community", "communityname", "fold"]
SHARES = ["racepctblack", "racePctHisp", "racePctAsian", "racePctWhite"]
DESCR = """\
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


def fetch_communities_crime(
    *,
    threshold=None,
    missing="drop",
    sensitive="racepctblack",
    drop_sensitive=False,
    data_home=None,
    download_if_missing=True,
    as_frame=True,
    return_X_y=False,
):
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
    drop_sensitive : bool, default=False
        Whether to leave the columns named in ``sensitive`` out of ``data``.
    data_home : str or path-like, default=None
        Folder of the cache; scikit-learn's data home by default.
    download_if_missing : bool, default=True
        If False, raise OSError instead of using the network.
    as_frame : bool, default=True
        If False, arrays instead of pandas objects.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` only.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (n_samples, n_features)
            The features, float64.
        target : Series of shape (n_samples,)
            Violent crimes per person, scaled; 0 or 1 with ``threshold``.
        sensitive_features : Series (n_samples,) or DataFrame (n_samples, n_attributes)
            The groups, in the order of the rows of ``data``; a DataFrame if ``sensitive`` is a
            list.
        feature_names : list of str
            The columns of ``data``.
        categories : dict
            Empty: every feature is numeric.
        DESCR : str
            Source, licence, meaning of the columns.
        frame : DataFrame of shape (n_samples, n_features + 1) or None
            ``data`` and ``target``; None if ``as_frame=False``.
    (data, target) : tuple if ``return_X_y=True``

    Raises
    ------
    ValueError
        If ``missing`` or ``sensitive`` names nothing known.
    OSError
        If a file is neither on disk nor to be had from the network, or its digest is wrong.

    See Also
    --------
    communities_crime_groups : Hundreds of overlapping groups of the same communities.

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
    table = _read(data_home, download_if_missing)
    groups = pick_groups(_halves(table[SHARES]), sensitive)
    data = table.drop(columns=[*PLACE, TARGET])
    if missing == "drop":
        data = data.dropna(axis="columns")
    if drop_sensitive:
        data = data.drop(columns=sensitive)
    target = table[TARGET]
    if threshold is not None:
        target = (target > threshold).astype(int)
    bunch = make_bunch(data, target, groups, DESCR)
    return deliver(bunch, as_frame=as_frame, return_X_y=return_X_y)


def communities_crime_groups(*, data_home=None, download_if_missing=True):
    """Make the overlapping groups of the Communities and Crime dataset: 704 of them.

    A group is "share of Black people at least a, of Hispanic people at least b, of Asian people
    at least c". Each of a, b and c is one of ten thresholds: the quantiles of its share at 0, 0.1,
    ..., 0.9, of which the first leaves nobody out, so that groups by one or two shares are among
    them. Of the 1,000 combinations those stay that hold more than 1 % of the communities but not
    all; of several with the same members the first.

    Studies of fairness over many groups [1]_ describe 535 groups made from such thresholds, too
    briefly to be made again; this recipe is ours.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the cache; scikit-learn's data home by default.
    download_if_missing : bool, default=True
        If False, raise OSError instead of using the network.

    Returns
    -------
    membership : csr_array of bool, shape (1994, 704)
        Which community (row, as in :func:`fetch_communities_crime`) belongs to which group.
    names : list of str
        What each group is, such as ``"racepctblack >= 0.58 & racePctAsian >= 0.03"``.

    Raises
    ------
    OSError
        If a file is neither on disk nor to be had from the network, or its digest is wrong.

    References
    ----------
    .. [1] H. Narasimhan, A. Cotter, Y. Zhou, S. Wang and W. Guo, "Approximate heavily-constrained
       learning with Lagrange multiplier models", NeurIPS 2020.

    Examples
    --------
    >>> from skfair.datasets import communities_crime_groups
    >>> membership, names = communities_crime_groups()  # doctest: +SKIP
    >>> membership.shape  # doctest: +SKIP
    (1994, 704)
    """
    table = _read(data_home, download_if_missing)
    thresholds = [_at_least(table[share]) for share in SHARES[:3]]
    groups = {}  # bytes of a mask: (name, mask)
    for conditions in itertools.product(*thresholds):
        mask = np.logical_and.reduce([members for _, members in conditions])
        if 0.01 < mask.mean() < 1:
            name = " & ".join(text for text, members in conditions if not members.all())
            groups.setdefault(mask.tobytes(), (name, mask))
    names, masks = zip(*groups.values(), strict=True)
    return sparse.csr_array(np.column_stack(masks)), list(names)


def _at_least(share):
    """Ten conditions on a share, as (text, members)."""
    quantiles = np.quantile(share, np.arange(10) / 10, method="inverted_cdf")
    return [(f"{share.name} >= {value:g}", share.to_numpy() >= value) for value in quantiles]


def _halves(shares):
    above = shares > shares.median()
    return above.map({True: "above median", False: "up to median"}.get).astype("category")


def _read(data_home, download_if_missing):
    import pandas as pd

    where = {"data_home": data_home, "download_if_missing": download_if_missing}
    header = fetch(NAMES, **where).read_text(encoding="latin-1")
    names = re.findall(r"^@attribute (\S+)", header, flags=re.MULTILINE)
    table = pd.read_csv(fetch(TABLE, **where), names=names, na_values="?")
    return table.copy()  # in one block, else pandas warns at the next column that is added
