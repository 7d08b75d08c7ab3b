"""Data on which constrained classifiers are compared: one-hot columns, 70/30 splits.

The sensitive attribute (sex, race, age) is among the columns, as in a9a. A blind case has no such
column, though others may be correlated with it.
"""

from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.data import (
    fetch_acs_income,
    fetch_adult,
    fetch_bank_marketing,
    fetch_compas,
    fetch_law_school,
)

COMPAS_PAIR = ("African-American", "Caucasian")


class Split(NamedTuple):
    """Training or test samples of a problem."""

    X: np.ndarray  # (n_samples, n_features), one-hot columns are not scaled
    y: np.ndarray  # (n_samples,) 0 or 1
    groups: np.ndarray  # (n_samples,)


class Case(NamedTuple):
    """A problem with its training and test samples."""

    name: str
    train: Split
    test: Split

    def scale(self):
        """Scale the columns to variance 1 on the training samples, for methods that need it."""
        scaler = StandardScaler().fit(self.train.X)
        train = self.train._replace(X=scaler.transform(self.train.X))
        return self._replace(train=train, test=self.test._replace(X=scaler.transform(self.test.X)))


def case(name, seed, blind=False):
    """A problem of `CASES` with the split of a seed; blind: without the sensitive attribute."""
    return split_case(name, *_data(name, blind), seed)


def split_case(name, X, y, groups, seed):
    """A problem of which 70 % of the samples are for training."""
    rows = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed, stratify=y)
    return Case(name, *(Split(X[half], y[half], groups[half]) for half in rows))


def _compas_pair(drop_sensitive):
    bunch = fetch_compas(sensitive="race", drop_sensitive=drop_sensitive)
    pair = bunch.sensitive_features.isin(COMPAS_PAIR).to_numpy()
    bunch.data = bunch.data[pair]
    bunch.target = bunch.target[pair]
    bunch.sensitive_features = bunch.sensitive_features[pair]
    return bunch


CASES = {
    "Adult": partial(fetch_adult, sensitive="sex"),
    "Bank": partial(fetch_bank_marketing, sensitive="age"),
    "COMPAS": _compas_pair,
    "law school": partial(fetch_law_school, sensitive="race"),
    "ACSIncome": partial(fetch_acs_income, sensitive="race"),
    "ACSIncome, sex": partial(fetch_acs_income, sensitive="sex"),
    "Adult, 5 races": partial(fetch_adult, sensitive="race"),
    "COMPAS, 6 races": partial(fetch_compas, sensitive="race"),
    "ACSIncome, 5 races": partial(fetch_acs_income, sensitive="race5"),
}
"""Data by name. There are two groups unless the name states another number."""


@cache
def _data(name, blind=False):
    return one_hot(CASES[name](drop_sensitive=blind))


def one_hot(bunch):
    """Features with a column per category, classes 0 and 1, and groups of a data set."""
    X = pd.get_dummies(bunch.data, dtype=float).to_numpy()
    _, y = np.unique(np.asarray(bunch.target), return_inverse=True)
    return X, y, np.asarray(bunch.sensitive_features).astype(str)
