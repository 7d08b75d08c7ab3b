"""The positive one of two classes."""

from skfair.utils._messages import join_names

_CONVENTIONAL = ({0, 1}, {-1, 1})
"""Pairs of labels whose positive one is 1 by convention; False and True equal 0 and 1."""


def positive_class(labels, pos_label):
    """The label that means success: pos_label, or 1 if the labels are 0 and 1 or -1 and 1.

    `labels` is the set of the at most two labels that occur; False and True count as 0 and 1.
    """
    listed = f"[{join_names(sorted(map(repr, labels)))}]"
    if pos_label is not None:
        if len(labels) == 2 and pos_label not in labels:
            raise ValueError(f"pos_label must be one of {listed}; got {pos_label!r}.")
        return pos_label
    if any(labels <= pair for pair in _CONVENTIONAL):
        return 1
    if len(labels) == 1:
        raise ValueError(
            f"Only the label {listed[1:-1]} occurs, so it is unknown whether it is the positive "
            "class; pass pos_label."
        )
    raise ValueError(
        "Rates of groups are those of the positive class, but it is unknown which one of "
        f"{listed} that is. Pass pos_label=..., one of these labels, or encode the classes as 0 "
        "and 1."
    )
