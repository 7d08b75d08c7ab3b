"""The parser of the commands, in which a repeated option is never dropped without a word."""

from __future__ import annotations

from argparse import ONE_OR_MORE, Action, ArgumentParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import NoReturn


class _StoreOnce(Action):
    """Store a value, or the values of all occurrences of an option that takes a list."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        passed = vars(namespace).setdefault("passed", [])
        if self.dest not in passed:
            passed.append(self.dest)
        elif self.nargs == ONE_OR_MORE and isinstance(values, list):
            values = [*getattr(namespace, self.dest), *values]
        else:
            earlier, later = (
                " ".join(map(str, one)) if isinstance(one, list) else one
                for one in (getattr(namespace, self.dest), values)
            )
            parser.error(
                f"{option_string} must be passed once, but was passed as {earlier} and as {later}; "
                "leave one of them out"
            )
        setattr(namespace, self.dest, values)


class Parser(ArgumentParser):
    """A parser whose errors are one sentence, and in which lists of repeated options add up."""

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        for name in (None, "store"):
            self.register("action", name, _StoreOnce)

    def error(self, message: str) -> NoReturn:
        """Print the message as one sentence, and exit."""
        sentence = " ".join(message.split())
        self.exit(2, f"{self.prog}: error: {sentence}\n")
