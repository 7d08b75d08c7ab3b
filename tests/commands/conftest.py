"""What all tests of commands require of their messages."""

import re

import pytest

from skfair.commands import _options


@pytest.fixture(autouse=True)
def _messages_name_options(monkeypatch):
    """Fail where an error or a warning of any command has the syntax of a keyword of Python."""
    name_options = _options.name_options

    def check(text, options):
        message = name_options(text, options)
        assert re.findall(r"(?<![-\w])[a-z]\w*=", message) == [], message
        return message

    monkeypatch.setattr(_options, "name_options", check)
