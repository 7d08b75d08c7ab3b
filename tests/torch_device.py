"""The device of the tests of PyTorch, "cpu" unless SKFAIR_TEST_DEVICE names another."""

import os

DEVICE = os.environ.get("SKFAIR_TEST_DEVICE", "cpu")
