"""What surrounds a fit: restoring after an error, threads of BLAS, files that are replaced."""

from __future__ import annotations

import functools
import os
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from threadpoolctl import ThreadpoolController

from skfair._kernels import announce_compilation
from skfair._utils.checks import check_path
from skfair._utils.copies import sketch_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from os import PathLike

    import numpy as np
    from sklearn.base import BaseEstimator

    from skfair._utils.api import Decorated
    from skfair._utils.tables import TableLike


# Limit the threads of BLAS.


_LOCK = Lock()

_limits: list[Any] = []
"""The limit of each context that is open in this process; all but the first are None.

Threads that each restored the limit that they found would lift it for those still running.
"""


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """A context in which BLAS has one thread; contexts may be nested, and overlap in threads."""
    with _LOCK:
        _limits.append(None if _limits else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            limit = _limits.pop(0)
            if _limits:
                _limits[0] = limit  # the last context that ends lifts it
            else:
                limit.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    """The controller of this process's libraries, whose listing takes milliseconds."""
    return ThreadpoolController()


# Decorator of ``fit``: restore an estimator whose fit fails, and limit the threads of BLAS.


def restore_on_failure(*, one_blas_thread: bool) -> Callable[[Decorated], Decorated]:
    """Decorate a ``fit`` such that an exception leaves the estimator as it was.

    Every exception counts: bad input, Ctrl-C, a callback and its teardown, a warning turned into an
    error. Write it above ``with_callbacks``, so that teardowns are inside. The method may set
    attributes at any time, but must not write into the arrays of an earlier fit. With ``verbose``
    it reports what is compiled. A fitted model keeps a sketch of its training rows, by which audits
    know them again.

    With one thread of BLAS, threads are left to sums over many samples, which are in blocks with
    one thread of BLAS each. Between them, and in fits of few samples, further threads of BLAS take
    CPU time and save none, even for hundreds of columns (``python -m benchmarks thread-time``).
    Users' own estimators have their threads: do not limit those of a fit that calls them.
    """

    def decorate(fit: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fit)
        def fit_or_restore(
            estimator: BaseEstimator, *args: Any, **kwargs: Any
        ) -> BaseEstimator | None:
            # Attributes as they were: a failed or interrupted fit leaves no half of a model.
            before = dict(vars(estimator))
            threads = single_threaded_blas() if one_blas_thread else nullcontext()
            try:
                with announce_compilation(getattr(estimator, "verbose", 0)), threads:
                    fitted = fit(estimator, *args, **kwargs)
                _keep_sketch(estimator, args[0] if args else kwargs.get("X"))
                return fitted
            except BaseException:
                _replace_attributes(estimator, [*vars(estimator)], before)
                raise

        return fit_or_restore

    return decorate  # type: ignore[return-value]


def _keep_sketch(estimator: BaseEstimator, X: TableLike) -> None:
    """Replace the sketch of training rows; none of a clustering, which is audited on these."""
    vars(estimator).pop("_training_rows", None)
    sketch = None if hasattr(estimator, "labels_") else sketch_rows(X)
    if sketch is not None:
        vars(estimator)["_training_rows"] = sketch


def store_fit(estimator: BaseEstimator, fitted: dict[str, Any]) -> None:
    """Replace all fitted attributes, whose names end in an underscore, when a fit has ended.

    An earlier fit stays intact until then, and may have more of them.
    """
    earlier = [name for name in vars(estimator) if name.endswith("_")]
    _replace_attributes(estimator, earlier, fitted)


def _replace_attributes(
    estimator: BaseEstimator, names: Iterable[str], values: dict[str, Any]
) -> None:
    """Delete the attributes with these names, and set others."""
    for name in names:
        delattr(estimator, name)
    vars(estimator).update(values)


def fitted_feature_attributes(estimator: BaseEstimator) -> dict[str, int | np.ndarray]:
    """``n_features_in_`` and ``feature_names_in_`` of a fitted estimator, where it has them."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


# Write files such that an error leaves the old file as it was.


def write_text(text: str, path: PathLike[str] | str | None) -> str:
    """Write text in UTF-8, with the newlines that it has, if there is a path, and return it."""
    if path is not None:
        write_bytes(text.encode("utf-8"), path)
    return text


def write_bytes(content: bytes, path: PathLike[str] | str) -> None:
    """Write all of the content to a file, or leave a file that exists as it was.

    A new file is written beside the old one, and renamed. A link is followed, and the permissions
    of a file that exists are kept. A device, such as /dev/stdout, is written to.
    """
    target = Path(os.path.realpath(check_path(path)))
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    temporary = target.with_name(f"{target.name[:100]}.part_{uuid4().hex}")
    try:
        # Who may not read the old file may not read the new one for a moment, either.
        mode = target.stat().st_mode if target.exists() else None
        temporary.touch(0o666 if mode is None else 0o600, exist_ok=False)
        temporary.write_bytes(content)
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


# Files that two processes may change.


_LONGEST_WAIT = 60.0
"""Seconds for which a process waits until another one is done with a file."""


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Keep other processes that lock the same file out; raise if they take too long.

    The lock is that of the operating system on a file beside it, which ends with its process.
    """
    beside = Path(f"{os.path.realpath(path)}.lock")
    if not beside.parent.is_dir():
        raise FileNotFoundError(
            f"{path} must be in a folder that exists, but {beside.parent} does not; create it."
        )
    with beside.open("a+b") as file:
        deadline = monotonic() + _LONGEST_WAIT
        while not _try_to_lock(file):
            if monotonic() > deadline:
                raise OSError(
                    f"{path} must be used by one process at a time, but another one has held "
                    f"{beside.name} for {_LONGEST_WAIT:g} seconds; wait until it has ended."
                )
            sleep(0.02)
        yield


def _try_to_lock(file: Any) -> bool:
    """Whether this process holds the lock of an open file now, until the file is closed."""
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
