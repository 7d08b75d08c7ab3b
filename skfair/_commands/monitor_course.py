"""The picture of a monitor's page: rates of groups over time, and below them states and alarms."""

from __future__ import annotations

from html import escape
from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skfair.audit._formats import Markup
from skfair.audit._front import find_round_axis
from skfair.plotting._gap_monitor import (
    MAX_DRAWN_GROUPS,
    STATE_WORDS,
    number_groups,
    rates_by_panel,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd
    from pandas import Timestamp

    from skfair.audit._formats import Axis
    from skfair.audit._sentences import Quantity

_STYLE = """<style>
.skfair-report .course{--open:#68717b;--shown:#00795a;--contradicted:#b84a00;margin:1rem 0;
width:100%}
.skfair-report .course svg{border:0}
.skfair-report .course figcaption{font-weight:600;font-size:.9rem;padding:.9rem 0 .2rem}
.skfair-report .course ul{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;padding:0;
font-size:.82rem}
.skfair-report .course li svg{display:inline-block;width:1.8rem;height:.7rem;margin-right:.4rem}
.skfair-report .course .plane{position:relative;margin:.4rem 0 0 2.6rem}
.skfair-report .course .plane>svg{height:9rem;border-bottom:1px solid var(--line)}
.skfair-report .course .plane>span{position:absolute;right:100%;transform:translateY(50%);
padding-right:.4rem;font-size:.75rem;white-space:nowrap;color:var(--soft)}
.skfair-report .course path{stroke-width:2.2}
.skfair-report .course .grid{stroke:var(--line);stroke-width:1}
.skfair-report .course .states,.skfair-report .course .alarms,.skfair-report .course .times{
position:relative;display:flex;margin-left:2.6rem;font-size:.75rem;line-height:1.35rem}
.skfair-report .course .states span{box-sizing:border-box;min-width:0;overflow:hidden;color:#fff;
font-weight:600;padding-left:.3rem;white-space:nowrap;border-right:1px solid var(--paper)}
.skfair-report .course .key{display:inline-block;width:.8rem;height:.8rem;margin-right:.4rem}
.skfair-report .course .open{background:var(--open)}
.skfair-report .course .shown{background:var(--shown)}
.skfair-report .course .contradicted{background:var(--contradicted)}
.skfair-report .course .alarms{height:1rem;line-height:1rem}
.skfair-report .course .alarms span{position:absolute;transform:translateX(-50%);
color:var(--end);font-size:.8rem}
.skfair-report .course .times{justify-content:space-between;color:var(--soft)}
.skfair-report .course .g0{stroke:#0072b2}.skfair-report .course .g1{stroke:#c77700}
.skfair-report .course .g2{stroke:#00795a}.skfair-report .course .g3{stroke:#b0568a}
.skfair-report .course .g4{stroke:#b84a00}.skfair-report .course .g5{stroke:#2e96d0}
.skfair-report .course .g6{stroke:#882255}.skfair-report .course .g7{stroke:#8a939d}
.skfair-report .course :is(.g1,.g5){stroke-dasharray:7 3}
.skfair-report .course :is(.g2,.g6){stroke-dasharray:2 3}
.skfair-report .course :is(.g3,.g7){stroke-dasharray:9 3 2 3}
@media (prefers-color-scheme:dark){.skfair-report .course{--open:#59616b;--shown:#00795a}
.skfair-report .course .g0{stroke:#5db4ea}.skfair-report .course .g4{stroke:#f29a5b}
.skfair-report .course .g6{stroke:#d07ba0}}
@media (max-width:40rem){
.skfair-report section:has(.course) .plots:has(th:nth-child(5)) tr{display:grid;
grid-template-columns:6.1rem 1fr 2.9rem 5.6rem;column-gap:.3rem}
.skfair-report section:has(.course) .plots:has(th:nth-child(6)) tr{
grid-template-columns:6.1rem 1fr 2.9rem 5.6rem}
.skfair-report section:has(.course) .plots:has(th:nth-child(6)) :is(th,td):nth-child(5){
grid-column:1/3;order:7;text-align:left}
.skfair-report section:has(.course) .plots:has(th:nth-child(5)) :is(th,td):nth-child(2){
grid-column:1/-1}
.skfair-report section:has(.course) .plots:has(th:nth-child(5)) :is(th,td):nth-child(n+3){
padding-left:0;padding-right:0;min-width:0}}
@media print{.skfair-report .course *{print-color-adjust:exact}}
</style>"""
"""Rules of the picture, and of the tables beside it where the page is narrow."""


class Curve(NamedTuple):
    """A curve of a picture: its group, the number of its style, and values of batches or nan."""

    group: str
    number: int
    values: list[float]


def draw_course(
    summary: pd.DataFrame,
    alarms: Sequence[int],
    times: Sequence[str],
    panels: list[tuple[str, Axis, list[Curve]]],
) -> Markup:
    """The picture as HTML: a curve of each group in each panel, then the states and the alarms.

    `alarms` are numbers of batches, `times` the texts of all batches. A panel is its title, its
    axis and its curves.
    """
    parts = [_STYLE, '<figure class="course">']
    for title, axis, curves in panels:
        parts += _draw_panel(title, axis, curves)
    parts += _draw_states(summary, alarms, times)
    return Markup("".join([*parts, "</figure>"]))


_RATES_OF_EVENTS = {"positives": "true positive rate", "negatives": "false positive rate"}
"""The two rates of equalized odds, each of which has a panel."""


def group_panels(
    rates: pd.DataFrame, quantity: Quantity, times: Iterable[Timestamp]
) -> Iterator[tuple[str, Axis, list[Curve]]]:
    """Yield a panel of `draw_course` for each attribute and cell that has not too many groups."""
    has_events = rates["event"].nunique() > 1
    panels = rates_by_panel(rates)
    numbers = number_groups(panels)
    for (attribute, event), table in panels.items():
        noun, ending = quantity.noun, f"; {event}" * has_events
        if noun == " or ".join(_RATES_OF_EVENTS.values()) and event in _RATES_OF_EVENTS:
            noun, ending = _RATES_OF_EVENTS[event], ""
        title = f"{noun.capitalize()} of each group by {attribute}{ending}"
        axis = find_round_axis(quantity, max(np.nanmax(table), 1e-3))
        curves = [
            Curve(group, number % MAX_DRAWN_GROUPS, table[group].reindex(times).tolist())
            for group, number in numbers[attribute, event].items()
        ]
        yield title, axis, curves


def _draw_panel(title: str, axis: Axis, curves: list[Curve]) -> Iterator[str]:
    """Yield the caption, the names of groups, and the curves with the ticks of their axis."""
    yield f"<figcaption>{escape(title)}</figcaption><ul>"
    for one in curves:
        line = f'<path class="g{one.number}" d="M0 5H30"/>'
        key = f'<svg viewBox="0 0 30 10" aria-hidden="true">{line}</svg>'
        yield f"<li>{key}{escape(one.group)}</li>"
    yield '</ul><div class="plane">'
    n_steps = len(axis.ticks) - 1
    for number, text in enumerate(axis.ticks):
        yield f'<span style="bottom:{100 * number / n_steps:g}%">{escape(text)}</span>'
    yield '<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">'
    for number in range(n_steps):
        yield f'<path class="grid" d="M0 {100 * number / n_steps:g}H100"/>'
    for one in curves:
        yield f'<path class="g{one.number}" d="{_trace(one.values, axis)}"/>'
    yield "</svg></div>"


def _trace(values: list[float], axis: Axis) -> str:
    """Path through the values at the middles of equal steps, which missing ones interrupt."""
    steps = []
    for is_known, run in groupby(enumerate(values), key=lambda pair: isfinite(pair[1])):
        if not is_known:
            continue
        points = [
            f"{100 * (index + 0.5) / len(values):.2f} "
            f"{100 * (axis.high - value) / (axis.high - axis.low):.2f}"
            for index, value in run
        ]
        # A value without neighbours is a short stroke.
        steps.append(f"M{'L'.join(points)}" + "h1" * (len(points) == 1))
    return "".join(steps)


_SHARE_OF_CHARACTER = 2.4
"""Percent of the band that a character of a label takes on a telephone, 320 pixels wide."""


def _draw_states(
    summary: pd.DataFrame, alarms: Sequence[int], times: Sequence[str]
) -> Iterator[str]:
    """Yield a caption, one band of states, the alarms below it, and the first and last time."""
    states = summary["verdict"].tolist()
    yield "<figcaption>Whether the tolerance is kept</figcaption><ul>"
    for state in dict.fromkeys(states):
        yield f'<li><span class="key {state}"></span>{state}: {STATE_WORDS[state]}</li>'
    if len(alarms):
        yield "<li>▲ alarm</li>"
    yield '</ul><div class="states">'
    for state, run in groupby(states):
        share = 100 * len([*run]) / len(states)
        label = state if share > _SHARE_OF_CHARACTER * len(state) else ""
        yield f'<span class="{state}" style="width:{share:.3f}%">{label}</span>'
    yield "</div>"
    if len(alarms):
        yield '<div class="alarms">'
        places = {batch: place for place, batch in enumerate(summary["batch"])}
        for batch in alarms:
            middle = 100 * (places[batch] + 0.5) / len(states)
            yield f'<span style="left:{middle:.2f}%">▲</span>'
        yield "</div>"
    ends = dict.fromkeys([times[0], times[-1]])
    yield '<div class="times">' + "".join(f"<span>{escape(one)}</span>" for one in ends) + "</div>"
