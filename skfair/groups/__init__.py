"""Encodings of groups, events and samples that all subpackages share.

`Samples` is public. The other names serve the package alone.
"""

from skfair.groups._groups import Groups, check_groups
from skfair.groups._samples import Samples

__all__ = ["Samples"]
