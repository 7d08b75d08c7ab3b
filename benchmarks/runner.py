"""The benchmarks by name, and the command line that runs them."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import nullcontext
from time import perf_counter

from benchmarks.guarantees.alternatives import alternatives
from benchmarks.guarantees.any_model_splits import any_model_splits
from benchmarks.guarantees.calibrations import calibrations
from benchmarks.guarantees.changes import changes
from benchmarks.guarantees.coverage import coverage
from benchmarks.guarantees.coverage_statistics import coverage_kinds
from benchmarks.guarantees.false_claims import reports
from benchmarks.guarantees.guarantee_costs import guarantee_costs
from benchmarks.guarantees.guarantee_oracle import guarantee_oracle
from benchmarks.guarantees.hidden_groups import (
    group_probabilities,
    hidden_fits,
    hidden_groups,
    probable_fits,
)
from benchmarks.guarantees.known_outcomes import known_outcomes
from benchmarks.guarantees.monitored_years import monitored_years
from benchmarks.guarantees.monitoring import monitor_benchmark
from benchmarks.guarantees.networks import mlp_tolerance
from benchmarks.guarantees.new_data import new_data
from benchmarks.guarantees.overfitting import overfitted_forest
from benchmarks.guarantees.partial_gaps import partial_parity_fits
from benchmarks.guarantees.plain_gaps import redraw_levels
from benchmarks.guarantees.rate_ratios import rate_ratios
from benchmarks.guarantees.recent_months import recent_months
from benchmarks.guarantees.redraws import redraw_kinds
from benchmarks.guarantees.review_zones import review_zones
from benchmarks.guarantees.sample_size import sample_size
from benchmarks.guarantees.selection import selection
from benchmarks.guarantees.small_groups import small_groups
from benchmarks.guarantees.statements import redraws
from benchmarks.guarantees.subgroups import subgroups
from benchmarks.guarantees.tails import tails
from benchmarks.guarantees.verdicts import verdicts
from benchmarks.optimum.summary import optimum
from benchmarks.packages import take_missing
from benchmarks.papers.alternating_balance.exact_balance import exact_balance
from benchmarks.papers.alternating_balance.fronts import fronts
from benchmarks.papers.alternating_balance.table_1 import table_1
from benchmarks.papers.dc_admm.spectral_shapes import spectral_shapes
from benchmarks.papers.dc_admm.spectral_tables import spectral_full, spectral_tables
from benchmarks.papers.index import papers
from benchmarks.papers.partial_fairness.acs_income import partial_acs
from benchmarks.papers.partial_fairness.bank_columns import partial_bank
from benchmarks.papers.partial_fairness.demographic_parity import partial_demographic
from benchmarks.papers.partial_fairness.densities import partial_densities
from benchmarks.papers.partial_fairness.enforced_table import partial_table_4
from benchmarks.papers.partial_fairness.figures import partial_figures
from benchmarks.papers.partial_fairness.idca_convergence import idca_convergence
from benchmarks.papers.partial_fairness.networks import partial_networks
from benchmarks.papers.partial_fairness.tables import partial_parity
from benchmarks.papers.partial_fairness.theory import partial_theory
from benchmarks.papers.partial_fairness.tuned_idca import partial_tuned
from benchmarks.papers.plada.time_course import erm_time_course
from benchmarks.papers.stochastic_methods.mlp_methods import mlp_methods
from benchmarks.papers.stochastic_methods.mlp_parity import mlp_parity
from benchmarks.papers.stochastic_methods.penalty_barrier import penalty_barrier
from benchmarks.peers.any_model import (
    any_model,
    any_model_peers,
    any_model_small,
    any_model_tolerance,
)
from benchmarks.peers.any_regressor import regression
from benchmarks.peers.bounded_cells import bounded_cells
from benchmarks.peers.bounded_clusters import share_assignment, size_bounds
from benchmarks.peers.cheap_models import cheap_models
from benchmarks.peers.constrained_erm import erm_peers, erm_solvers, erm_tolerance
from benchmarks.peers.embedding import embedding
from benchmarks.peers.exposure import exposure
from benchmarks.peers.fair_assignment import fair_assignment
from benchmarks.peers.fair_kmeans import peer_methods
from benchmarks.peers.fair_kmeans_peers import fair_kmeans_peers
from benchmarks.peers.fair_regression import fair_regression
from benchmarks.peers.final_rules import fold_stability, rule_costs
from benchmarks.peers.group_rules import group_rules
from benchmarks.peers.libraries import libraries
from benchmarks.peers.link_pairs import link_pairs
from benchmarks.peers.many_clusters import compare_many_clusters
from benchmarks.peers.network_peers import network_peers
from benchmarks.peers.network_time import network_time
from benchmarks.peers.post_processing import post_processing
from benchmarks.peers.prediction_sets import prediction_sets
from benchmarks.peers.preprocessing import preprocessing_methods, preprocessing_trees
from benchmarks.peers.printed_clusters import printed_clusters
from benchmarks.peers.rate_constraints import rate_constraints
from benchmarks.peers.several_classes import several_classes
from benchmarks.peers.spectral import spectral_fit, spectral_quality
from benchmarks.peers.spectral_graphs import spectral_graphs
from benchmarks.peers.step_time import step_time
from benchmarks.peers.territories import territories
from benchmarks.peers.three_criteria import three_criteria
from benchmarks.peers.torch_constraint_loops import torch_loops
from benchmarks.peers.torch_loops import torch_device, torch_loader, torch_loop
from benchmarks.peers.vector_index import vector_index
from benchmarks.peers.wide_data import wide_data
from benchmarks.robustness.blas_kernels import blas_kernels
from benchmarks.robustness.interrupts import interrupts
from benchmarks.robustness.scorers import scorers
from benchmarks.scale.audit_counts import audit_counts
from benchmarks.scale.audits import report
from benchmarks.scale.erm_large import erm_large
from benchmarks.scale.latency import latency
from benchmarks.scale.linear_time import linear_time
from benchmarks.scale.many_rows import group_loss_gaps, ranking_pairs
from benchmarks.scale.partitioned_clusters import partitioned_clusters
from benchmarks.scale.partitioned_metrics import partitioned_metrics
from benchmarks.scale.partitions import partitions
from benchmarks.scale.processes import first_fit, front_scaling
from benchmarks.scale.rankings import rankings
from benchmarks.scale.single_precision import single_precision
from benchmarks.scale.small import small
from benchmarks.scale.spectral_large import spectral_large
from benchmarks.scale.speed import children, fit_large, fit_sizes, fit_time, front_time
from benchmarks.scale.starts import starts
from benchmarks.scale.threads import plain_time, thread_time
from benchmarks.sizes import use_smallest
from benchmarks.tables import check_table, show
from benchmarks.timing import FULL, QUICK, SMALLEST, store_seconds

BENCHMARKS = {
    "fronts": fronts,
    "front-time": front_time,
    "fit-time": fit_time,
    "linear-time": linear_time,
    "fit-sizes": fit_sizes,
    "small": small,
    "latency": latency,
    "fit-large": fit_large,
    "children": children,
    "assignment": fair_assignment,
    "share-assignment": share_assignment,
    "size-bounds": size_bounds,
    "territories": territories,
    "many-clusters": compare_many_clusters,
    "vector-index": vector_index,
    "bounded-cells": bounded_cells,
    "starts": starts,
    "thread-time": thread_time,
    "plain-time": plain_time,
    "single-precision": single_precision,
    "scaling": front_scaling,
    "first-fit": first_fit,
    "interrupts": interrupts,
    "blas-kernels": blas_kernels,
    "coverage": coverage,
    "coverage-kinds": coverage_kinds,
    "changes": changes,
    "alternatives": alternatives,
    "tails": tails,
    "subgroups": subgroups,
    "known-outcomes": known_outcomes,
    "hidden-groups": hidden_groups,
    "hidden-fits": hidden_fits,
    "group-probabilities": group_probabilities,
    "probable-fits": probable_fits,
    "report": report,
    "audit-counts": audit_counts,
    "reports": reports,
    "selection": selection,
    "verdicts": verdicts,
    "monitoring": monitor_benchmark,
    "monitored-years": monitored_years,
    "recent-months": recent_months,
    "new-data": new_data,
    "calibrations": calibrations,
    "sample-size": sample_size,
    "optimum": optimum,
    "exact-balance": exact_balance,
    "peers": peer_methods,
    "fair-kmeans-peers": fair_kmeans_peers,
    "printed-clusters": printed_clusters,
    "libraries": libraries,
    "group-rules": group_rules,
    "cheap-models": cheap_models,
    "post-processing": post_processing,
    "three-criteria": three_criteria,
    "exposure": exposure,
    "rankings": rankings,
    "prediction-sets": prediction_sets,
    "table-1": table_1,
    "embedding": embedding,
    "spectral-quality": spectral_quality,
    "spectral-fit": spectral_fit,
    "spectral-graphs": spectral_graphs,
    "link-pairs": link_pairs,
    "spectral-large": spectral_large,
    "spectral-tables": spectral_tables,
    "spectral-full": spectral_full,
    "spectral-shapes": spectral_shapes,
    "erm-peers": erm_peers,
    "erm-solvers": erm_solvers,
    "erm-tolerance": erm_tolerance,
    "erm-large": erm_large,
    "erm-time-course": erm_time_course,
    "mlp-tolerance": mlp_tolerance,
    "mlp-methods": mlp_methods,
    "mlp-parity": mlp_parity,
    "penalty-barrier": penalty_barrier,
    "network-time": network_time,
    "network-peers": network_peers,
    "step-time": step_time,
    "torch": torch_device,
    "torch-loop": torch_loop,
    "torch-loops": torch_loops,
    "torch-loader": torch_loader,
    "many-groups": group_loss_gaps,
    "ranking-pairs": ranking_pairs,
    "any-model": any_model,
    "any-model-tolerance": any_model_tolerance,
    "any-model-peers": any_model_peers,
    "any-model-small": any_model_small,
    "wide-data": wide_data,
    "any-model-splits": any_model_splits,
    "rule-costs": rule_costs,
    "review-zones": review_zones,
    "fold-stability": fold_stability,
    "rate-constraints": rate_constraints,
    "several-classes": several_classes,
    "small-groups": small_groups,
    "fair-regression": fair_regression,
    "preprocessing": preprocessing_methods,
    "preprocessing-trees": preprocessing_trees,
    "regression": regression,
    "redraws": redraws,
    "redraw-levels": redraw_levels,
    "redraw-kinds": redraw_kinds,
    "guarantee-costs": guarantee_costs,
    "guarantee-oracle": guarantee_oracle,
    "rate-ratios": rate_ratios,
    "scorers": scorers,
    "partitions": partitions,
    "partitioned-clusters": partitioned_clusters,
    "partitioned-metrics": partitioned_metrics,
    "partial": partial_parity_fits,
    "partial-parity": partial_parity,
    "overfitting": overfitted_forest,
    "partial-bank": partial_bank,
    "partial-table-4": partial_table_4,
    "partial-demographic": partial_demographic,
    "partial-figures": partial_figures,
    "partial-networks": partial_networks,
    "partial-densities": partial_densities,
    "partial-convergence": idca_convergence,
    "partial-tuned": partial_tuned,
    "partial-acs": partial_acs,
    "partial-theory": partial_theory,
    "papers": papers,
}
"""Functions of a `Budget` that return a `Report`. A new benchmark needs one line here."""


def main(arguments):
    """Run benchmarks and print their tables. A failed check does not stop the run."""
    options = _parse(arguments)
    budget = SMALLEST if options.smallest else QUICK if options.quick else FULL
    budget = budget._replace(
        recorded_only=options.recorded,
        cells=tuple(options.cells),
        device=options.device,
        is_large=options.large,
    )
    checks = []
    for name in options.names or BENCHMARKS:
        start = perf_counter()
        try:
            report = run(name, budget)
        except OSError as error:  # no copy of the data and no network
            print(f"\n== {name}: not run. {error}", flush=True)
            continue
        seconds = perf_counter() - start
        if budget == FULL:
            store_seconds(name, seconds)
        if not options.smallest:  # so few samples keep no bounds
            checks += report.checks
        print(f"\n== {name} ({seconds:.0f} s)\n{show(report)}", flush=True)
        if budget.recorded_only and not report.records:
            print("No runs are stored. Without --recorded they are made.", flush=True)
    failed = [check for check in checks if check.outcome in ("no", "median")]
    print(f"\n== {len(checks) - len(failed)} of {len(checks)} checks passed or not measurable")
    if failed:
        print(check_table(failed))


def run(name, budget):
    """Run a benchmark. The title of its report says which packages were not installed."""
    benchmark = BENCHMARKS[name]
    with use_smallest(benchmark) if budget.fraction == SMALLEST.fraction else nullcontext():
        report = benchmark(budget)
    missing = take_missing()
    return report._replace(title=f"{report.title}\n{missing}") if missing else report


def _parse(arguments):
    lines = [f"  {name:14} {run.__doc__.splitlines()[0]}" for name, run in BENCHMARKS.items()]
    parser = ArgumentParser(
        prog="python -m benchmarks",
        description="\n".join(["Benchmarks, all of them by default:", *lines]),
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument(
        "--quick", action="store_true", help="one run each, a tenth of the papers' iterations"
    )
    parser.add_argument(
        "--smallest",
        action="store_true",
        help="few samples and rounds, as in the tests: shows that a benchmark runs",
    )
    parser.add_argument(
        "--recorded",
        action="store_true",
        help="show the runs that are stored on disk and compute none",
    )
    parser.add_argument(
        "--cells",
        nargs="+",
        default=(),
        metavar="TEXT",
        help="only the cells, data or tables whose name contains one of these texts, of benchmarks "
        "that have some",
    )
    parser.add_argument(
        "--large",
        action="store_true",
        help="of vector-index: a million vectors",
    )
    parser.add_argument(
        "--device", default="cpu", help="of torch: the device that is compared with the CPU"
    )
    options = parser.parse_args(arguments)
    if options.device != "cpu":
        _check_device(parser, options.device)
    unknown = sorted(set(options.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"unknown benchmarks {unknown}; known are {sorted(BENCHMARKS)}.")
    return options


def _check_device(parser, device):
    """End with a message if a device of PyTorch cannot be used."""
    from skfair.torch._samples import check_device

    try:
        check_device(device)
    except (ImportError, ValueError) as error:
        parser.error(str(error))
