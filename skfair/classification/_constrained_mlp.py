"""A multi-layer perceptron trained under fairness constraints that its decisions keep."""

from numbers import Real

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.metaestimators import available_if

from skfair.classification._constrained_erm import fit_classifier
from skfair.classification._linear import has_probabilities
from skfair.constraints import CONSTRAINTS, Constraint
from skfair.losses import LOSSES
from skfair.surrogates import SURROGATES
from skfair.training import ConstrainedNetwork, label_positive
from skfair.utils._fit import all_or_nothing
from skfair.utils._sklearn import Interval, StrOptions


class ConstrainedMLPClassifier(ClassifierMixin, ConstrainedNetwork):
    r"""Multi-layer perceptron trained under fairness constraints.

    Minimises, over the weights w of all layers, the mean loss subject to bounds on gaps between
    groups, as :class:`ConstrainedERMClassifier` does for linear scores. All layers are trained on
    mini-batches with smooth rates. Then the last layer is fitted again, those before it held fixed:
    in it scores are linear, so that the decisions on the training data keep the tolerance exactly
    as those of a linear model do. Columns are standardised inside.

    Parameters
    ----------
    constraint : str, Constraint, list of these, or None, default="demographic_parity"
        What must be fair, as in :class:`ConstrainedERMClassifier`. Constraints on intervals of
        percentiles compare ranks, which batches do not show: the last layer alone keeps them.
    tolerance : float, default=0.02
        Largest gap allowed, in units of the constraint's public metric, for constraints that have
        no tolerance of their own.
    enforcement : {"auto", "correction", "sweep", "path", "calibration"} or None, default="auto"
        How the last layer is made to keep the bound by the public metric on the training data, see
        :mod:`skfair.enforcement`. None: the network as the solver leaves it, for comparisons.
    hidden_layer_sizes : int or array-like of int, default=(64, 32)
        Units of each hidden layer.
    activation : {"relu", "tanh"}, default="relu"
        Activation of the hidden units.
    loss : str or callable, default="logistic"
        Loss of a score, as in :class:`ConstrainedERMClassifier`.
    alpha : float, default=1e-3
        Strength of the l2 penalty on the weights of all layers, relative to a mean loss.
    surrogate : {"sigmoid", "ramp"} or callable, default="sigmoid"
        Smooth stand-in for the decision, see :mod:`skfair.surrogates`.
    solver : str or Solver, default="adam-pd"
        A name in :data:`skfair.solvers.SOLVERS`, or an object with settings of its own, such as
        :class:`skfair.solvers.AdamPrimalDual` with another learning rate or batch size. Solvers
        that need second derivatives or a linear model are refused.
    max_iter : int or None, default=None
        Most epochs of a solver chosen by name; None takes the solver's own default.
    tol : float or None, default=None
        Violation up to which an epoch counts as feasible, for a solver chosen by name; None takes
        the solver's own default.
    early_stopping : bool, default=False
        Whether some of each class of each group are held out from the training of the layers: it
        stops when their loss no longer falls, and the best epoch for them is taken, among those of
        least violation. The last layer is fitted on everybody.
    validation_fraction : float, default=0.1
        Share of the samples held out.
    n_iter_no_change : int, default=10
        Epochs without improvement after which the training stops early.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the loss, not in the constraint.
    pos_label : int, float, bool or str, default=None
        The class that means success: the rates that are compared are its rates.
        None takes 1 if the labels are 0 and 1, -1 and 1 or booleans, and asks for it if they are
        others and groups are compared.
    warm_start : bool, default=False
        Whether to start from the layers of the previous fit.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, of the batches and of who is held out.
    verbose : int, default=0
        Print every epoch if positive.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels of the classes, ascending.
    pos_label_ : label
        The positive class.
    coefs_ : list of ndarray of shape (fan_in, fan_out)
        Weights of each layer, for the columns of X as they came.
    intercepts_ : list of ndarray of shape (fan_out,)
        Biases of each layer.
    loss_curve_ : list of float
        Objective after each epoch, on those trained on.
    validation_loss_curve_ : list of float
        The same of those held out, with ``early_stopping=True``.
    multipliers_ : ndarray of shape (n_rows,)
        Multipliers of the rows of the last problem solved: what one unit of tolerance is worth.
    objective_ : float
        Mean loss and penalty.
    constraint_violation_ : float
        Largest excess of a gap over its tolerance by the public metric on the training data; 0
        when all tolerances are kept, nan if groups were to be compared, but none came.
    constraint_report_ : DataFrame
        One row per rate that is compared, as in :class:`ConstrainedERMClassifier`.
    status_ : {"optimal", "feasible", "max_iter", "infeasible", "unconstrained"}
        As in :class:`ConstrainedERMClassifier`, of the last layer: no method certifies the others.
        With ``enforcement=None`` it is that of the training.
    n_iter_ : int
        Epochs.
    groups_ : GroupSummary
        Labels and counts of the groups.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if X has string column names.

    See Also
    --------
    ConstrainedERMClassifier : Linear scores, for which the whole fit is certified.
    sklearn.neural_network.MLPClassifier : Without constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedMLPClassifier
    >>> from skfair.metrics import demographic_parity_difference
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=400)
    >>> X = rng.normal(size=(400, 2)) + 0.5 * sex[:, np.newaxis]
    >>> y = X[:, 0] * X[:, 1] > 0.2
    >>> model = ConstrainedMLPClassifier(tolerance=0.05, hidden_layer_sizes=16, random_state=0)
    >>> decisions = model.fit(X, y, sensitive_features=sex).predict(X)
    >>> bool(demographic_parity_difference(y, decisions, sensitive_features=sex) <= 0.05)
    True
    """

    _parameter_constraints = {
        **ConstrainedNetwork._parameter_constraints,
        "constraint": [StrOptions(set(CONSTRAINTS)), Constraint, list, tuple, None],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "loss": [StrOptions(set(LOSSES)), callable],
        "surrogate": [StrOptions(set(SURROGATES)), callable],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "pos_label": [Real, str, "boolean", None],
    }

    def __init__(
        self,
        constraint="demographic_parity",
        *,
        tolerance=0.02,
        enforcement="auto",
        hidden_layer_sizes=(64, 32),
        activation="relu",
        loss="logistic",
        alpha=1e-3,
        surrogate="sigmoid",
        solver="adam-pd",
        max_iter=None,
        tol=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        class_weight=None,
        pos_label=None,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.constraint = constraint
        self.tolerance = tolerance
        self.enforcement = enforcement
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.loss = loss
        self.alpha = alpha
        self.surrogate = surrogate
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    @with_callbacks
    def fit(self, X, y, *, sensitive_features=None, sample_weight=None):
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Two classes, by labels of any kind.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or \
                sparse matrix of bool, shape (n_samples, n_groups), default=None
            Group of each sample, as in :meth:`ConstrainedERMClassifier.fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the loss and in the rates; samples of weight 0 count as absent.

        Returns
        -------
        self : ConstrainedMLPClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, or it cannot be told which class is the positive
            one; the message says what must hold.
        """
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        return fit_classifier(self, X, y, people)

    def decision_function(self, X):
        """Score of each row; above 0 it is the second of the ``classes_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._scores(X)

    def predict(self, X):
        """Class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self._scores(X)
        positive = scores > 0 if self.pos_label_ == self.classes_[1] else scores < 0
        return label_positive(positive, self.classes_, self.pos_label_)

    @available_if(has_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes; only for the logistic loss.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        scores = self._scores(X)
        return np.column_stack((expit(-scores), expit(scores)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
