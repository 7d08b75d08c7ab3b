"""The same seed gives the same model on every processor."""

from benchmarks.robustness.blas_kernels import fit_on


def test_two_types_of_processors_have_equal_errors():
    (name, errors), *_ = fit_on("Haswell", 8).items()
    assert name == "training error, random problems"
    assert max(errors) < 0.5  # all tolerances are kept
    assert fit_on("Prescott", 8) == {name: errors}
