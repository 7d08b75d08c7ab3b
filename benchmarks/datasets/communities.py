"""Communities and their crime rates, with groups that overlap."""

import itertools
import re
from os import PathLike
from typing import Any, Literal

import numpy as np
from scipy import sparse

from benchmarks.datasets.sources import SOURCES
from skfair._utils.checks import check_choice
from skfair.datasets._fetch import dataset_docs, fetch, fetch_csv, make_bunch, select_sensitive

_RACE_SHARE_COLUMNS = ["racepctblack", "racePctHisp", "racePctAsian", "racePctWhite"]
COMMUNITIES_CRIME_DESCR = """\
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
    >>> from benchmarks.datasets import load_benchmark
    >>> crime = load_benchmark("communities_crime", threshold=0.15)  # doctest: +SKIP
    >>> crime.data.shape  # doctest: +SKIP
    (1994, 99)
    >>> crime.target.value_counts().to_dict()  # doctest: +SKIP
    {0: 1001, 1: 993}
    """
    check_choice("missing", missing, ("drop", "keep"))
    table = _read_communities(data_home, download_if_missing)
    groups = select_sensitive(_split_at_median(table[_RACE_SHARE_COLUMNS]), sensitive)
    place = ["state", "county", "community", "communityname", "fold"]
    data = table.drop(columns=[*place, "ViolentCrimesPerPop"])
    if missing == "drop":
        data = data.dropna(axis="columns")
    if drop_sensitive:
        data = data.drop(columns=sensitive)
    target = table["ViolentCrimesPerPop"]
    if threshold is not None:
        target = (target > threshold).astype(int)
    return make_bunch(data, target, groups, COMMUNITIES_CRIME_DESCR, as_frame, return_X_y)


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
    thresholds = [_threshold_conditions(table[share]) for share in _RACE_SHARE_COLUMNS[:3]]
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


def _split_at_median(shares):
    """Whether each share is above its median, as categories."""
    above = shares > shares.median()
    return above.map({True: "above median", False: "up to median"}.get).astype("category")


def _read_communities(data_home, download_if_missing):
    """Parse the table, with the column names in the header of the second file."""
    where = {"data_home": data_home, "download_if_missing": download_if_missing}
    header = fetch(SOURCES["communities_crime/communities.names"], **where)
    names = re.findall(r"^@attribute (\S+)", header.read_text("latin-1"), flags=re.MULTILINE)
    table = SOURCES["communities_crime/communities.data"]
    # A copy in one block, else pandas warns at the next column that is added.
    return fetch_csv(table, **where, names=names, na_values="?").copy()
