"""Which of two classes is the positive one."""

from skfair.utils._messages import join_names

_UNDERSTOOD = ({0, 1}, {-1, 1})
"""Pairs of labels of which everybody knows the positive one; False and True equal 0 and 1."""


def positive_class(labels, pos_label):
    """The label that means success, among the at most two that occur.

    Parameters
    ----------
    labels : set
        The labels that occur.
    pos_label : label or None
        As the user gave it. None leaves it to the labels, if these are 0 and 1, -1 and 1 or False
        and True.

    Returns
    -------
    label : label

    Raises
    ------
    ValueError
        If there are two labels and pos_label is neither, or if it is needed and not given.
    """
    listed = f"[{join_names(sorted(map(repr, labels)))}]"
    if pos_label is not None:
        if len(labels) == 2 and pos_label not in labels:
            raise ValueError(f"pos_label must be one of {listed}; got {pos_label!r}.")
        return pos_label
    if any(labels <= pair for pair in _UNDERSTOOD):
        return 1
    if len(labels) == 1:
        raise ValueError(
            f"Only the label {listed[1:-1]} occurs, so it cannot be told whether it is the "
            "positive class; pass pos_label."
        )
    raise ValueError(
        f"Rates of groups are those of the positive class, but which one of {listed} that is "
        "cannot be told. Pass pos_label=..., one of these labels, or write the classes as 0 and 1."
    )
