"""Files of data sets: sources with digests, downloads, and bunches made of them."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pandas as pd
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch

from skfair._utils.api import make_docstring_decorator
from skfair._utils.checks import check_flag, check_path, warn
from skfair._utils.fit import write_bytes

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np

    from skfair._utils.tables import Table


# The table of sources: every public file that data sets are read from, pinned by its digest.


@dataclass(frozen=True)
class RemoteFile:
    """A public file, pinned by its address (a commit, never a branch) and its digest.

    `path` is its place below the folder named by ``SKFAIR_DATA`` and below the cache folder.
    `clean` maps the bytes at `url` to those that may be saved, for a file with personal data:
    `sha256` is then the digest of the latter, and `public_sha256` that of the former.
    """

    url: str
    sha256: str
    path: str
    clean: Callable[[bytes], bytes] | None = None
    public_sha256: str | None = None


_FAIR_ICP = "yuhenglai/FairICP/6a7662190486ae83357a2c3a521a341ad33e63de"

_PINS = {
    "acs_income/OK_0.csv": (
        "xheilmann/FeDa4Fair/4fb955679ed0949fcf5001106340e29441638886/"
        "src/FeDa4Fair/data/cross_silo_value_final/OK_0.csv",
        "6c8277305fc105c137bc9969f27da9331ae0bd07ad5f1777a68d92dbd7caeba5",
    ),
    "adult/adult.data": (
        f"{_FAIR_ICP}/data/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    "adult/adult.test": (
        f"{_FAIR_ICP}/data/adult.test",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
    "bank/bank-additional-full.csv": (
        "sul217/SAfairKM/3470f62b8278f8ae2f4b027a5ddc9bfd2c8f9674/data/bank-additional-full.csv",
        "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
    ),
    "compas/compas-scores-two-years.csv": (
        "propublica/compas-analysis/bafff5da3f2e45eca6c2d5055faad269defd135a/"
        "compas-scores-two-years.csv",
        "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    ),
    "law_school/law_school_clean.csv": (
        "tailequy/fairness_dataset/abb5a18b822ba56a221c5311082e192e85000b95/"
        "experiments/data/law_school_clean.csv",
        "23c1b173f3480beb7afc4957b107a9917dfc4a8dc9d87ea6034ec35222152452",
    ),
}
"""Address on GitHub and digest of every file, by its path below the folder of the data."""


def pin_files(pins: dict[str, tuple[str, str]]) -> dict[str, RemoteFile]:
    """Make the files of GitHub by their path, from the pairs (address, digest) of each path."""
    return {
        path: RemoteFile(f"https://raw.githubusercontent.com/{address}", sha256, path)
        for path, (address, sha256) in pins.items()
    }


SOURCES = pin_files(_PINS)
"""Files by their path."""

PERSONAL_COLUMNS = {
    "name",
    "first",
    "last",
    "dob",
    "c_case_number",
    "r_case_number",
    "vr_case_number",
}
"""Columns of COMPAS that name people or their cases."""


def drop_personal_columns(body: bytes) -> bytes:
    """Drop the columns that name people or their cases from the bytes of the public file."""
    # Columns to keep, by position, for header and rows.
    header, *rows = csv.reader(io.StringIO(body.decode(), newline=""))
    positions = [position for position, name in enumerate(header) if name not in PERSONAL_COLUMNS]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([row[position] for position in positions] for row in [header, *rows])
    return text.getvalue().encode()


_COMPAS = SOURCES["compas/compas-scores-two-years.csv"]
SOURCES["compas/compas-scores-two-years-anonymous.csv"] = replace(
    _COMPAS,
    sha256="a5e5c34bfd2d1f065bb12a44c0323421baf74b98b97d585915a0c2e1513ecaba",
    path="compas/compas-scores-two-years-anonymous.csv",
    clean=drop_personal_columns,
    public_sha256=_COMPAS.sha256,
)


# Files of public datasets: read from disk or downloaded, and always checked by their digest.
#
# A download stays in memory until its digest is verified and is saved by one rename, so that a
# failure leaves no file behind. ``sklearn.datasets.fetch_file`` is not used because it has no
# timeout and requests an address that does not exist four times.


TIMEOUT = 30.0
"""Seconds to wait for a connection, or for its next bytes."""


def fetch(
    remote: RemoteFile,
    *,
    data_home: PathLike[str] | str | None = None,
    download_if_missing: bool = True,
) -> Path:
    """Path of a local copy of a `RemoteFile`, its digest checked.

    It is read from the folder named by the environment variable ``SKFAIR_DATA``, else from the
    subfolder ``skfair`` of scikit-learn's data home, else downloaded into the latter.
    """
    check_fetch_options(data_home, download_if_missing)
    user_file = find_user_file(remote)
    if user_file is not None:
        return user_file
    # The cache: used if its digest is right, else replaced.
    cached = cache_folder(data_home) / remote.path
    if cached.is_file():
        if _sha256(cached.read_bytes()) == remote.sha256:
            return cached
        warn(f"{cached} is damaged (wrong sha256) and is not used.")
    if not download_if_missing:
        raise OSError(
            f"{remote.path} is not on disk with the right sha256, and download_if_missing=False. "
            f"{_remedy(remote, cached)}"
        )
    body = _download(remote, cached)
    cached.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(remote.clean(body) if remote.clean else body, cached)
    return cached


def fetch_csv(
    remote: RemoteFile,
    data_home: PathLike[str] | str | None,
    download_if_missing: bool,
    **layout: Any,
) -> pd.DataFrame:
    """Parse a `RemoteFile`; `layout` is for :func:`pandas.read_csv`."""
    path = fetch(remote, data_home=data_home, download_if_missing=download_if_missing)
    return pd.read_csv(path, **layout)


def user_folder() -> Path | None:
    """Folder named by the environment variable ``SKFAIR_DATA``; None if it is not set."""
    folder = os.environ.get("SKFAIR_DATA")
    return Path(folder).expanduser() if folder else None


def check_fetch_options(
    data_home: PathLike[str] | str | None, download_if_missing: bool = True
) -> None:
    """Raise for values of wrong types, even if a file in ``SKFAIR_DATA`` makes them unnecessary."""
    check_flag("download_if_missing", download_if_missing)
    if data_home is not None:
        check_path(data_home, "data_home", "folder")


def cache_folder(data_home: PathLike[str] | str | None) -> Path:
    """Subfolder ``skfair`` of scikit-learn's data home."""
    check_fetch_options(data_home)
    return Path(get_data_home(data_home), "skfair")


