"""Metrics, reports, and the import of the package."""

import numpy as np
import pandas as pd

from skfair._groups import check_groups
from skfair.audit import Audit
from skfair.metrics import demographic_parity_difference, group_report


class Decisions:
    """Metrics and reports of decisions."""

    timeout = 300
    n_samples = 1_000_000

    def setup(self):
        """Draw labels, decisions and groups."""
        generator = np.random.default_rng(0)
        self.y, self.decisions = generator.integers(2, size=(2, self.n_samples))
        self.groups = np.array(["a", "b", "c"])[generator.integers(3, size=self.n_samples)]

    def time_difference(self):
        """Compute one metric."""
        demographic_parity_difference(self.y, self.decisions, sensitive_features=self.groups)

    def time_group_report(self):
        """Compute all rates of the groups."""
        group_report(self.y, self.decisions, sensitive_features=self.groups)

    def time_report(self):
        """Report on a tenth of the decisions, with intervals."""
        y = self.y[::10]
        decisions = self.decisions[::10]
        groups = self.groups[::10]
        Audit.from_predictions(y, decisions, sensitive_features=groups).report()


class Encoding:
    """Codes of labels that are Python objects, and of pandas in comparison."""

    timeout = 300
    params = (2, 50, 5000)
    param_names = ("n_labels",)
    n_samples = 1_000_000

    def setup(self, n_labels):
        """Draw strings, as a Python object for each sample."""
        codes = np.random.default_rng(0).integers(n_labels, size=self.n_samples)
        self.labels = np.array([f"label {code}" for code in codes], dtype=object)

    def time_encode(self, n_labels):
        """Encode and check the labels."""
        check_groups(self.labels, n_samples=self.n_samples)

    def time_factorize(self, n_labels):
        """Encode the labels by pandas."""
        pd.factorize(self.labels, sort=True)


def timeraw_import():
    """Import the classifiers in a fresh process."""
    return "import skfair.classification"
