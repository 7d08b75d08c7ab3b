"""The device of the tests of PyTorch, "cpu" unless SKFAIR_TEST_DEVICE names another."""

import os

DEVICE = os.environ.get("SKFAIR_TEST_DEVICE", "cpu")


def make_tensor(values, **settings):
    """A tensor of values on the device of the tests."""
    import torch

    return torch.tensor(values, device=DEVICE, **settings)
