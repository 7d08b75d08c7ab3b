"""Docstring entries that the constraints share."""

from skfair._utils.api import make_docstring_decorator

_CONSTRAINT_ENTRIES = """
tolerance : float, dict or None, default=None
    Largest gap allowed; None takes the estimator's. A dict has one for each attribute, as in
    :class:`Constraint`.
loss : str, callable or None, default=None
    Name in ``skfair.losses.LOSSES`` or a callable (scores, target) -> Pointwise; None takes the
    loss that the estimator minimises. "squared" is the squared error, "absolute" the absolute
    one, of a regressor in units of the target.
ratio : float or None, default=None
    Smallest ratio allowed of two rates in place of a tolerance, as in
    :class:`DemographicParity`.
"""

_OPTIONS_TEXT = """
reference, aggregate, attributes, min_group_size
    See :class:`Constraint`.
"""

_ONE_SIDED_OPTIONS_TEXT = """
reference, aggregate, attributes, min_group_size, direction
    See :class:`Constraint`.
"""

_CELL_SIGNATURE_TEXT = """
Parameters
----------
samples : Samples
    Targets (classes -1 and +1), groups and weights.

Returns
-------
cells : dict of str to ndarray of bool, shape (n_samples,)
    Name of a cell -> mask of its samples.
"""

_TERMS_SIGNATURE_TEXT = """
Parameters
----------
surrogate, loss : callable
    As in :meth:`Constraint.terms`.

Returns
-------
terms : tuple of one callable
    (scores, target) -> Pointwise.
"""

_LOSS_TOLERANCE_TEXT = """
tolerance : float or None, default=None
    Largest gap allowed, in units of the loss; None takes the estimator's.
"""

constraint_docs = make_docstring_decorator(
    _CONSTRAINT_ENTRIES,
    options=_OPTIONS_TEXT,
    one_sided_options=_ONE_SIDED_OPTIONS_TEXT,
    cell_signature=_CELL_SIGNATURE_TEXT,
    terms_signature=_TERMS_SIGNATURE_TEXT,
    loss_tolerance=_LOSS_TOLERANCE_TEXT,
)

_PARTIAL_ENTRIES = """
interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
    ``(alpha, beta)`` selects ranks in [alpha, beta), counted from the highest score: (0.0, 0.2)
    is the top fifth of each group. A list of pairs means their union.
tolerance : float in [0, 1] or None, default=None
    Largest difference allowed; None takes the estimator's.
scale : {"normalized", "raw"}, default="normalized"
    Whether the tolerance is in units of the width of the interval, or of the whole group.
threshold : float or None, default=None
    Where decisions are made; None is 0 of classifiers. Of predicted numbers it must be passed.
min_group_size : int, "auto" or None, default=None
    Groups with fewer samples are not compared, as in `DemographicParity`; None takes the
    estimator's.
"""

_WIDE_RAMP_TEXT = """
width : float or None, default=None
    Width of the ramp, in units of the score; of a regressor in those of its target. None is 2,
    of a regressor 2 standard deviations of the target.
"""

_NARROW_RAMP_TEXT = """
width : float or None, default=None
    Width of the ramp, in units of the score; of a regressor in those of its target. A wide one
    differs from decisions. None is .5, of a regressor .5 standard deviations of the target.
"""

_IDCA_PAPER_TEXT = """
References
----------
.. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
   percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
"""

partial_docs = make_docstring_decorator(
    _PARTIAL_ENTRIES,
    wide_ramp=_WIDE_RAMP_TEXT,
    narrow_ramp=_NARROW_RAMP_TEXT,
    idca_paper=_IDCA_PAPER_TEXT,
)
