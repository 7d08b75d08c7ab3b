"""Metrics, reports, and the import of the package."""

import numpy as np

from skfair.audit import FairnessReport
from skfair.metrics import demographic_parity_difference, group_report


class Decisions:
    """What is measured of decisions."""

    timeout = 300

    def setup(self):
        """Draw labels, decisions and groups."""
        generator = np.random.default_rng(0)
        self.y, self.decisions = generator.integers(2, size=(2, 1_000_000))
        self.groups = np.array(["a", "b", "c"])[generator.integers(3, size=1_000_000)]

    def time_difference(self):
        """One metric of a million decisions."""
        demographic_parity_difference(self.y, self.decisions, sensitive_features=self.groups)

    def time_group_report(self):
        """All rates of the groups of a million decisions."""
        group_report(self.y, self.decisions, sensitive_features=self.groups)

    def time_report(self):
        """A report, with intervals, of 100,000 decisions."""
        n = 100_000
        FairnessReport.from_predictions(
            self.y[:n], self.decisions[:n], sensitive_features=self.groups[:n]
        )


def timeraw_import():
    """Import the classifiers in a fresh process."""
    return "import skfair.classification"
