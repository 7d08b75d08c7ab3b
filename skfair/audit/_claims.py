"""Claims: what held-out data show of groups, as a sentence, JSON, a page and an exit status."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from math import isclose, isfinite, isnan, nan
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from skfair import constraints
from skfair._columns.reading import UNREAD, Reading
from skfair._statistics.gaps import Verdict
from skfair._utils.checks import join_names, outward_rounding
from skfair.audit._formats import (
    PageReport,
    read_document,
    tabulate_facts,
    titled_facts,
)
from skfair.audit._front import draw_limited, find_axis
from skfair.audit._sentences import (
    BOUNDS,
    HERE,
    LOWER_BOUNDS,
    Quantity,
    confidence_text,
    left_out_clause,
    read_limited,
    verdict_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair.constraints import Constraint
    from skfair.constraints._criteria import DecisionRateParity


EXIT_STATUSES: dict[Verdict, int] = {"shown": 0, "open": 1, "contradicted": 3}
"""Exit statuses of the shell."""


@dataclass(frozen=True, kw_only=True)
class Claim(PageReport):
    """What held-out data show about a bound on groups: the result of :meth:`Audit.certify`.

    ``print`` shows it as a sentence, and ``to_json``, ``to_html`` and ``to_markdown`` file it. A
    claim is neither true nor false, so that ``if claim:`` raises: ask for its verdict.

    Read more in the :ref:`guide <audit_certificate>`.

    Attributes
    ----------
    verdict : {"shown", "open", "contradicted"}
        Whether the bound is shown to hold in the population at this confidence, or shown to be
        broken, or neither.
    form : str
        What is bounded: "gap" between groups, "ratio", "floor", "ceiling", "above overall" and
        others of the reference and the aggregate of the constraint; "population share" of the
        differences of shares of groups from those of a population.
    metric, unit : str
        What is compared, as in "selection rate", and its unit. "percentage points" and "percent"
        are stored as fractions: 0.05 are five of them.
    threshold : float
        The bound, such as the largest gap or the smallest ratio allowed. Where each attribute has
        its own, the numbers of a claim are those of the attribute that decides the verdict.
    estimate, low, high : float
        The gap, ratio or rate of the worst group here, and its limits in the population, each
        at the confidence level. A ratio of rates that are all 0 is nan.
    confidence_level : float
        Confidence of this claim alone.
    is_exact : bool
        Whether the limit that decides is exact. Then at most ``1 - confidence_level`` of the models
        that break the bound are shown to keep it at any sample size, not only for large samples.
    attributes : tuple of str
        Names of the sensitive features, if they have any.
    counted : str
        Samples that the denominator of the metric counts, as in "samples with the outcome '1'".
    sizes : dict of str to int
        Number of these samples by group, where all groups are known.
    required_sample_size : int or None
        Where it is open: counted samples of each group with which four of five claims would be
        shown, if the population is as observed; None where no number suffices, or none is known.
        Drawing so many more until it succeeds is a repeated look, which errs more often
        (:ref:`monitoring`).
    n_smallest : int or None
        Counted samples of the smallest group, where `required_sample_size` is known.
    shown_threshold : float or None
        Where it is not shown: the strictest bound, to three digits, that these data show.
    assumption : str
        What is assumed of samples whose group is not known, and of values without bound that no
        sample shows; empty if there are none.
    left_out : tuple
        Groups that are too small to be compared, about which nothing is said.
    n_missing : dict of str to int
        Samples that are left out, by what is unknown of them: "group", or an "outcome" that the
        metric needs.
    worst_group : str
        Of calibration, sentence on the group whose probabilities are shown to be off most, with
        limits that hold for all groups together; of shares, on the one that is furthest from the
        population; empty if there is none.
    attempt : int or None
        Number of this claim among those of the same data, if a ledger counts them.
    order : str
        Place of the model among those of :func:`certify_in_order`; empty for a single model.
    min_published : int or None
        Smallest count that is published, if small ones are protected. Then numbers that involve a
        group which is not published are nan or None.
    unpublished : str
        Groups and samples that are not published, though the verdict is about them, too.
    constraint : dict
        Class and parameters of the constraint.
    source : dict of str to str
        Facts about the data, the date and the versions.
    reading : Reading
        What was read of the data: columns, labels with counts, rows that do not count.

    Examples
    --------
    >>> from skfair.audit import Audit
    >>> decisions, sex = [1, 0, 0, 1, 0] * 800, ["f"] * 2000 + ["m"] * 2000
    >>> audit = Audit.from_predictions(None, decisions, sensitive_features=sex)
    >>> claim = audit.certify(tolerance=0.1)
    >>> claim.verdict, claim.exit_status
    ('shown', 0)
    >>> print(claim)
    Shown: selection rates of f and m differ by at most 10 points. Here they differ by 0, and with \
