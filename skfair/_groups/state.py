"""State of estimators in plain types, for files that are read without running code."""

from typing import Any

from skfair import __version__
from skfair._groups.groups import GroupSummary
from skfair._utils.documentation import DocumentationLinkMixin

_VERSION_KEY = "_skfair_version"
"""Key of the version that stored a state."""

_RECORD_TYPE_KEY = "__record__"
"""Key of the name of a record's type, in the dict that stands for the record."""


class PlainStateMixin(DocumentationLinkMixin):
    """Mixin of estimators whose state is of plain types: dicts and arrays for records.

    Formats that run no code when they are read, such as that of skops, ask to trust every type that
    they do not know.
    """

    _record_types: Any = (GroupSummary,)
    """Types of records among the attributes, also within others: of named tuples, or of objects
    whose attributes are the arguments of their constructor."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to store."""
        state = super().__getstate__()
        plain = {name: self._to_plain(value) for name, value in state.items()}  # type: ignore[attr-defined]
        return plain | {_VERSION_KEY: __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the stored state; raise if another minor version has stored it."""
        state = dict(state)
        stored_by = state.pop(_VERSION_KEY, "an earlier version")
        if stored_by.split(".")[:2] != __version__.split(".")[:2]:
            raise ValueError(
                f"A stored {type(self).__name__} is read by the minor version of skfair that "
                f"stored it, which is {stored_by}, but this is {__version__}. Install that version "
                "to load it, or fit again and store the new model."
            )
        super().__setstate__({name: self._from_plain(value) for name, value in state.items()})  # type: ignore[misc]

    def _to_plain(self, value: Any) -> Any:
        """The value, with dicts in place of the records that it is or contains."""
        if type(value) in self._record_types:
            fields = value._asdict() if hasattr(value, "_asdict") else vars(value)
            fields = {name: self._to_plain(field) for name, field in fields.items()}
            return {_RECORD_TYPE_KEY: type(value).__name__} | fields
        if type(value) is list:
            return [self._to_plain(one) for one in value]
        # Such formats take no tuples as keys, which are labels of several attributes.
        if type(value) is dict and any(isinstance(key, tuple) for key in value):
            return {_RECORD_TYPE_KEY: "dict", "items": [*value.items()]}
        return value

    def _from_plain(self, value: Any) -> Any:
        """The value of a plain one."""
        if isinstance(value, dict) and _RECORD_TYPE_KEY in value:
            types = {kind.__name__: kind for kind in (*self._record_types, dict)}
            fields = {name: self._from_plain(field) for name, field in value.items()}
            return types[fields.pop(_RECORD_TYPE_KEY)](*fields.values())
        if type(value) is list:
            return [self._from_plain(one) for one in value]
        return value
