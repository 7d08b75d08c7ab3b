"""Public data of the benchmarks: all samples, or at most `MAX_SAMPLES` of them."""

from functools import partial, wraps

import numpy as np
from scipy.sparse.csgraph import connected_components

from benchmarks.datasets import load_benchmark
from skfair import datasets

MAX_SAMPLES = None
"""Samples that are drawn from each data set; None takes all."""


def _draw_samples(fetch):
    """Let a function that fetches data draw samples from them."""

    @wraps(fetch)
    def fetch_drawn(**options):
        bunch = fetch(**options)
        n_samples = bunch.data.shape[0]
        if MAX_SAMPLES is None or n_samples <= MAX_SAMPLES:
            return bunch
        rows = np.sort(np.random.default_rng(0).choice(n_samples, MAX_SAMPLES, replace=False))
        for name, value in bunch.items():
            if getattr(value, "shape", ())[:1] == (n_samples,):
                bunch[name] = value.iloc[rows] if hasattr(value, "iloc") else value[rows]
        return bunch

    return fetch_drawn


fetch_a9a = _draw_samples(partial(load_benchmark, "a9a"))
fetch_acs_income = _draw_samples(datasets.fetch_acs_income)
fetch_adult = _draw_samples(datasets.fetch_adult)
fetch_bank_marketing = _draw_samples(datasets.fetch_bank_marketing)
fetch_compas = _draw_samples(datasets.fetch_compas)
fetch_four_area = _draw_samples(partial(load_benchmark, "four_area"))
fetch_law_school = _draw_samples(datasets.fetch_law_school)
fetch_thyroid = _draw_samples(partial(load_benchmark, "thyroid"))


def _draw_network(fetch):
    """Let a function that fetches a network draw a connected part of it."""

    @wraps(fetch)
    def fetch_drawn(**options):
        bunch = fetch(**options)
        n_nodes = bunch.adjacency.shape[0]
        if MAX_SAMPLES is None or n_nodes <= MAX_SAMPLES:
            return bunch
        # Nodes of many links are mostly linked with one another.
        nodes = np.argsort(bunch.adjacency.sum(axis=0))[-MAX_SAMPLES:]
        _, parts = connected_components(bunch.adjacency[nodes][:, nodes])
        nodes = np.sort(nodes[parts == np.bincount(parts).argmax()])
        bunch.adjacency = bunch.adjacency[nodes][:, nodes]
        groups = bunch.sensitive_features.iloc[nodes]
        bunch.sensitive_features = groups.cat.remove_unused_categories()
        return bunch

    return fetch_drawn


fetch_lastfm_asia = _draw_network(partial(load_benchmark, "lastfm_asia"))
