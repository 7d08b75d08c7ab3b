"""The tasks of skfair by question: ``doc/conf.py`` writes the table of the guide from them."""

import re
from typing import NamedTuple


class Task(NamedTuple):
    """A question of users, the names that answer it, and the page that explains them."""

    question: str
    names: str
    module: str
    label: str


DOORS = {
    "Measure": [
        Task(
            "How does a model treat groups? Disparate impact, 80 % rule, error rates",
            "`Audit`, `python -m skfair report`",
            "audit",
            "audit",
        ),
        Task(
            "Which subgroups depart most, with limits that hold for all of them?",
            "`Audit`, `python -m skfair subgroups`",
            "audit",
            "audit_subgroups",
        ),
        Task(
            "Can I certify a tolerance on held-out data, and how large must the sample be?",
            "`Audit`, `python -m skfair certify`, `plan`",
            "audit",
            "sample_size",
        ),
        Task(
            "Is there a less discriminatory alternative to the model in use?",
            "`Audit`, `python -m skfair alternatives`",
            "audit",
            "alternatives",
        ),
        Task(
            "Does a deployed model keep a tolerance over time? Drift, repeated looks",
            "`GapMonitor`, `python -m skfair monitor`",
            "monitoring",
            "monitoring",
        ),
        Task(
            "What if the group is recorded for some samples only?",
            "`SensitiveFeatures`",
            "audit",
            "missing_groups",
        ),
        Task(
            "What does fairness cost in accuracy, and which tolerance is worth it?",
            "`fairness_front`",
            "audit",
            "price_of_fairness",
        ),
    ],
    "Change": [
        Task(
            "Can I keep the forest, boosting or pipeline that I have? Bias mitigation",
            "`ConstrainedClassifierCV`",
            "classification",
            "any_model",
        ),
        Task(
            "The same for a regressor, or a linear regressor?",
            "`ConstrainedRegressorCV`, `ConstrainedERMRegressor`",
            "regression",
            "fair_regression",
        ),
        Task(
            "Can I train a linear classifier, or a network in numpy, under constraints?",
            "`ConstrainedERMClassifier`, `ConstrainedMLPClassifier`",
            "classification",
            "fair_classification",
        ),
        Task(
            "The same in PyTorch, for a module, a training loop or the last layer?",
            "`ConstrainedTorchClassifier`, `ConstraintTerm`",
            "torch",
            "networks",
        ),
        Task(
            "Can groups be equal wherever a threshold falls in a range of percentiles?",
            "`PartialParityClassifier`, `PartialParityPostprocessor`",
            "classification",
            "partial_parity",
        ),
        Task(
            "The same for predicted numbers?",
            "`PartialParityRegressor`",
            "regression",
            "partial_parity",
        ),
        Task(
            "Can rankings give groups equal chances, or equal exposure?",
            "`ConstrainedRanker`, `ConstrainedRankerCV`",
            "ranking",
            "fair_ranking",
        ),
        Task(
            "Can every list of results have a quota of each group among its first k?",
            "`rerank`",
            "ranking",
            "fair_ranking",
        ),
        Task(
            "Can prediction sets contain the truth equally often? Conformal prediction",
            "`ConformalClassifier`, `ConformalRegressor`",
            "conformal",
            "prediction_sets",
        ),
        Task(
            "Is it enough to reweigh samples, or to remove from features what groups differ by?",
            "`reweighing_weights`, `CorrelationRemover`",
            "preprocessing",
            "reweighing",
        ),
        Task(
            "Which candidate of a search keeps a bound at the smallest loss?",
            "`best_subject_to`",
            "model_selection",
            "pipelines",
        ),
    ],
    "Bound": [
        Task(
            "Can every cluster of k-means contain every group, and what does that cost?",
            "`FairKMeans`, `cluster_front`",
            "cluster",
            "fair_clustering",
        ),
        Task(
            "Can clusters of points, or by travel times, have bounded sizes? Balanced k-means",
            "`FairKMeans`, `FairKMedoids`",
            "cluster",
            "balanced_clusters",
        ),
        Task(
            "Can zones stay in one piece, and households together? School districts, territories",
            "`FairKMedoids`",
            "cluster",
            "territories",
        ),
        Task(
            "Can clusters of a graph, or with a kernel, contain every group?",
            "`FairSpectralClustering`, `cluster_front`",
            "cluster",
            "fair_spectral_clustering",
        ),
        Task(
            "The data does not fit into memory, or is on several machines. What now?",
            "`open_blocks`",
            "datasets",
            "large_data",
        ),
    ],
}
"""Tasks by the door that leads to them: measure a model, change its decisions, bound clusters."""


def page_table():
    """The table of the guide, with links."""
    lines = [".. list-table::", "   :header-rows: 1", "   :class: stacked"]
    lines += ["   :widths: 12 42 30 16", ""]
    lines += ["   * - door", "     - question", "     - answer", "     - guide"]
    for door, tasks in DOORS.items():
        for position, task in enumerate(tasks):
            lines += [
                f"   * - {'' if position else door}",
                f"     - {task.question}",
                f"     - {_link_names(task)}",
                f"     - :ref:`{task.label}`",
            ]
    return "\n".join([*lines, ""])


def _link_names(task):
    """Names of a task with links to their pages, commands as code."""
    links = []
    for name in re.findall("`([^`]+)`", task.names):
        is_command = " " in name or name == "plan"
        links.append(f"``{name}``" if is_command else f":obj:`~skfair.{task.module}.{name}`")
    return ", ".join(links)
