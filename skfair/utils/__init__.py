"""Private helpers that every room of the package may use."""
