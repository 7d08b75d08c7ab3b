"""Fits and functions of read-only input by several workers, compared with those of one process.

``python -m tests.read_only_workers threads`` prints what differs; also ``fork`` and ``loky``,
whose workers are new processes to which joblib hands mapped files.
"""

import multiprocessing
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from joblib import Parallel, delayed

from tests.test_common import ESTIMATORS
from tests.test_read_only import COLUMNS_OF_FITS, assert_same, fit_and_predict, freeze
from tests.test_refusals import list_functions

N_WORKERS = {"threads": 4, "fork": 2, "loky": 2}
FUNCTIONS = {name: (function, columns) for name, function, columns in list_functions()}
CLASSES = {cls.__name__: cls for cls in ESTIMATORS}


def list_calls(how):
    """Each call and its read-only columns; in threads some fits run beside themselves."""
    fits = {name: COLUMNS_OF_FITS[name] for name in CLASSES}
    functions = {name: columns for name, (_, columns) in FUNCTIONS.items()}
    calls = [*(fits | functions).items(), *(fits.items() if how == "threads" else ())]
    return [
        (name, {key: freeze(column) for key, column in columns.items()}) for name, columns in calls
    ]


def call(name, columns):
    """What a call returns, as values that can be compared; the text of an error."""
    with warnings.catch_warnings(action="ignore"):
        try:
            if name in CLASSES:
                return fit_and_predict(CLASSES[name], columns)
            return FUNCTIONS[name][0](**columns)
        except Exception as error:  # also of a worker: it is compared
            return f"{type(error).__name__}: {error}"


def call_all(how, calls):
    """The results of all calls, by workers of a kind."""
    if how == "loky":
        # Every array is mapped, however small.
        return Parallel(N_WORKERS[how], max_nbytes=1)(delayed(call)(*one) for one in calls)
    if how == "threads":
        pool = ThreadPoolExecutor(N_WORKERS[how])
    else:
        pool = ProcessPoolExecutor(N_WORKERS[how], multiprocessing.get_context(how))
    with pool:
        return list(pool.map(call, *zip(*calls, strict=True)))


def find_differences(how):
    """Lines on the calls whose results differ from those of one process."""
    calls = list_calls(how)
    serial = {name: call(name, columns) for name, columns in calls}
    lines = []
    for (name, _), got in zip(calls, call_all(how, calls), strict=True):
        expected = serial[name]
        try:
            if type(expected) is not type(got) or isinstance(expected, str):
                raise AssertionError(f"{got!r} instead of {expected!r}")
            if isinstance(expected, dict) or hasattr(expected, "dtype"):
                assert_same(got, expected)
            elif repr(got) != repr(expected):
                raise AssertionError(f"{got!r} instead of {expected!r}")
        except (AssertionError, TypeError) as error:
            lines.append(f"{name}: {error}")
    return lines, len(calls)


if __name__ == "__main__":
    differences, n_calls = find_differences(sys.argv[1])
    print(*differences, sep="\n")
    print(f"{len(differences)} of {n_calls} calls differ")
    sys.exit(bool(differences))
