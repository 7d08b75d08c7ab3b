"""People in parts, as the few different rows that they are, and how many have each."""

from functools import partial

import numpy as np

from skfair.parts import is_in_parts, parts_of


def count_rows(sensitive_features, sample_weight, **columns):
    """Bring people that lie in parts here: each different row once, weighing as all who have it.

    A metric that adds up weights is the same of these rows, of which there are few where columns
    hold labels. People in memory stay as they are.

    Parameters
    ----------
    sensitive_features, sample_weight
        As in `check_columns`; or collections of Dask, or blocks of files.
    **columns : array-like or collection of shape (n_samples,)
        What is known of the samples, by name.

    Returns
    -------
    sensitive_features : array-like
        Groups of the different rows; a DataFrame or Series if it was one.
    sample_weight : ndarray or None
        Weight of these rows; of people in memory as it came.
    columns : dict
        The columns at these rows, by name.

    Raises
    ------
    TypeError, ValueError
        As `parts_of`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from skfair.people import count_rows
    >>> decided = da.from_array(np.array([1, 0, 1, 1]), chunks=2)
    >>> sex = da.from_array(np.array(["f", "f", "f", "m"]), chunks=2)
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     groups, weights, columns = count_rows(sex, None, decided=decided)
    >>> groups.to_list(), weights, columns["decided"]
    (['f', 'f', 'm'], array([1., 2., 1.]), array([0, 1, 1]))
    """
    if not is_in_parts(sensitive_features, sample_weight, *columns.values()):
        return sensitive_features, sample_weight, columns
    import pandas as pd

    parts = parts_of(sensitive_features=sensitive_features, sample_weight=sample_weight, **columns)
    tables = parts.collect(partial(_count_part, tuple(columns)))
    table = _added(pd.concat([table for table in tables if len(table)] or tables[:1]))
    attributes = [name for name in table if name[0] == "attribute"]
    groups = table[attributes].set_axis([name for _, name in attributes], axis=1)
    if groups.shape[1] == 1:
        groups = groups.iloc[:, 0]
    found = {name: table["column", name].to_numpy() for name in columns}
    return groups, table["weight", ""].to_numpy(), found


def _count_part(names, part):
    """Different rows of a part, each with its weight."""
    import pandas as pd

    table = {("column", name): np.asarray(part[name]) for name in names}
    given = part["sensitive_features"]
    groups = pd.DataFrame(given if hasattr(given, "iloc") else np.asarray(given))
    table.update({("attribute", name): groups[name].to_numpy() for name in groups})
    weights = np.asarray(part.get("sample_weight", np.ones(len(groups))), dtype=np.float64)
    if not (weights >= 0.0).all():
        raise ValueError(
            "Sample weights must be non-negative numbers, but one of them is "
            f"{weights[~(weights >= 0.0)][0]}."
        )
    table["weight", ""] = weights
    return _added(pd.DataFrame(table))


def _added(table):
    """The same rows, those that are equal made one; missing values stay, to be refused."""
    *keys, weight = table.columns
    return table.groupby(keys, dropna=False, observed=True)[[weight]].sum().reset_index()
