"""Pairs of documents of one query, of which one is more relevant."""

import numpy as np


class DocumentPairs:
    """All pairs of documents of one query of which the first is more relevant, by number.

    They are never all made at once unless somebody asks for them.

    Parameters
    ----------
    relevance : ndarray of shape (n_documents,)
        How relevant a document is to its query.
    query : ndarray of int, shape (n_documents,)
        Query of each document.

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
        at = np.arange(len(query))
        is_new_query = np.append(True, query[1:] != query[:-1])
        is_new_level = is_new_query | np.append(True, relevance[1:] != relevance[:-1])
        # In ascending order, those less relevant stand from the query's begin to the level's.
        self._begins = np.maximum.accumulate(np.where(is_new_query, at, 0))
        self._n_below = np.maximum.accumulate(np.where(is_new_level, at, 0)) - self._begins
        self._ends = np.cumsum(self._n_below)

    def __len__(self):
        return int(self._ends[-1])

    def __getitem__(self, numbers):
        """Positions of the more and of the less relevant document, (n_numbers, 2)."""
        better = np.searchsorted(self._ends, numbers, side="right")
        worse = self._begins[better] + numbers - (self._ends - self._n_below)[better]
        return self._order[np.column_stack((better, worse))]
