"""Ratios of rates on the random problems of the benchmark."""

from benchmarks.guarantees.rate_ratios import fit_problem


def test_the_ratio_is_kept_or_the_status_says_so():
    fits = [fit_problem(seed) for seed in range(60)]
    assert all(fit["kept"] != fit["infeasible"] for fit in fits)
    # Constant decisions keep all of these ratios but those of error rates.
    assert all(fit["kept"] or fit["constraint"] == "ErrorRateParity" for fit in fits)
    assert sum(fit["constant"] for fit in fits) < 20
