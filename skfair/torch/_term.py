"""Constraint of a training loop, as a term of the loss with multipliers of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._utils.api import Tensor
from skfair._utils.checks import join_names
from skfair.constraints import ConstraintLike
from skfair.losses import Loss
from skfair.torch._cells import ConstraintSettings, FollowedRows, encode_cells
from skfair.torch._loop import check_batch_lengths, disable_compilation, linear_function
from skfair.torch._model import to_float64_array
from skfair.torch._samples import require_torch

if TYPE_CHECKING:
    from skfair._utils.tables import TableLike


class ConstraintTerm:
    r"""Constraint of a training loop: a term to be added to the loss of each mini-batch.

    For groups a and b (and each class that the constraint compares) the term is
    :math:`\sum_{a \ne b} \lambda_{ab} (r_a - r_b)`, with smooth rates r of the batch. Each call
    with gradients then moves the multipliers by the rates :math:`\hat r` of decisions,

    .. math::

        \lambda_{ab} \leftarrow \bigl[\lambda_{ab} + \sigma \tfrac{n_\text{batch}}{n}
        (\hat r_a - \hat r_b - \text{tolerance})\bigr]_+ .

    The rate of a group is a sum over the samples that the batch has of it, divided by the number
    that a batch of this size has on average. So the moves of an epoch add up to one move on all
    samples, whatever the batches: small, without a group, or accumulated. The largest difference
    of a batch, which `constraint_values` returns, is positive by sampling noise.

    Decisions end near the tolerance. End the training with
    ``ConstrainedTorchClassifier(module, constraint, solver=None)``, whose decisions keep it.

    Read more in the :ref:`guide <networks>`.

    Parameters
    ----------
    constraint : str, Constraint or list of these
        What must be fair, as in `constraint_values`. Rates may be compared with one another, with
        the overall rate or with a bound, by difference or ratio.
    target : torch.Tensor or array-like of shape (n_samples,)
        Classes of all training samples, 0 and 1, -1 and 1 or booleans.
    sensitive_features : torch.Tensor or array-like of shape (n_samples,) or (n_samples, n_columns)
        Groups of all training samples.
    tolerance : float or None, default=None
        Tolerance of constraints that have none of their own; None is .05.
    surrogate : {"sigmoid", "ramp"} or callable, default="sigmoid"
        Smooth surrogate of the decision, see :mod:`skfair.surrogates`.
    dual_step : float, default=1.0
        Dual step :math:`\sigma`: what a violation of 1 adds to a multiplier in an epoch.

    Attributes
    ----------
    multipliers : list of ndarray of shape (n_pairs,)
        Multipliers of each constraint, at least 0: one for each ordered pair of groups, and for
        each class that is compared.

    Raises
    ------
    ValueError
        If a parameter is invalid, nothing is compared, or the constraint is on ranks, on quotients
        such as precision, or on a sum or mean of many gaps.

    See Also
    --------
    ConstrainedTorchClassifier : The whole training, with the same multipliers.
    constraint_values : Values of constraints, for methods of one's own.

    Notes
    -----
    Multipliers need some epochs to grow: after three the gap may still be far above its tolerance.
    Groups of which a batch has one or two samples end below it. The last layer corrects both.

    Examples
    --------
    >>> import torch
    >>> from skfair.torch import ConstraintTerm
    >>> _ = torch.manual_seed(0)
    >>> sex = torch.arange(1000) % 2
    >>> X = torch.randn(1000, 3)
    >>> X[:, 0] += sex
    >>> y = X.sum(dim=1) + torch.randn(1000) > 0.5
    >>> module = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    >>> bce = torch.nn.functional.binary_cross_entropy_with_logits
    >>> term = ConstraintTerm("demographic_parity", y, sex, tolerance=0.1)
    >>> for _ in range(25):
    ...     for rows in torch.randperm(1000).split(50):
    ...         scores = module(X[rows])[:, 0]
    ...         loss = bce(scores, y[rows].float()) + term(scores, y[rows], sex[rows])
    ...         optimizer.zero_grad()
    ...         loss.backward()
    ...         optimizer.step()
    >>> accepted = (module(X)[:, 0] > 0).float()
    >>> print(f"{accepted[sex == 1].mean() - accepted[sex == 0].mean():.1f}")
    0.1
    """

    def __init__(
        self,
        constraint: ConstraintLike,
        target: Any,
        sensitive_features: Any,
        *,
        tolerance: float | None = None,
        surrogate: str | Loss = "sigmoid",
        dual_step: float = 1.0,
    ):
        if not dual_step >= 0.0:
            raise ValueError(f"dual_step must be at least 0, but dual_step={dual_step!r}.")
        settings = ConstraintSettings(constraint, tolerance, surrogate, by_pair=True)
        self.dual_step = dual_step
        cells = encode_cells(target, sensitive_features)
        # Groups are known by their labels: those of a batch have numbers of their own.
        self._groups = {cells.labels[group]: group for group in np.unique(cells.codes // 2)}
        self._n_samples = len(cells.codes)
        bound = [settings.bind(one, cells) for one in settings.resolve()]
        for one in bound:
            _check_compared_means(one)
        tables = [one.members / (cells.counts @ one.members) for one in bound]
        self._rows = FollowedRows(bound, tables)
        self.multipliers = self._rows.start()

    def __call__(self, scores: Any, target: Any, sensitive_features: Any) -> Tensor:
        """The term of a mini-batch, a tensor without axes; its decisions then move the multipliers.

        Scores are a tensor on any device, in any real dtype, of shape (n_batch,) or (n_batch, 1).
        Groups are those of the training samples, or some of them. Where gradients are disabled, as
        in validation, the multipliers stay as they are.
        """
        evaluate = ConstraintTerm._evaluate
        if require_torch().compiler.is_compiling():
            evaluate = disable_compilation(evaluate)
        return evaluate(self, scores.reshape(-1), target, sensitive_features)

    def _evaluate(self, scores: Tensor, target: Tensor, sensitive_features: TableLike) -> Tensor:
        """The term of a mini-batch, as a tensor, after which the multipliers are moved."""
        cells = encode_cells(target, sensitive_features)
        codes = self._match_groups(cells)
        check_batch_lengths(scores, cells)
        at = to_float64_array(scores)
        share = len(at) / self._n_samples
        moves = require_torch().is_grad_enabled() and scores.requires_grad
        step = self.dual_step * share if moves else 0.0
        value, slopes = self._rows.follow(self.multipliers, at, cells.target, codes, share, step)
        return linear_function(scores, slopes[np.newaxis], np.array([value]))[0]

    def _match_groups(self, cells):
        """Codes of the cells of a batch, with the numbers of groups among all samples."""
        known = [self._groups.get(label, -1) for label in cells.labels]
        groups = np.array(known, dtype=np.intp)[cells.codes // 2]
        if groups.min(initial=0) < 0:
            unknown = cells.labels[cells.codes[groups.argmin()] // 2]
            raise ValueError(
                "sensitive_features must have groups of the training samples, which are "
                f"{join_names(map(_state_group, self._groups))}, but a sample has "
                f"{_state_group(unknown)}; make the term with the groups of all samples."
            )
        return 2 * groups + cells.codes % 2

    def state_dict(self) -> dict[str, Any]:
        """Copies of the multipliers, for ``torch.save``.

        Returns
        -------
        state_dict : dict
            With the tensors of "multipliers".
        """
        return {"multipliers": [require_torch().tensor(one) for one in self.multipliers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the multipliers of a term with the same constraints and groups.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` of such a term returned.

        Raises
        ------
        ValueError
            If it has other numbers of multipliers.
        """
        loaded = [to_float64_array(one).copy() for one in state_dict.get("multipliers", ())]
        lengths = [len(one) for one in loaded]
        expected = [len(one) for one in self.multipliers]
        if lengths != expected:
            raise ValueError(
                "state_dict must be that of a term with the same constraints and groups, which has "
                f"{expected} multipliers, but it has {lengths}; make this term with the "
                "constraints and groups of the saved one."
            )
        self.multipliers = loaded


def _check_compared_means(cell_constraint):
    """Raise for a constraint that compares no means, or nothing in the training samples."""
    rows = cell_constraint.rows
    if rows.sums.is_quotient or rows.rates_to_rows is None:
        raise ValueError(
            "ConstraintTerm compares rates that are means, with one another or with a bound, "
            f"which {rows.sums.name} does not; train without it, and enforce it in the last "
            "layer: ConstrainedTorchClassifier(solver=None)."
        )
    if not len(rows.lower):
        raise ValueError(
            f"sensitive_features must have two groups or more that {rows.sums.name} compares, "
            "but there are fewer; pass the groups of all training samples."
        )


def _state_group(name: tuple[Any, ...]) -> str:
    """The label of a group, as messages state it."""
    return repr(name[0] if len(name) == 1 else name)
