"""Monitors as text in JSON."""

import inspect
import json
from datetime import timedelta

import numpy as np
import pandas as pd

from skfair import constraints
from skfair.monitoring._comparison import Comparison
from skfair.monitoring._evidence import CellEvidence, GapEvidence
from skfair.monitoring._hypotheses import Differences, UpperBounds
from skfair.monitoring._outstanding import Outstanding
from skfair.monitoring._times import to_point

_VERSION = 1
"""Version of the format; files of later ones are refused."""

_CLASSES = {
    one.__name__: one
    for one in (UpperBounds, CellEvidence, Comparison, Differences, GapEvidence, Outstanding)
}
"""Classes that a file may name, besides the public constraints."""


_SCALARS = {"float": float, "time": to_point, "duration": pd.Timedelta}
"""Functions that read values from text."""


def write_state(monitor):
    """Text in JSON of all attributes of a monitor."""
    content = {name: _encode(value) for name, value in vars(monitor).items()}
    return json.dumps({"format": "skfair.GapMonitor", "version": _VERSION, "content": content})


def read_state(cls, text):
    """The monitor of class `cls` that `write_state` wrote."""
    try:
        stored = json.loads(text)
    except ValueError:
        stored = None
    is_monitor = isinstance(stored, dict) and stored.get("format") == "skfair.GapMonitor"
    if not is_monitor or "version" not in stored:
        raise ValueError("text must be what GapMonitor.to_json returned, but it is not.")
    if stored["version"] > _VERSION:
        raise ValueError(
            f"text has version {stored['version']} of the format, but this skfair reads up to "
            f"{_VERSION}; install a newer one."
        )
    monitor = cls.__new__(cls)
    vars(monitor).update({name: _decode(value) for name, value in stored["content"].items()})
    return monitor


def _encode(value):
    """A value as JSON knows it; other types become objects that name their type."""
    if isinstance(value, timedelta | np.timedelta64):
        return {"type": "duration", "value": pd.Timedelta(value).isoformat()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"type": "float", "value": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_encode(one) for one in value]
    if isinstance(value, tuple):
        return {"type": "tuple", "value": [_encode(one) for one in value]}
    if isinstance(value, dict):
        pairs = [[_encode(key), _encode(one)] for key, one in value.items()]
        return {"type": "dict", "value": pairs}
    if isinstance(value, np.ndarray):
        layout = {"dtype": str(value.dtype), "shape": list(value.shape)}
        return {"type": "array", **layout, "value": value.ravel().tolist()}
    if hasattr(value, "isoformat"):
        return {"type": "time", "value": value.isoformat()}
    name, content = type(value).__name__, None
    if name in _CLASSES:
        content = vars(value)
    elif name in constraints.__all__ and isinstance(value, constraints.Constraint):
        content = value.get_params(deep=False)
    if content is None:
        raise ValueError(
            f"A monitor can be written as JSON if its parameters and labels are numbers, text, "
            f"dates or constraints of skfair.constraints, but one is {value!r}. Pass a name or "
            "text instead, or store the monitor by pickle."
        )
    return {"type": name, "value": _encode(content)}


def _decode(value):
    """The value that `_encode` wrote."""
    if isinstance(value, list):
        return [_decode(one) for one in value]
    if not isinstance(value, dict):
        return value
    kind, content = value["type"], value["value"]
    if kind == "array":
        return np.array(content, dtype=value["dtype"]).reshape(value["shape"])
    if kind in _SCALARS:
        return _SCALARS[kind](content)
    if kind == "tuple":
        return tuple(map(_decode, content))
    if kind == "dict":
        return {_decode(key): _decode(one) for key, one in content}
    content = _decode(content)
    if kind in _CLASSES:
        restored = _CLASSES[kind].__new__(_CLASSES[kind])
        vars(restored).update(content)
        return restored
    if kind not in constraints.__all__ or not inspect.isclass(getattr(constraints, kind)):
        raise ValueError(f"text must name classes of skfair.constraints; got {kind!r}.")
    return getattr(constraints, kind)(**content)
