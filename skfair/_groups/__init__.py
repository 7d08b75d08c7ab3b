"""Encodings of groups, events and samples that all subpackages share.

`Samples` is public. The other names serve the package alone.
"""

from skfair._groups.groups import Groups, check_groups
from skfair._groups.samples import Samples
