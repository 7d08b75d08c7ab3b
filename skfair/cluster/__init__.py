"""Clusterings whose clusters mirror the groups of the data."""

from skfair.cluster._fronts import ParetoFront, cluster_front
from skfair.cluster.kmeans._fair_kmeans import FairKMeans
from skfair.cluster.kmeans._homotopy import Homotopy
from skfair.cluster.kmedoids._fair_kmedoids import FairKMedoids
from skfair.cluster.literature._alternating import AlternatingFront, AlternatingSwaps
from skfair.cluster.literature._eigen_solvers import DCADMM, SFSC
from skfair.cluster.spectral._eigen_solvers import RBFAffinity
from skfair.cluster.spectral._fair_embedding import fair_embedding
from skfair.cluster.spectral._fair_spectral import FairSpectralClustering

__all__ = [
    "DCADMM",
    "SFSC",
    "AlternatingFront",
    "AlternatingSwaps",
    "FairKMeans",
    "FairKMedoids",
    "FairSpectralClustering",
    "Homotopy",
    "ParetoFront",
    "cluster_front",
    "fair_embedding",
]
