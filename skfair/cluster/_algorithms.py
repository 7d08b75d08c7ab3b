"""The algorithms of FairKMeans and of its front, by name.

An algorithm is a parameter record with a method ``solve`` (one clustering) or ``front`` (many);
`Homotopy` documents both.
"""

from skfair.cluster._alternating import AlternatingFront, AlternatingSwaps
from skfair.cluster._homotopy import Homotopy

ALGORITHMS = {"homotopy": Homotopy, "alternating": AlternatingSwaps}
FRONT_ALGORITHMS = {"homotopy": Homotopy, "alternating": AlternatingFront}


def by_name(algorithms, algorithm):
    """The algorithm of a name with its default settings, or the instance given."""
    if isinstance(algorithm, tuple(algorithms.values())):
        return algorithm
    if isinstance(algorithm, str) and algorithm in algorithms:
        return algorithms[algorithm]()
    classes = ", ".join(known.__name__ for known in algorithms.values())
    raise ValueError(
        f"algorithm must be one of {sorted(algorithms)} or an instance of one of the classes "
        f"{classes}, got {algorithm!r}."
    )
