"""Encodings of groups, events and samples that all subpackages share."""

from skfair._groups import Samples

__all__ = ["Samples"]
