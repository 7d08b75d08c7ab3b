"""Files of public datasets: found on disk or downloaded, and always checked by their digest.

A download stays in memory until its digest is right and reaches its name by one rename, so nothing
that fails leaves a file behind. ``sklearn.datasets.fetch_file`` is not used because it waits
forever on a silent connection and asks four times for an address that does not exist.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen
from uuid import uuid4

from sklearn.datasets import get_data_home

from skfair.utils._messages import warn

TIMEOUT = 30.0
"""Seconds to wait for a connection, or for its next bytes."""


@dataclass(frozen=True)
class RemoteFile:
    """A public file, pinned by its address and its digest.

    Attributes
    ----------
    url : str
        Address of exactly these bytes (a commit, never a branch).
    sha256 : str
        Digest of the whole file, 64 hexadecimal digits.
    path : str
        Where the file lies below the folder named by ``SKFAIR_DATA`` and below the cache folder,
        such as ``"adult/adult.data"``.
    clean : callable, default=None
        Takes the bytes at ``url`` and returns those that may be kept, for a file that holds what
        nobody's disk should; ``sha256`` is the digest of the latter.
    public_sha256 : str, default=None
        Digest of the bytes at ``url``, where ``clean`` changes them.
    """

    url: str
    sha256: str
    path: str
    clean: Callable[[bytes], bytes] | None = None
    public_sha256: str | None = None


def fetch(remote, *, data_home=None, download_if_missing=True):
    """Return the path of a local copy of a public file, its digest checked.

    The folder named by the environment variable ``SKFAIR_DATA`` is looked up first, then the
    subfolder ``skfair`` of scikit-learn's data home; then the file is downloaded into the latter.

    Parameters
    ----------
    remote : RemoteFile
        The file wanted.
    data_home : str or path-like, default=None
        The cache, as in :func:`sklearn.datasets.get_data_home`.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    pathlib.Path
        A file whose bytes have the digest ``remote.sha256``.

    Raises
    ------
    OSError
        If the copy in ``SKFAIR_DATA`` has other bytes; if there is no good copy and downloading is
        not allowed; if the download fails, is cut off, or brings other bytes.
    """
    own = own_copy(remote)
    if own is not None:
        return own
    cached = Path(get_data_home(data_home), "skfair", remote.path)
    if cached.is_file():
        if _sha256(cached.read_bytes()) == remote.sha256:
            return cached
        warn(f"{cached} is damaged (wrong sha256) and is not used.")
    if not download_if_missing:
        raise OSError(
            f"no good copy of {remote.path} is on disk and download_if_missing=False. "
            f"{_remedy(remote, cached)}"
        )
    body = _download(remote, cached)
    _save(remote.clean(body) if remote.clean else body, cached)
    return cached


def own_copy(remote):
    """Find the file in the folder named by ``SKFAIR_DATA``; None if it is not there."""
    folder = os.environ.get("SKFAIR_DATA")
    if not folder:
        return None
    path = Path(folder).expanduser() / remote.path
    if not path.is_file():
        return None
    found = _sha256(path.read_bytes())
    if found != remote.sha256:
        raise OSError(
            f"{path} (found through SKFAIR_DATA) must have sha256 {remote.sha256}, got {found}. "
            f"Replace it by the file at {remote.url}, or unset SKFAIR_DATA."
        )
    return path


def _download(remote, target):
    """Read the body at ``remote.url``, complete and with the right digest."""
    try:
        with urlopen(remote.url, timeout=TIMEOUT) as response:
            body = response.read()
    # A 404, no network, a refusal and a timeout are OSErrors; a cut-off body is an HTTPException.
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError):  # it is also the open response
            error.close()
        raise OSError(
            f"downloading {remote.url} failed: {error}. Nothing was saved. "
            f"Check the network and try again. {_remedy(remote, target)}"
        ) from error
    expected = remote.public_sha256 or remote.sha256
    received = _sha256(body)
    if received != expected:
        raise OSError(
            f"{remote.url} must have sha256 {expected}, got {len(body)} bytes with sha256 "
            f"{received}: the file was changed at its source or on its way. Nothing was saved. "
            f"{_remedy(remote, target)}"
        )
    return body


def _save(body, path):
    """Write all of ``body`` to ``path`` or leave ``path`` as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part_{uuid4().hex}")
    try:
        part.write_bytes(body)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _remedy(remote, target):
    return (
        f"A copy of the file with sha256 {remote.sha256}, put at {target} or at {remote.path} in a "
        "folder named by the environment variable SKFAIR_DATA, is used without any network."
    )


def _sha256(body):
    return hashlib.sha256(body).hexdigest()