def find_user_file(remote: RemoteFile) -> Path | None:
    """Path of the file in the folder named by ``SKFAIR_DATA``; None if it is not there."""
    folder = user_folder()
    if folder is None or not (folder / remote.path).is_file():
        return None
    path = folder / remote.path
    # A file of the user is verified as well, or results would differ silently.
    digest = _sha256(path.read_bytes())
    if digest != remote.sha256:
        raise OSError(
            f"{path} (named by SKFAIR_DATA) must have sha256 {remote.sha256}, got {digest}. "
            f"Replace it by the file at {remote.url}, or unset SKFAIR_DATA."
        )
    return path


def _download(remote: RemoteFile, target: Path) -> bytes:
    """Download the body at ``remote.url`` and check its digest."""
    try:
        with urlopen(remote.url, timeout=TIMEOUT) as response:
            body = response.read()
    # A 404, no network, a refusal and a timeout are OSErrors; a cut-off body is an HTTPException.
    except (OSError, HTTPException) as error:
        # An HTTPError is also the open response.
        if isinstance(error, HTTPError):
            error.close()
        raise OSError(
            f"downloading {remote.url} failed: {error}. Nothing was saved. "
            f"Check the network and try again. {_remedy(remote, target)}"
        ) from error
    # The digest of a file that is cleaned differs before and after.
    expected = remote.public_sha256 or remote.sha256
    received = _sha256(body)
    if received != expected:
        raise OSError(
            f"{remote.url} must have sha256 {expected}, got {len(body)} bytes with sha256 "
            f"{received}: the file was changed at its source or in transfer. Nothing was saved. "
            f"{_remedy(remote, target)}"
        )
    return body


def _remedy(remote: RemoteFile, target: Path) -> str:
    """Sentence that says where a copy of the file can be put."""
    return (
        f"Without a network, put a copy of the file with sha256 {remote.sha256} at {target}, or at "
        f"{remote.path} in the folder named by the environment variable SKFAIR_DATA."
    )


