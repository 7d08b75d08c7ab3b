"""Pairs of documents of one query, of which the first is more relevant."""

import numpy as np


class DocumentPairs:
    """All pairs of documents of one query of which the first is more relevant, by number.

    A pair is computed from its number, so that they need not all be stored.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.groups import DocumentPairs
    >>> pairs = DocumentPairs(np.array([2, 0, 1, 1, 0]), np.array([0, 0, 0, 1, 1]))
    >>> len(pairs), pairs[np.arange(4)].tolist()
    (4, [[2, 1], [0, 1], [0, 2], [3, 4]])
    """

    def __init__(self, relevance, query):
        self._order = np.lexsort((relevance, query))
        query, relevance = query[self._order], relevance[self._order]
        places = np.arange(len(query))
        is_new_query = np.append(True, query[1:] != query[:-1])
        is_new_level = is_new_query | np.append(True, relevance[1:] != relevance[:-1])
        # In ascending order the less relevant documents of a query lie between its first one and
        # the first of the same relevance.
        self._begins = np.maximum.accumulate(np.where(is_new_query, places, 0))
        self._n_below = np.maximum.accumulate(np.where(is_new_level, places, 0)) - self._begins
        self._ends = np.cumsum(self._n_below)

    def __len__(self):
        return int(self._ends[-1])

    def __getitem__(self, numbers):
        """Positions of the more and of the less relevant document, (n_numbers, 2)."""
        # The pair's more relevant document, then its rank among the less relevant ones.
        better = np.searchsorted(self._ends, numbers, side="right")
        worse = self._begins[better] + numbers - (self._ends - self._n_below)[better]
        return self._order[np.column_stack((better, worse))]
