"""Files of public datasets: read from disk or downloaded, and always checked by their digest.

A download stays in memory until its digest is verified and is saved by one rename, so that a
failure leaves no file behind. ``sklearn.datasets.fetch_file`` is not used because it has no timeout
and requests an address that does not exist four times.
"""

import hashlib
import os
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from sklearn.datasets import get_data_home

from skfair.datasets._sources import SOURCES
from skfair.utils._files import write_bytes
from skfair.utils._messages import warn

TIMEOUT = 30.0
"""Seconds to wait for a connection, or for its next bytes."""


def fetch(remote, *, data_home=None, download_if_missing=True):
    """Path of a local copy of a `RemoteFile`, its digest checked.

    It is read from the folder named by the environment variable ``SKFAIR_DATA``, else from the
    subfolder ``skfair`` of scikit-learn's data home, else downloaded into the latter.
    """
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
    _save(remote.clean(body) if remote.clean else body, cached)
    return cached


def read_csv(path, data_home, download_if_missing, **layout):
    """Parse a file of the table of sources; `layout` is for :func:`pandas.read_csv`."""
    import pandas as pd

    source = SOURCES[path]
    return pd.read_csv(
        fetch(source, data_home=data_home, download_if_missing=download_if_missing), **layout
    )


def user_folder():
    """Folder named by the environment variable ``SKFAIR_DATA``; None if it is not set."""
    folder = os.environ.get("SKFAIR_DATA")
    return Path(folder).expanduser() if folder else None


def cache_folder(data_home):
    """Subfolder ``skfair`` of scikit-learn's data home."""
    return Path(get_data_home(data_home), "skfair")


def find_user_file(remote):
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


def _download(remote, target):
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


def _save(body, path):
    """Write all of ``body`` to ``path`` or leave ``path`` as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(body, path)


def _remedy(remote, target):
    """Sentence that says where a copy of the file can be put."""
    return (
        f"Without a network, put a copy of the file with sha256 {remote.sha256} at {target}, or at "
        f"{remote.path} in the folder named by the environment variable SKFAIR_DATA."
    )


def _sha256(body):
    """Hexadecimal digest."""
    return hashlib.sha256(body).hexdigest()
