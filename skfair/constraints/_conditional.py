"""Parity of rates of decisions within strata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from skfair.constraints._docstrings import constraint_docs
from skfair.constraints._parity import DecisionRateParity
from skfair.groups import check_groups
from skfair.utils._messages import join_names
from skfair.utils._sklearn import safe_indexing

if TYPE_CHECKING:
    from skfair.groups import Samples


@constraint_docs
class ConditionalDemographicParity(DecisionRateParity):
    r"""Equal selection rates within strata: :math:`P(\hat y = 1 \mid z, g)` is the same for all g.

    Where groups differ in something that may count, such as the education that a post asks for,
    only samples of the same stratum z are compared [1]_. The largest gap of all strata counts, or
    their sum.

    Parameters
    ----------
    strata : str, int, list of these, or callable
        The column of the X given to ``fit`` whose values are the strata: its name if X is a
        DataFrame, or its position; of several columns, strata are the combinations that occur. A
        callable maps X to one label per row, as in
        ``lambda X: pandas.cut(X["income"], [0, 1000, 2000, 5000], labels=False)``. It receives
        only the rows that are fitted: those of the fold, of positive weight. In a pipeline X is the
        output of the steps before.
    {tolerance, ratio, options}

    References
    ----------
    .. [1] F. Kamiran, I. Žliobaitė and T. Calders, "Quantifying explainable discrimination and
       removing illegal discrimination in automated decision making", Knowledge and Information
       Systems 35, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.constraints import ConditionalDemographicParity
    >>> rng = np.random.default_rng(0)
    >>> group, degree = rng.integers(2, size=400), rng.integers(2, size=400)
    >>> X = np.column_stack((degree, rng.normal(size=400) + group))
    >>> y = X.sum(axis=1) + rng.normal(size=400) > 1
    >>> model = ConstrainedERMClassifier(ConditionalDemographicParity(strata=0), tolerance=0.05)
    >>> report = model.fit(X, y, sensitive_features=group).constraint_report_
    >>> report["cell"].unique().tolist()
    ['stratum 0.0', 'stratum 1.0']
    >>> bool(report["gap"].max() <= 0.05)
    True
    """

    uses_features = True
    metric = "conditional_demographic_parity_difference"
    ratio_metric = "conditional_demographic_parity_ratio"

    _parameter_constraints = {
        **DecisionRateParity._parameter_constraints,
        "strata": [str, int, np.integer, list, callable],
    }

    def __init__(
        self,
        strata: Any,
        *,
        tolerance: float | None = None,
        ratio: float | None = None,
        reference: Literal["groups", "overall"] = "groups",
        aggregate: str = "max",
        attributes: Literal["intersections", "each"] = "intersections",
        min_group_size: int | Literal["auto"] | None = None,
    ):
        super().__init__(
            tolerance=tolerance,
            ratio=ratio,
            reference=reference,
            aggregate=aggregate,
            attributes=attributes,
            min_group_size=min_group_size,
        )
        self.strata = strata

    def cells(self, samples: Samples) -> dict[str, np.ndarray]:
        """One cell for each stratum that occurs.

        Parameters
        ----------
        samples : Samples
            With the features X that define the strata.

        Returns
        -------
        cells : dict of str to ndarray of bool, shape (n_samples,)
            Name of a cell -> mask of its samples.

        Raises
        ------
        ValueError
            If there is no such column, a label is missing, or there are more strata than a
            tenth of the samples, and more than 10.
        """
        n_samples = len(samples.target)
        try:
            # Strata are encoded as groups are, so that labels of any container will do.
            strata = check_groups(self._labels(samples.X), n_samples)
        except (TypeError, ValueError) as error:
            reason = str(error).replace("sensitive_features", "the strata")
            raise ValueError(f"{self} finds no strata. {reason}") from error
        # A continuous column would give each sample a stratum of its own, and nothing to compare.
        if len(strata.names) > max(10, n_samples / 10):
            raise ValueError(
                f"{self} finds {len(strata.names)} strata among {n_samples} samples, too few in "
                "each to compare groups. Pass bands instead, as in "
                'strata=lambda X: pandas.qcut(X["income"], 5, labels=False).'
            )
        return {f"stratum {name}": strata.codes == code for code, name in enumerate(strata.names)}

    def _labels(self, X):
        """One label, or several, for each row of X."""
        if X is None:
            raise ValueError("The samples have no X; pass Samples(target, groups, weights, X).")
        X = X if hasattr(X, "shape") else np.asarray(X)
        if callable(self.strata):
            return self.strata(X)
        columns = self.strata if isinstance(self.strata, list) else [self.strata]
        if any(isinstance(one, str) for one in columns) and not hasattr(X, "columns"):
            raise ValueError(
                "Columns are named, but X is not a DataFrame; name their positions. In a pipeline "
                'the steps before pass a DataFrame on after set_output(transform="pandas").'
            )
        names, positions = list(getattr(X, "columns", ())), range(X.shape[1])
        absent = [
            one for one in columns if one not in (names if isinstance(one, str) else positions)
        ]
        if absent:
            raise ValueError(
                f"X has no column {join_names(map(repr, absent))}; its {len(positions)} columns "
                f"are {join_names(map(repr, names or positions))}."
            )
        # Several columns make up one stratum per combination of their values.
        labels = safe_indexing(X, columns, axis=1)
        return labels.toarray() if sparse.issparse(labels) else labels
