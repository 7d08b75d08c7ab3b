"""The tables and facts of a fairness report, which its sections are written from."""

from abc import abstractmethod
from dataclasses import dataclass, field

import pandas as pd

from skfair._columns.reading import UNREAD, Reading
from skfair._statistics.gaps import Interval
from skfair.audit._formats import PageReport, Report


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReportData(PageReport):
    """Fields of `FairnessReport`, which describes them, and what sections ask of it."""

    frame: pd.DataFrame
    gaps: pd.DataFrame
    task: str
    n_samples: int
    confidence_level: float
    min_group_size: int
    min_share: float
    title: str
    n_missing: dict[str, int]
    counts_samples: bool
    provenance: dict[str, str]
    hidden: dict[str, list[int]]
    balance: Interval | None = None
    subgroups: Report | None = None
    reliability: pd.DataFrame | None = None
    thresholds: pd.DataFrame | None = None
    assumption: str = ""
    n_without_outcome: int = 0
    unpublished: str = ""
    named_references: tuple[str, ...] = ()
    reading: Reading = UNREAD
    shares: pd.DataFrame | None = None
    empty_groups: dict[str, list[str]] = field(default_factory=dict)
    known_outcomes: dict[str, str] = field(default_factory=dict)

    @property
    @abstractmethod
    def attributes(self) -> list[str]:
        """Names of the attributes, and of all together."""

    @property
    @abstractmethod
    def open_questions(self) -> list[str]:
        """What these data cannot decide, one sentence each."""

    @abstractmethod
    def adverse_impact(self) -> pd.DataFrame:
        """Selections of each group against those of the most selected."""

    @abstractmethod
    def adjusted_differences(self) -> pd.DataFrame:
        """Differences of selection rates between groups of the same stratum."""
