"""The tolerance of Ind is chosen on training rows."""

from benchmarks.papers.stochastic_methods import mlp_parity


def outcomes(*inaccuracies):
    return [{"train": {"Ina": inaccuracy}} for inaccuracy in inaccuracies]


def test_bounds_are_those_of_the_methods_with_the_lowest_ind():
    assert mlp_parity.BOUNDS["train"] == {"Ind": 0.048, "Ina": 0.233}
    assert mlp_parity.BOUNDS["test"] == {"Ind": 0.049, "Ina": 0.240}


def test_the_smallest_tolerance_that_is_accurate_on_training_rows_is_chosen():
    fronts = {0.08: outcomes(0.22, 0.23), 0.05: outcomes(0.23, 0.235), 0.04: outcomes(0.23, 0.24)}
    assert mlp_parity.choose(fronts) == 0.05


def test_the_largest_tolerance_is_chosen_where_none_is_accurate():
    assert mlp_parity.choose({0.04: outcomes(0.25)}) == max(mlp_parity.TOLERANCES)


def test_selection_and_report_have_no_seed_in_common():
    assert mlp_parity.FIRST_SELECTION_SEED >= mlp_parity.N_RUNS
