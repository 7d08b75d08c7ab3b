"""Members that callers use: which attributes of a class other subpackages read in typical fits."""

import sys
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import skfair

PACKAGE = Path(skfair.__file__).parent


@contextmanager
def record_members(*classes, by=None):
    """Record what the rest of the package reads of instances: a dict from a class to names.

    Names that the class's own subpackage reads are left out, and private ones. ``by`` is the only
    subpackage whose reading counts; None counts all others.
    """
    used, originals = defaultdict(set), {}
    for one in classes:
        folder = str(PACKAGE / one.__module__.split(".")[1])
        originals[one] = vars(one).get("__getattribute__")

        def read(self, name, one=one, folder=folder):
            caller = sys._getframe(1).f_code.co_filename
            is_other = caller.startswith(str(PACKAGE)) and not caller.startswith(folder)
            if is_other and (by is None or caller.startswith(str(PACKAGE / by))):
                used[one].add(name)
            return object.__getattribute__(self, name)

        one.__getattribute__ = read
    try:
        yield used
    finally:
        for one, original in originals.items():
            if original is None:
                del one.__getattribute__
            else:
                one.__getattribute__ = original
        for one, names in used.items():
            used[one] = {name for name in names if not name.startswith("_")}
