"""Monitors as text in JSON."""

import inspect
import json
from dataclasses import fields, is_dataclass
from datetime import timedelta

import numpy as np
import pandas as pd

from skfair import constraints
from skfair.monitoring._comparison import Comparison
from skfair.monitoring._evidence import CellEvidence, GapEvidence
from skfair.monitoring._hypotheses import Differences, UpperBounds
from skfair.monitoring._outstanding import Outstanding
from skfair.monitoring._settings import Settings
from skfair.monitoring._state import Row, State, Verdict
from skfair.monitoring._times import to_point
from skfair.utils._messages import join_names

_FORMAT = "skfair.GapMonitor"
_VERSION = 2
"""Version of the format; other versions are refused."""

_CLASSES = {
    one.__name__: one
    for one in (
        *(CellEvidence, Comparison, Differences, GapEvidence, Outstanding),
        *(Row, Settings, State, UpperBounds, Verdict),
    )
}
"""Classes that a file may name, besides the public constraints."""


_SCALARS = {"float": float, "time": to_point, "duration": pd.Timedelta}
"""Functions that read values from text."""


def write_content(content):
    """Text in JSON of the attributes of a monitor by name."""
    content = {name: _encode(value) for name, value in content.items()}
    return json.dumps({"format": _FORMAT, "version": _VERSION, "content": content})


def read_content(text, names):
    """The attributes, with these names, that `write_content` wrote."""
    try:
        stored = json.loads(text)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"text must be the JSON that GapMonitor.to_json returned, but it is not JSON "
            f"({error}). Of a file pass the content, as in Path('monitor.json').read_text()."
        ) from None
    if not isinstance(stored, dict) or stored.get("format") != _FORMAT:
        raise ValueError(
            f'text must be JSON with "format": "{_FORMAT}", as GapMonitor.to_json returns it; this '
            "is other JSON."
        )
    if stored.get("version") != _VERSION:
        raise ValueError(
            f"This version of skfair reads version {_VERSION} of what GapMonitor.to_json writes, "
            f"but the text has version {stored.get('version')!r}; read it with the version that "
            "wrote it."
        )
    return _decode_fields(stored.get("content"), names, "content")


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
        return {"type": "array", **layout, "value": _encode(value.ravel().tolist())}
    if hasattr(value, "isoformat"):
        return {"type": "time", "value": value.isoformat()}
    name, content = type(value).__name__, None
    if name in _CLASSES:
        content = {one: getattr(value, one) for one in _field_names(type(value))}
    elif name in constraints.__all__ and isinstance(value, constraints.Constraint):
        content = value.get_params(deep=False)
    if content is None:
        raise ValueError(
            f"A monitor can be written as JSON if its parameters and labels are numbers, text, "
            f"dates or constraints of skfair.constraints, but one is {value!r}. Pass a name or "
            "text instead, or store the monitor by pickle."
        )
    return {"type": name, "value": {one: _encode(content[one]) for one in content}}


def _field_names(cls):
    """Names of the attributes that are the state of an object."""
    return [one.name for one in fields(cls)] if is_dataclass(cls) else inspect.get_annotations(cls)


class _DamagedText(ValueError):
    """A field is missing, or is not what was written."""


def _decode_fields(content, names, path):
    """Values of fields by name; raise if one is missing or damaged."""
    absent = [name for name in names if not isinstance(content, dict) or name not in content]
    if absent:
        raise _DamagedText(
            f"The text of a monitor must have the fields {join_names(absent)} in {path}, but they "
            "are missing: it is damaged. Write it again by GapMonitor.to_json."
        )
    values = {}
    for name in names:
        try:
            values[name] = _decode(content[name], f"{path}.{name}")
        except _DamagedText:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _DamagedText(
                f"The field {path}.{name} of the text of a monitor is damaged ({error}). Write it "
                "again by GapMonitor.to_json."
            ) from error
    return values


def _decode(value, path):
    """The value that `_encode` wrote; `path` names it in errors."""
    if isinstance(value, list):
        return [_decode(one, path) for one in value]
    if not isinstance(value, dict):
        return value
    kind, content = value["type"], value["value"]
    if kind == "array":
        return np.array(_decode(content, path), dtype=value["dtype"]).reshape(value["shape"])
    if kind in _SCALARS:
        return _SCALARS[kind](content)
    if kind == "tuple":
        return tuple(_decode(content, path))
    if kind == "dict":
        return {_decode(key, path): _decode(one, path) for key, one in content}
    if kind in _CLASSES:
        restored = _CLASSES[kind].__new__(_CLASSES[kind])
        vars(restored).update(_decode_fields(content, _field_names(_CLASSES[kind]), path))
        return restored
    if kind not in constraints.__all__ or not inspect.isclass(getattr(constraints, kind)):
        raise ValueError(f"text must name classes of skfair.constraints; got {kind!r}")
    constraint = getattr(constraints, kind)
    return constraint(**_decode_fields(content, constraint._get_param_names(), path))
