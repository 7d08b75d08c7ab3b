"""Docstring entries that constraints share."""

from skfair.utils._docstrings import shared_docs

constraint_docs = shared_docs(
    """
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's.
    loss : str, callable or None, default=None
        Name in ``skfair.losses.LOSSES`` or a callable (scores, target) -> Pointwise; None takes the
        loss that the estimator minimises.
    ratio : float or None, default=None
        Smallest ratio allowed of two rates in place of a tolerance, as in
        :class:`DemographicParity`.
    """,
    options="""
    reference, aggregate, attributes, min_group_size
        See :class:`Constraint`.
    """,
    cell_signature="""
    Parameters
    ----------
    samples : Samples
        Targets (classes -1 and +1), groups and weights.

    Returns
    -------
    cells : dict of str to ndarray of bool, shape (n_samples,)
        Name of a cell -> mask of its samples.
    """,
    rate_signature="""
    Parameters
    ----------
    surrogate, loss : callable
        As in :meth:`Constraint.rate`.

    Returns
    -------
    rate : callable
        (scores, target) -> Pointwise.
    """,
    loss_tolerance="""
    tolerance : float or None, default=None
        Largest gap allowed, in units of the loss; None takes the estimator's.
    """,
)

partial_docs = shared_docs(
    """
    interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
        ``(alpha, beta)`` selects ranks in [alpha, beta), counted from the highest score: (0.0, 0.2)
        is the top fifth of each group. A list of pairs means their union.
    tolerance : float in [0, 1] or None, default=None
        Largest difference allowed; None takes the estimator's.
    scale : {"normalized", "raw"}, default="normalized"
        Whether the tolerance is in units of the width of the interval, or of the whole group.
    threshold : float, default=0.0
        Where decisions are made.
    min_group_size : int, "auto" or None, default=None
        Groups with fewer samples are not compared, as in `DemographicParity`; None takes the
        estimator's.
    """,
    of_rows="""
    Parameters
    ----------
    ranked : RankedEvents
        Events that are compared, and the scores where rows are linearised.
    tolerance : float
        Largest difference allowed.
    """,
    wide_ramp="""
    width : float, default=2.0
        Width of the ramp, in units of the score.
    """,
    narrow_ramp="""
    width : float, default=0.5
        Width of the ramp, in units of the score; a wide one differs from decisions.
    """,
    idca_paper="""
    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    """,
)