def _sha256(body: bytes) -> str:
    """Hexadecimal digest."""
    return hashlib.sha256(body).hexdigest()


# Bunches, the form in which every dataset is returned.


def categorize_texts(table: pd.DataFrame, target: str) -> pd.DataFrame:
    """Make a categorical column of every column of text but the target."""
    texts = table.drop(columns=target).select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(texts, "category"))


def select_sensitive(
    table: pd.DataFrame, sensitive: str | list[str] | None
) -> pd.DataFrame | pd.Series:
    """Categorical columns of a table by name: a Series for one name, a DataFrame for a list."""
    candidates = table.select_dtypes("category")
    names = [sensitive] if isinstance(sensitive, str) else sensitive
    if not isinstance(names, list) or not names or any(n not in candidates for n in names):
        raise ValueError(
            f"sensitive must name one of the columns {list(candidates)}, or be a list of such "
            f"names; got {sensitive!r}. Pass other groups (such as intervals of a numeric column) "
            "to an estimator as sensitive_features directly."
        )
    return table[sensitive]


def make_bunch(
    features: pd.DataFrame,
    target: pd.Series,
    sensitive_features: pd.DataFrame | pd.Series,
    descr: str,
    as_frame: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[Table, Table]:
    """Make the bunch of a dataset from pandas objects, or with ``return_X_y`` data and target.

    With ``as_frame=False`` it holds arrays: a category becomes its position in
    ``bunch.categories[feature]``, a missing one nan, and ``frame`` is None.
    """
    check_flag("return_X_y", return_X_y)
    bunch = Bunch(
        data=features,
        target=target,
        sensitive_features=sensitive_features,
        feature_names=list(features.columns),
        categories={
            name: list(column.cat.categories)
            for name, column in features.select_dtypes("category").items()
        },
        DESCR=descr,
        frame=features.assign(**{target.name: target}),
    )
    # Arrays: categories as their codes, and no frame.
    if not check_flag("as_frame", as_frame):
        arrays = {
            "data": _encode_categories(features),
            "target": target.to_numpy(),
            "sensitive_features": sensitive_features.to_numpy(),
            "frame": None,
        }
        bunch = Bunch(**{**bunch, **arrays})
    return (bunch.data, bunch.target) if return_X_y else bunch


def _encode_categories(features: pd.DataFrame) -> np.ndarray:
    """Make a float array of shape (n_samples, n_features), each category as its ordinal code."""
    # Codes of missing categories become nan.
    codes = {
        name: column.cat.codes.where(column.notna())
        for name, column in features.select_dtypes("category").items()
    }
    return features.assign(**codes).to_numpy(dtype=float)


# Docstring entries that the datasets share.


_DATASET_ENTRIES = """
drop_sensitive : bool, default=False
    Whether to leave the columns named in ``sensitive`` out of ``data``.
data_home : str or path-like, default=None
    Folder of the cache. None takes scikit-learn's data home.
download_if_missing : bool, default=True
    If False, raise OSError instead of using the network.
as_frame : bool, default=True
    If False, arrays instead of pandas objects. ``data`` is then float64, with each category
    replaced by its position in ``categories`` (a name, not a quantity: one-hot encode it before
    measuring distances) and missing values nan.
return_X_y : bool, default=False
    If True, return ``(data, target)`` only.
random_state : int, RandomState instance or None, default=None
    Seed of the random draws.
sensitive_features : Series (n_samples,) or DataFrame (n_samples, n_attributes)
    The groups, in the order of the rows of ``data``. A DataFrame if ``sensitive`` is a list.
feature_names : list of str
    The columns of ``data``.
categories : dict of str to list of str
    The categories of each categorical feature, in the order of their codes.
DESCR : str
    Source, licence, meaning of the columns.
frame : DataFrame of shape (n_samples, n_features + 1) or None
    ``data`` and ``target``. None if ``as_frame=False``.
OSError
    If a file is neither on disk nor available from the network, or its digest is wrong.
"""

_NO_CATEGORIES_TEXT = """
categories : dict
    Empty: every feature is numeric.
"""

dataset_docs = make_docstring_decorator(
    _DATASET_ENTRIES,
    no_categories=_NO_CATEGORIES_TEXT,
    data_and_target="(data, target) : tuple if ``return_X_y=True``",
)
