"""The data on which constrained classifiers are compared: one-hot columns, 70/30 splits.

The attribute that groups are made of (sex, race, age) is among the columns, as in the papers,
unless a blind case is asked for: then no column is the group, though others may go with it.
"""

from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skfair.datasets import (
    fetch_acs_income,
    fetch_adult,
    fetch_bank_marketing,
    fetch_compas,
    fetch_law_school,
)

COMPAS_PAIR = ("African-American", "Caucasian")


class Split(NamedTuple):
    """One part of a problem: training or test rows."""

    X: np.ndarray  # (n_samples, n_features), one-hot columns as they are
    y: np.ndarray  # (n_samples,) 0 or 1
    groups: np.ndarray  # (n_samples,)


class Case(NamedTuple):
    """A problem, split."""

    name: str
    train: Split
    test: Split

    def scaled(self):
        """The same with columns of variance 1 on the training rows, for methods that need it."""
        scaler = StandardScaler().fit(self.train.X)
        train = self.train._replace(X=scaler.transform(self.train.X))
        return self._replace(train=train, test=self.test._replace(X=scaler.transform(self.test.X)))


def case(name, seed, blind=False):
    """A problem of `CASES` with the split of a seed; blind: without the attribute of the groups."""
    X, y, groups = _data(name, blind)
    rows = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed, stratify=y)
    return Case(name, *(Split(X[part], y[part], groups[part]) for part in rows))


def _compas_pair(drop_sensitive):
    bunch = fetch_compas(sensitive="race", drop_sensitive=drop_sensitive)
    pair = bunch.sensitive_features.isin(COMPAS_PAIR).to_numpy()
    bunch.data, bunch.target = bunch.data[pair], bunch.target[pair]
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
"""Name -> the data; the groups are two unless the name says otherwise."""


@cache
def _data(name, blind=False):
    bunch = CASES[name](drop_sensitive=blind)
    X = pd.get_dummies(bunch.data, dtype=float).to_numpy()
    _, y = np.unique(np.asarray(bunch.target), return_inverse=True)
    return X, y, np.asarray(bunch.sensitive_features).astype(str)
