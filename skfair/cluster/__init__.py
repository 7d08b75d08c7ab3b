"""Clusterings whose clusters mirror the groups of the data."""

from skfair.cluster._fair_embedding import FairEmbedding, fair_embedding
from skfair.cluster._fair_kmeans import FairKMeans
from skfair.cluster._fair_kmeans_front import fair_kmeans_front
from skfair.cluster._fair_spectral import FairSpectralClustering
from skfair.cluster._fair_spectral_front import fair_spectral_front
from skfair.cluster._homotopy import Homotopy
from skfair.cluster._normalized_affinity import RBFAffinity
from skfair.cluster._pareto_front import ParetoFront
from skfair.cluster.literature._alternating import AlternatingFront, AlternatingSwaps
from skfair.cluster.literature._eigen_solvers import DCADMM, SFSC

__all__ = [
    "DCADMM",
    "SFSC",
    "AlternatingFront",
    "AlternatingSwaps",
    "FairEmbedding",
    "FairKMeans",
    "FairSpectralClustering",
    "Homotopy",
    "ParetoFront",
    "RBFAffinity",
    "fair_embedding",
    "fair_kmeans_front",
    "fair_spectral_front",
]
