"""Private helpers that every subpackage may use."""