95 % confidence by at most 2.59 in the population.
    """

    verdict: Verdict
    form: str
    metric: str
    unit: str
    threshold: float
    estimate: float
    low: float
    high: float
    confidence_level: float
    is_exact: bool
    sizes: dict[str, int]
    constraint: dict[str, Any]
    source: dict[str, str]
    n_missing: dict[str, int]
    attributes: tuple[str, ...] = ()
    counted: str = "samples"
    required_sample_size: int | None = None
    n_smallest: int | None = None
    shown_threshold: float | None = None
    assumption: str = ""
    left_out: tuple = ()
    worst_group: str = ""
    attempt: int | None = None
    order: str = ""
    min_published: int | None = None
    unpublished: str = ""
    reading: Reading = field(default=UNREAD, compare=False)

    title = "Claim about groups"

    def __bool__(self) -> bool:
        raise TypeError(
            "A claim is neither true nor false; ask for claim.verdict, which is 'shown', 'open' or "
            "'contradicted', or for claim.is_shown."
        )

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """The claim of which :meth:`to_json` made a text.

        Parameters
        ----------
        source : str or path-like
            The text, or the path of a file of it.

        Returns
        -------
        claim : Claim

        Raises
        ------
        ValueError
            If it is no text of a claim of this version, or a field is damaged.
        """
        content = read_document(source, "Claim", {*cls._settings, *cls._results})
        _check_fields(content)
        numbers = {name: content[name] for name in ("estimate", "low", "high")}
        content |= {name: nan if n is None else float(n) for name, n in numbers.items()}
        content |= {name: tuple(content[name]) for name in ("attributes", "left_out")}
        content["reading"] = Reading.from_dict(content["reading"])
        return cls(**{name: content[name] for name in cls._settings})

    def find_differences(self, other: Claim) -> list[str]:
        """Names of the attributes, and "text", in which another claim differs.

        Parameters
        ----------
        other : Claim
            A claim of other data, or of the same once more.

        Returns
        -------
        names : list of str
            Empty if it is the same claim. "salted_sha256" is one if both state such a digest.
        """
        # The text states what is compared one by one, and the attempt, which is not compared.
        same = {name: getattr(self, name) for name in _DESCRIPTIONS}
        compared = replace(other, **same)
        names = (*self._settings, "text")
        differ = [one for one in names if not is_same(getattr(self, one), getattr(compared, one))]
        first, second = self.source, other.source
        facts = {*_COMPARED_FACTS, "salted_sha256"} & first.keys() & second.keys()
        # Made by the same options of files, so that the same facts are known, but for the salt.
        if {"command"} <= first.keys() & second.keys():
            facts |= {*first, *second} - {*UNCOMPARED_FACTS, "salted_sha256"}
            differ += ["reading"] * (self.reading != other.reading and "reading" not in differ)
        return differ + sorted(name for name in facts if first.get(name) != second.get(name))

    @property
    def is_shown(self) -> bool:
        """Whether the bound is shown to hold in the population."""
        return self.verdict == "shown"

    @property
    def is_contradicted(self) -> bool:
        """Whether the bound is shown to be broken in the population."""
        return self.verdict == "contradicted"

    @property
    def exit_status(self) -> int:
        """Exit status of the shell: 0 shown, 1 not shown, 3 contradicted."""
        return EXIT_STATUSES[self.verdict]

    @property
    def text(self) -> str:
        """The claim as sentences."""
        return " ".join(self.findings)

    def __str__(self) -> str:
        return self.text

    _results = ("text", "exit_status")

    @property
    def _quantity(self) -> Quantity:
        """What is compared."""
        return Quantity(self.metric, self.unit, self.form, self.counted)

    @property
    def _thresholds(self) -> dict[int | str, float]:
        """Bounds by attribute; empty where all have the same."""
        tolerance = self.constraint["params"].get("tolerance")
        return tolerance if isinstance(tolerance, dict) else {}

    @property
    def findings(self) -> list[str]:
        """The sentences: verdict, what is observed, what would suffice, what is assumed."""
        sentences = [f"{self._headline()}{left_out_clause(self.left_out)}."]
        if self.unpublished:
            sentences.append(f"Not published, but part of this claim: {self.unpublished}.")
        sentences += [self._describe_observed(), self.worst_group, self.order, self._advise()]
        if self.assumption:
            sentences.append(f"This holds {self.assumption}.")
        sentences += [
            f"{n:,} samples of unknown {name} are left out; the claim is about the others."
            for name, n in self.n_missing.items()
        ]
        return [*filter(None, sentences), *self.reading.describe_bins()]

    def _headline(self) -> str:
        """Text on the verdict, the groups and the bound."""
        quantity = self._quantity
        bound = quantity.bound(self.threshold)
        if by_attribute := self._thresholds:
            bounds = (f"{quantity.bound(one)} by {name}" for name, one in by_attribute.items())
            bound = " and ".join(bounds)
        attributes = () if by_attribute else self.attributes
        pair = "" if by_attribute else self._name_pair()
        text = verdict_text(self.verdict, quantity, bound, attributes, pair=pair)
        reference = self.constraint["params"].get("reference")
        if isinstance(reference, dict):
            named = (f"{label!r} by {name}" for name, label in reference.items())
            text += f" ({join_names(named)})"
        return text

    def _name_pair(self) -> str:
        """The two groups of a claim, as in "f and m"; empty if there are more, or names say little.

        Numbers and booleans are no words without the name of their attribute.
        """
        if len(self.sizes) != 2 or self.unpublished or len(self.attributes) > 1:
            return ""
        has_words = all(re.search(r"[^\W\d]", group) for group in self.sizes)
        is_cell = any(": " in group for group in self.sizes)
        if not has_words or is_cell or {*self.sizes} <= {"True", "False"}:
            return ""
        return " and ".join(self.sizes)

    def _describe_observed(self) -> str:
        """Sentence on the estimate, and the limit that decides."""
        has_floor = self.form in LOWER_BOUNDS
        quantity = self._quantity
        is_lower = has_floor != self.is_contradicted
        limit = self.low if is_lower else self.high
        # No fewer digits than the bound has, so that a limit that keeps it is seen to keep it.
        n_digits = max(3, len(f"{self.threshold:.12g}".replace(".", "").strip("0")))
        reading = ""
        if self.attempt is not None:
            together = 1.0 - (1.0 - self.confidence_level) * self.attempt * (self.attempt + 1)
            reading = (
                f", read as attempt {self.attempt} on these held-out data, all of which together "
                f"have {confidence_text(together)}"
            )
        level = confidence_text(self.confidence_level)
        if isnan(self.low):
            hidden = "not printed, since it compares groups that are not published"
            return f"Observed: {hidden}; decided with {level}{reading}."
        # A gap has the unit of its bound, which stands before.
        is_gap = quantity.form == "gap"
        here = f"{HERE.get(quantity.form, 'it is')} "
        here += quantity.number(self.estimate) if is_gap else quantity.gap(self.estimate)
        if isnan(self.estimate):
            here = f"there is no {self.form}, as all values are 0"
        stated = [f"{name}" for name, t in self._thresholds.items() if t == self.threshold]
        here += f" by {' or '.join(stated)}" if stated else ""
        if not isfinite(limit):
            return f"Here {here}, and with {level} without a limit in the population{reading}."
        text = quantity.limit(limit, is_lower, n_digits)
        if is_gap:
            text = quantity.number(limit, n_digits, outward_rounding(is_lower))
        side = f"{'by ' * is_gap}{'at least' if is_lower else 'at most'}"
        return f"Here {here}, and with {level} {side} {text} in the population{reading}."

    def _advise(self) -> str:
        """Sentence on what would suffice; empty where it is shown or contradicted."""
        if self.verdict != "open" or isnan(self.low):
            return ""
        if self.required_sample_size is not None:
            return (
                f"If the population is as observed, {self.required_sample_size:,} {self.counted} "
                f"of each group suffice; the smallest group has {self.n_smallest:,}."
            )
        distance = self.threshold - self.estimate
        if (distance < 0.0) == (self.form in LOWER_BOUNDS) and distance != 0.0:
            return "A larger sample may suffice."
        return "If the population is as observed, no sample size suffices."

    def _sections(self) -> Iterator[tuple[str, list]]:
        """Yield the sections of the page."""
        quantity = self._quantity
        row = vars(self)
        if isfinite(self.estimate):
            axis = find_axis(quantity, [self.threshold, *read_limited(row)])
            picture = draw_limited(axis, row, reference=self.threshold)
            observed = quantity.decimal(self.estimate), quantity.reach(self.low, self.high)
            cells = (quantity.noun, quantity.unit), picture, observed
            table = (
                "Observed, with limits",
                "The dashed line is the bound.",
                ("What", "", "Observed"),
                [(cells, False)],
            )
            yield "", [self.findings[1], table]
        yield "Claim", [self.findings]
        if self.sizes:
            rows = [((group, f"{n:,}"), False) for group, n in self.sizes.items()]
            yield "Samples", [("Samples by group", self.counted, ("Group", "Samples"), rows)]
        facts = [*titled_facts(self.source), ("Constraint", format_constraint(self.constraint))]
        yield self.reading.section()
        yield tabulate_facts(facts)


def format_constraint(constraint: Any) -> str:
    """Class and parameters of a constraint as text."""
    texts = [f"{name}={value!r}" for name, value in constraint["params"].items()]
    parameters = ", ".join([*texts, *(f"{name}: one's own" for name in constraint["unfiled"])])
    return f"{constraint['name']}({parameters})"


def read_filed_claim(claim: Any) -> tuple[Claim, list[str]]:
    """A claim that may be filed, and what its file states that does not follow from its numbers."""
    if isinstance(claim, Claim):
        return claim, []
    filed = Claim.from_json(claim)
    content = read_document(claim, "Claim", ())
    return filed, [name for name in Claim._results if content[name] != getattr(filed, name)]


_FIELD_TYPES = {
    **dict.fromkeys(
        ("verdict", "form", "metric", "unit", "counted", "assumption", "order", "text"), str
    ),
    **dict.fromkeys(("threshold", "confidence_level"), (int, float)),
    **dict.fromkeys(("estimate", "low", "high"), (int, float, str, type(None))),
    **dict.fromkeys(("sizes", "constraint", "source", "n_missing", "reading"), dict),
    **dict.fromkeys(("attributes", "left_out"), list),
    **dict.fromkeys(("required_sample_size", "n_smallest", "attempt"), (int, type(None))),
    "min_published": (int, type(None)),
    "unpublished": str,
    "is_exact": bool,
    "shown_threshold": (int, float, type(None)),
    "worst_group": str,
}
"""Types of the fields of a filed claim; infinite numbers are text, and an unknown one is null."""


def _check_fields(content: dict) -> None:
    """Raise for a field of a filed claim that is damaged, by its name."""
    damaged = [
        name
        for name, kind in _FIELD_TYPES.items()
        if not isinstance(content[name], kind) or (content[name] is True and kind is not bool)  # type: ignore[arg-type]
    ]
    damaged = damaged or _find_damaged_values(content)
    if damaged:
        raise ValueError(
            f"The fields {join_names(dict.fromkeys(damaged))} of the text of a claim must be as "
            "Claim.to_json wrote them, but they are damaged. Certify again."
        )


def _find_damaged_values(content: Any) -> list:
    """Names of the fields of a filed claim that have the right type but no possible value."""
    is_valid = {
        name: not isinstance(content[name], str) or content[name] in ("inf", "-inf")
        for name in ("estimate", "low", "high")
    }
    is_valid["verdict"] = content["verdict"] in EXIT_STATUSES
    is_valid["form"] = content["form"] in BOUNDS
    is_valid["confidence_level"] = 0.0 < content["confidence_level"] < 1.0
    kinds = {"sizes": int, "n_missing": int, "source": str, "attributes": str, "left_out": str}
    for name, kind in kinds.items():
        entries = content[name]
        entries = entries.values() if isinstance(entries, dict) else entries
        is_valid[name] = all(isinstance(one, kind) for one in entries)
    constraint = content["constraint"]
    is_valid["constraint"] = all(
        isinstance(constraint.get(name), kind)
        for name, kind in {"name": str, "params": dict, "unfiled": list}.items()
    )
    names = ("required_sample_size", "n_smallest")
    is_valid |= dict.fromkeys(names, [content[name] for name in names].count(None) != 1)
    return [name for name, one in is_valid.items() if not one]


def check_states_digest(source: dict[str, str], salt: str | None) -> None:
    """Raise for a salt without a digest among the facts that it could confirm."""
    if salt is not None and "salted_sha256" not in source:
        raise ValueError(
            "A salt confirms the salted digest that a claim states, but this one states none; "
            "leave the salt out, or certify again with it."
        )


def make_filed_constraint(described: dict[str, Any]) -> DecisionRateParity:
    """The constraint that `describe_constraint` described."""
    if unfiled := described["unfiled"]:
        raise ValueError(
            f"The constraint {described['name']} must have parameters that a file can hold, but "
            f"{join_names(unfiled)} was an object of one's own. Certify again with it, and compare "
            "the two texts."
        )
    constraint = constraints.find_constraint_class(described["name"])
    if constraint is None:
        raise ValueError(
            f"The constraint must be one of skfair.constraints, but is {described['name']!r}; "
            "certify again with it, and compare the two texts."
        )
    try:
        return constraint(**described["params"])
    except TypeError as error:
        raise ValueError(f"The field constraint of the claim is damaged: {error}.") from None


_DESCRIPTIONS = ("source", "attempt", "order")
"""Attributes of a claim that do not follow from the data alone."""

_COMPARED_FACTS = ("positive_label", "threshold", "groups")
"""Facts of the source that follow from the data and the options."""

UNCOMPARED_FACTS = ("date", "versions", "file", "sha256", "command")
"""Facts of the source that equal data may have otherwise."""


def is_same(first: Any, second: Any) -> bool:
    """Whether two values of claims are equal, numbers up to rounding."""
    if isinstance(first, Reading):
        return first.agrees(second)
    if isinstance(first, float) and isinstance(second, float):
        is_close = isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
        return is_close or (isnan(first) and isnan(second))
    return first == second


Claim._settings = tuple(one.name for one in fields(Claim))


def describe_constraint(constraint: Constraint) -> dict[str, Any]:
    """Class and parameters of a constraint, and the names of those that JSON cannot hold."""
    params: dict[str, object] = {}
    unfiled = []
    for name, value in constraint.get_params(deep=False).items():
        if isinstance(value, str | int | float | dict):
            params[name] = value
        elif isinstance(value, tuple | list) and all(isinstance(n, int | float) for n in value):
            params[name] = list(value)
        elif value is not None:
            unfiled.append(name)
    return {"name": type(constraint).__name__, "params": params, "unfiled": unfiled}
