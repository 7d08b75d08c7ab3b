"""Spectral clustering whose clusters are really balanced."""

import warnings
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair.cluster._eigen_solvers import EIGEN_SOLVERS
from skfair.cluster._fair_embedding import check_affinity, embed
from skfair.cluster._normalized_affinity import NormalizedAffinity, RBFAffinity
from skfair.cluster._rounding import Rounding, round_kmeans, round_ncut
from skfair.exceptions import InfeasibleConstraintWarning, MissingSensitiveFeaturesWarning
from skfair.metrics import normalized_cut
from skfair.utils._balance import balance, cluster_balances, count_table, data_balance
from skfair.utils._groups import Groups, check_alignment, check_groups
from skfair.utils._sklearn import Interval, StrOptions

ROUNDINGS = {"ncut": round_ncut, "kmeans": round_kmeans}
