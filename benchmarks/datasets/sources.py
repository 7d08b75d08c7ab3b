"""Files of data sets that only benchmarks read, pinned by their digest."""

from skfair.datasets._fetch import pin_files

_FAIR_ICP = "yuhenglai/FairICP/6a7662190486ae83357a2c3a521a341ad33e63de"
_FEATHER = "benedekrozemberczki/FEATHER/045db7963fb367eb9aed6439ceea96320e8ac7cc"
_GP = "bmacphee/gp/87f277c3b91f7070977356808ba798b01a3db56d"
_SPECTRAL = "jiiwang/scalable_fair_spectral_clustering/e9ae75fc05a1c74e1cf5f33c69e1cab308397982"

SOURCES = pin_files(
    {
        "4area/4area.csv": (
            "FaroukY/KFC-ScalableFairClustering/6c03289a45b33ad46222ff722386d23ebb2cab01/"
            "data/4area.csv",
            "17cf978e8fcc1c21263e6d6d8c69a77eed60538460501f65ee3464ce466f4c08",
        ),
        "communities_crime/communities.data": (
            f"{_FAIR_ICP}/data/communities.data",
            "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
        ),
        "communities_crime/communities.names": (
            f"{_FAIR_ICP}/others/continuous-fairness-master/examples/"
            "continuous_fairness_aware_learning/communities.names",
            "80914f24ab37261fb0fbda7e417cad8001335dadda4a8d702c265601ef8434fc",
        ),
        "facebooknet/Facebook-known-pairs_data_2013.csv": (
            f"{_SPECTRAL}/test/friendship/Facebook-known-pairs_data_2013.csv",
            "03e909c441bb4f7d48fbd7a34b7368cb211bcd94b582dc14ba8451bcb61682cd",
        ),
        "facebooknet/metadata_2013.txt": (
            f"{_SPECTRAL}/test/friendship/metadata_2013.txt",
            "b960986186214d2dede8496a6d5c270805d150b88a0b76419815f1b5ccca4dd8",
        ),
        "lastfm/lastfm_asia_edges.csv": (
            f"{_FEATHER}/new_node_level_dataset/edges/lastfm_asia_edges.csv",
            "548eacff61bff564ab5007831fa4a7a30e1a3956075ffd24e43310ed33555842",
        ),
        "lastfm/lastfm_asia_target.csv": (
            f"{_FEATHER}/new_node_level_dataset/target/lastfm_asia_target.csv",
            "91f19215f6eca8321feec038bd32900cf13fd4f7e041a9976cf202807c72ac16",
        ),
        "synthetic2d/DS-577.arff": (
            "deric/clustering-benchmark/fc7aba73c873b0e017dd3a6d7113b1cb2ede118a/"
            "src/main/resources/datasets/artificial/DS-577.arff",
            "4a808adf156b29176ad690ce42b03c53debeb40cd90b086d8d5fa692c777d237",
        ),
        "thyroid/ann-train.data": (
            f"{_GP}/data/ann-train.data",
            "591777fe180b3cddb1d5dc6c9f292d1564810e801cdb490a410d8c3c5e8f9c8d",
        ),
        "thyroid/ann-test.data": (
            f"{_GP}/data/ann-test.data",
            "e9f663168fe5a589a32b93a554e3b6a495bdfac64ec5440b009189d24c2417da",
        ),
    }
)
"""Files by their path below the folder of the data."""
