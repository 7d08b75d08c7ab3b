"""Preprocessing that removes what groups differ by, and scores that take the place of a model.

Neither reweighing nor the removal of correlations bounds the gap of the decisions that follow. The
classifiers of :mod:`skfair.classification` do.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from skfair._groups.arguments import FitArguments
from skfair._groups.groups import check_classes
from skfair._groups.known import HOW_TO_PASS_GROUPS, encode_groups_for_prediction
from skfair._groups.samples import check_alignment, check_samples
from skfair._groups.state import PlainStateMixin
from skfair._utils.api import GroupName, MatrixLike
from skfair._utils.checks import check_column, join_names, validate_data, warn
from skfair._utils.parameters import NonNegativeInt, Share, make_constructor, validate_params
from skfair._utils.sklearn import check_sample_weight, safe_indexing

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from skfair._utils.tables import Table


__all__ = ["CorrelationRemover", "ScoreColumn", "reweighing_weights"]


def reweighing_weights(
    y: ArrayLike, *, sensitive_features: MatrixLike, sample_weight: ArrayLike | None = None
) -> np.ndarray:
    r"""Sample weights that make the class independent of the group: reweighing.

    A sample of group g and class c gets the weight

    .. math:: w_i \, \frac{W_g W_c}{W \, W_{gc}},

    with :math:`W_g`, :math:`W_c`, :math:`W_{gc}` and W the total weights of its group, of its
    class, of both and of all samples [1]_. With these weights every group has the base rates of
    all samples, and groups and classes keep their total weights. Pass them to the ``fit`` of any
    classifier. Decisions of the classifier may still depend on the group.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class of each sample, of two or more classes.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample. With several attributes the groups are the intersections that occur.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights :math:`w_i`; None means 1.

    Returns
    -------
    weights : ndarray of shape (n_samples,)
        0 where `sample_weight` is 0.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, hold missing values, or y is
        continuous.

    Warns
    -----
    UserWarning
        If a group has no sample of a class: no weights can give it the base rate of that class.

    References
    ----------
    .. [1] F. Kamiran and T. Calders, "Data preprocessing techniques for classification without
       discrimination", Knowledge and Information Systems 33, 2012, Section 5.3.

    Examples
    --------
    >>> from skfair.preprocessing import reweighing_weights
    >>> reweighing_weights([1, 1, 0, 1, 0, 0], sensitive_features=["a", "a", "a", "b", "b", "b"])
    array([0.75, 0.75, 1.5 , 1.5 , 0.75, 0.75])
    """
    check_column("y", y)
    labels = column_or_1d(y, warn=True)
    if np.any(labels != labels):
        raise ValueError("y must hold the class of each sample, but some are NaN; leave these out.")
    check_classes(labels, "y")
    arguments = FitArguments(
        y=y, sensitive_features=sensitive_features, sample_weight=sample_weight
    )
    samples, rows = check_samples(arguments)
    largest = samples.weights.max()  # products of weights in these units stay finite
    samples = samples._replace(weights=samples.weights / largest)
    classes, codes = np.unique(LabelEncoder().fit_transform(labels)[rows], return_inverse=True)
    # Total weights by group and class, and what they would be if the two were independent.
    groups = samples.groups
    totals = np.zeros((len(groups.names), len(classes)))
    np.add.at(totals, (groups.codes, codes), samples.weights)
    _warn_of_absent_classes(totals, groups.names)
    expected = np.outer(totals.sum(axis=1), totals.sum(axis=0)) / totals.sum()
    weights = np.zeros(len(labels))
    factors = expected[groups.codes, codes] / totals[groups.codes, codes]
    weights[rows] = largest * (samples.weights * factors)
    return weights


def _warn_of_absent_classes(totals: np.ndarray, names: list[GroupName]) -> None:
    """Warn of groups that lack a class, given the total weights by group and class."""
    lacking = [name for name, total in zip(names, totals, strict=True) if not total.all()]
    if lacking:
        warn(
            "No weights can give a group the base rate of a class that it lacks: "
            f"{join_names(map(repr, lacking))} {'lacks' if len(lacking) == 1 else 'lack'} one. "
            "Merge these groups with others, or leave their samples out."
        )


@make_constructor
class CorrelationRemover(PlainStateMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Features that no group differs in by their means: a linear correlation remover.

    A sample of group g is transformed to

    .. math:: x - \alpha (\mu_g - \mu),

    with :math:`\mu_g` and :math:`\mu` the weighted means of the features in the group and in all
    training samples. These are the residuals of a least-squares fit of each feature to the groups,
    with the mean added. With :math:`\alpha = 1` no feature of the training data is correlated with
    the group.

    It is for linear models. Use
    :class:`~skfair.classification.ConstrainedClassifierCV` around trees, nearest neighbours and
    networks: each group has its own shift, so that equal values of a feature become different
    ones, which tell such a model the group (see Notes).

    Read more in the :ref:`guide <reweighing>`.

    Parameters
    ----------
    alpha : float in [0, 1], default=1.0
        Share of the differences that is removed.
    handle_unknown : {"error", "overall"}, default="error"
        What happens to new samples of a group that was not seen at fit, or that is missing: "error"
        raises a ValueError, "overall" leaves their features as they are, with a warning.

    Attributes
    ----------
    shifts_ : ndarray of shape (n_groups, n_features)
        What is subtracted from the samples of each group, :math:`\alpha (\mu_g - \mu)`.
    groups_ : GroupSummary
        Labels and sizes of the groups, in the order of `shifts_`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if all are strings.

    See Also
    --------
    reweighing_weights : Weights that make the class independent of the group.
    skfair.classification.ConstrainedERMClassifier : Bounds the gap of the decisions themselves.
    skfair.classification.ConstrainedClassifierCV : Bounds that of any model, trees included.

    Notes
    -----
    ``transform`` needs the group of every sample. In pipelines and searches, call
    ``sklearn.set_config(enable_metadata_routing=True)``: groups are then passed on.

    ``python -m benchmarks preprocessing-trees`` fits the numeric columns of Adult. After the
    removal boosted trees recognise the sex of held-out people with an AUC of 1.000, before it with
    .685. The gap of their decisions grows from .096 to .189, as with the sex as a column. That of
    logistic regression falls from .079 to .014.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.preprocessing import CorrelationRemover
    >>> X = np.array([[1.0], [3.0], [5.0], [7.0]])
    >>> sex = ["f", "f", "m", "m"]
    >>> CorrelationRemover().fit_transform(X, sensitive_features=sex).ravel()
    array([3., 5., 3., 5.])

    Forty hours of a week become two values, by which trees can tell the groups:

    >>> hours = np.array([[40.0], [40.0], [40.0], [45.0]])
    >>> CorrelationRemover().fit_transform(hours, sensitive_features=sex).ravel()
    array([41.25, 41.25, 38.75, 43.75])
    """

    __metadata_request__fit = {"sensitive_features": True}
    __metadata_request__transform = {"sensitive_features": True}

    alpha: Share = 1.0
    handle_unknown: Literal["error", "overall"] = "error"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CorrelationRemover:
        """Compute the means of the groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numeric features.
        y : Ignored
            Present by convention.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
            Group of each sample. With several attributes the groups are the intersections that
            occur. Without groups there is a warning, and features stay as they are.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the samples.

        Returns
        -------
        self : CorrelationRemover

        Raises
        ------
        ValueError
            If the inputs differ in length or in their pandas index, or hold missing values.
        """
        validate_params(self)
        features = validate_data(self, X, dtype=[np.float64, np.float32])
        samples, rows = check_samples(
            FitArguments(X=X, sensitive_features=sensitive_features, sample_weight=sample_weight),
            missing="fit got no sensitive_features: all samples are one group, and features stay "
            "as they are. Pass fit(X, sensitive_features=...).",
        )
        # Mean of each group, less that of all samples.
        totals = samples.groups.matrix.T @ (samples.weights[:, np.newaxis] * features[rows])
        weights = samples.groups.matrix.T @ samples.weights
        means = totals / weights[:, np.newaxis]
        self.shifts_ = self.alpha * (means - totals.sum(axis=0) / weights.sum())
        self.groups_ = samples.groups.summary
        return self

    def transform(
        self, X: ArrayLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Subtract what the mean of each sample's group differs by.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numeric features.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
            Group of each sample, of the attributes that fit got.

        Returns
        -------
        X_transformed : ndarray of shape (n_samples, n_features)
            Of the dtype of X, float32 or float64.

        Raises
        ------
        ValueError
            If a group was not seen at fit, with ``handle_unknown="error"``, or the inputs differ in
            length.
        MissingSensitiveFeaturesError
            If groups are not passed, and there were several at fit.
        """
        check_is_fitted(self)
        features = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        check_alignment(X=X, sensitive_features=sensitive_features)
        codes = encode_groups_for_prediction(
            sensitive_features,
            len(features),
            self.groups_,
            "transform subtracts what the mean of each group differs by.",
            self.handle_unknown,
            "Pass each sample's group, as in transform(X, sensitive_features=...). "
            f"{HOW_TO_PASS_GROUPS}.",
        )
        # Unknown groups have the number of known groups as code, the last row.
        shifts = np.vstack((self.shifts_, np.zeros(self.n_features_in_)))
        return features - shifts.astype(features.dtype)[codes]

    def fit_transform(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> np.ndarray:
        """Fit, and transform the training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numeric features.
        y : Ignored
            Present by convention.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
            Group of each sample.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the samples.

        Returns
        -------
        X_transformed : ndarray of shape (n_samples, n_features)
        """
        self.fit(X, sensitive_features=sensitive_features, sample_weight=sample_weight)
        return self.transform(X, sensitive_features=sensitive_features)


@make_constructor
class ScoreColumn(ClassifierMixin, BaseEstimator):
    """A column of X as the scores of a classifier, such as those of a vendor or an API.

    Pass it to `~skfair.classification.ConstrainedClassifierCV` where there are scores, but no
    model. The other columns of X do not change the scores. From them the group is estimated, which
    the scores alone say little about.

    Read more in the :ref:`guide <any_model>`.

    Parameters
    ----------
    column : int or str, default=0
        Position of the scores in X, or their name in a data frame. Higher scores mean more of the
        second of the two classes.
    scale : {"log_odds", "probability"}, default="log_odds"
        What the scores are: log-odds, or any number that is positive where the second class is
        predicted; or probabilities of that class.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels of the classes, ascending.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of str
        Names of columns seen during fit, if all are strings.

    See Also
    --------
    skfair.classification.ConstrainedClassifierCV : Decisions under constraints, by any scores.

    Notes
    -----
    ``fit`` learns nothing but the labels, so that all scores are out of sample if those of the
    vendor are. ``ConstrainedClassifierCV`` calibrates them on the training data: any increasing
    scale of them serves.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedClassifierCV
    >>> from skfair.preprocessing import ScoreColumn
    >>> rng = np.random.default_rng(0)
    >>> sex, skill = rng.integers(2, size=2000), rng.normal(size=2000)
    >>> X = np.column_stack((skill + sex, sex + rng.normal(size=2000)))
    >>> y = X[:, 0] + rng.normal(size=2000) > 0.5
    >>> model = ConstrainedClassifierCV(ScoreColumn(0), tolerance=0.05)
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> model.constraint_report_[["group", "estimate", "gap"]].round(2)
       group  estimate   gap
    0      0      0.46  0.05
    1      1      0.51  0.05
    """

    column: NonNegativeInt | str = 0
    _: KW_ONLY
    scale: Literal["log_odds", "probability"] = "log_odds"

    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ScoreColumn:
        """Store the labels, and check the scores.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Scores, and other columns.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, which are checked alone: nothing is learned.

        Returns
        -------
        self : ScoreColumn

        Raises
        ------
        ValueError
            If X has no such column, its scores are not finite, not probabilities although
            ``scale="probability"``, y has not two classes, or weights are negative or all 0.
        """
        validate_params(self)
        scores = self._read(X, reset=True)
        check_column("y", y)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classes(np.asarray(y), "y")
        check_consistent_length(scores, y)
        if sample_weight is not None:
            check_sample_weight(sample_weight, scores)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported. A column of scores needs y of two "
                f"classes, but y has {len(self.classes_)} class"
                f"{'es' if len(self.classes_) > 1 else ''}; make two of them, as in y == label."
            )
        if self.scale == "log_odds" and scores.min() >= 0.0 and scores.max() <= 1.0:
            warn(
                f"All scores of column {self.column!r} are between 0 and 1, as probabilities are, "
                "but scale='log_odds'. Pass scale='probability' if they are."
            )
        return self

    @available_if(lambda self: self.scale == "log_odds")
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the scores, which exist with ``scale="log_odds"``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Scores, and other columns.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._read(X, reset=False)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the probabilities of both classes that the scores state.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Scores, and other columns.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            Those of the logistic function of log-odds.
        """
        check_is_fitted(self)
        scores = self._read(X, reset=False)
        positive = expit(scores) if self.scale == "log_odds" else scores
        return np.column_stack((1.0 - positive, positive))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the likelier class, the first one of equally likely classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Scores, and other columns.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        threshold = 0.0 if self.scale == "log_odds" else 0.5
        return self.classes_[(self._read(X, reset=False) > threshold).astype(int)]

    def __sklearn_tags__(self) -> Tags:
        """Say that two classes are scored, and not necessarily well."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # where the column says nothing of the class
        return tags

    def _read(self, X: Table, reset: bool) -> np.ndarray:
        """The scores of the column, (n_samples,), checked."""
        is_frame = hasattr(X, "columns")
        # Other columns may be of any type, and may have missing values.
        X = X if is_frame else check_array(X, dtype=None, ensure_all_finite=False, estimator=self)
        validate_data(self, X, reset=reset, skip_check_array=True)
        names = list(getattr(X, "columns", ())) if is_frame else []
        n_columns = len(names) or X.shape[1]
        is_there = self.column in names if isinstance(self.column, str) else self.column < n_columns
        if not is_there:
            raise ValueError(
                f"X must have the column of the scores, but column={self.column!r}, and X has "
                f"{n_columns} columns{f' named {join_names(names)}' if names else ''}; pass the "
                "position or the name of one of them."
            )
        scores = check_array(
            safe_indexing(X, self.column, axis=1),
            ensure_2d=False,
            dtype=float,
            input_name=f"column {self.column!r} of X",
            estimator=self,
        )
        if self.scale == "probability" and (scores.min() < 0.0 or scores.max() > 1.0):
            raise ValueError(
                "With scale='probability' scores must be between 0 and 1, but those of column "
                f"{self.column!r} are between {scores.min():.3g} and {scores.max():.3g}. Divide "
                "percentages by 100; pass scale='log_odds' for scores on another scale."
            )
        return scores
