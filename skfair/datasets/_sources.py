"""The table of sources: every public file that data sets are read from, pinned by its digest."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class RemoteFile:
    """A public file, pinned by its address (a commit, never a branch) and its digest.

    `path` is its place below the folder named by ``SKFAIR_DATA`` and below the cache folder.
    `clean` maps the bytes at `url` to those that may be saved, for a file with personal data:
    `sha256` is then the digest of the latter, and `public_sha256` that of the former.
    """

    url: str
    sha256: str
    path: str
    clean: Callable[[bytes], bytes] | None = None
    public_sha256: str | None = None


_FAIR_ICP = "yuhenglai/FairICP/6a7662190486ae83357a2c3a521a341ad33e63de"
_FEATHER = "benedekrozemberczki/FEATHER/045db7963fb367eb9aed6439ceea96320e8ac7cc"
_GP = "bmacphee/gp/87f277c3b91f7070977356808ba798b01a3db56d"
_SPECTRAL = "jiiwang/scalable_fair_spectral_clustering/e9ae75fc05a1c74e1cf5f33c69e1cab308397982"

_PINS = {
    "4area/4area.csv": (
        "FaroukY/KFC-ScalableFairClustering/6c03289a45b33ad46222ff722386d23ebb2cab01/"
        "data/4area.csv",
        "17cf978e8fcc1c21263e6d6d8c69a77eed60538460501f65ee3464ce466f4c08",
    ),
    "acs_income/OK_0.csv": (
        "xheilmann/FeDa4Fair/4fb955679ed0949fcf5001106340e29441638886/"
        "src/FeDa4Fair/data/cross_silo_value_final/OK_0.csv",
        "6c8277305fc105c137bc9969f27da9331ae0bd07ad5f1777a68d92dbd7caeba5",
    ),
    "adult/adult.data": (
        f"{_FAIR_ICP}/data/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    "adult/adult.test": (
        f"{_FAIR_ICP}/data/adult.test",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
    "bank/bank-additional-full.csv": (
        "sul217/SAfairKM/3470f62b8278f8ae2f4b027a5ddc9bfd2c8f9674/data/bank-additional-full.csv",
        "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
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
    "compas/compas-scores-two-years.csv": (
        "propublica/compas-analysis/bafff5da3f2e45eca6c2d5055faad269defd135a/"
        "compas-scores-two-years.csv",
        "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
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
    "law_school/law_school_clean.csv": (
        "tailequy/fairness_dataset/abb5a18b822ba56a221c5311082e192e85000b95/"
        "experiments/data/law_school_clean.csv",
        "23c1b173f3480beb7afc4957b107a9917dfc4a8dc9d87ea6034ec35222152452",
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
"""Address on GitHub and digest of every file, by its path below the folder of the data."""

SOURCES = {
    path: RemoteFile(f"https://raw.githubusercontent.com/{address}", sha256, path)
    for path, (address, sha256) in _PINS.items()
}
"""Files by their path."""

PERSONAL = {"name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number"}
"""Columns of COMPAS that name people or their cases."""


def anonymise(body):
    """Drop the columns that name people or their cases from the bytes of the public file."""
    # Columns to keep, by position, for header and rows.
    header, *rows = csv.reader(io.StringIO(body.decode(), newline=""))
    positions = [position for position, name in enumerate(header) if name not in PERSONAL]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([row[position] for position in positions] for row in [header, *rows])
    return text.getvalue().encode()


_COMPAS = SOURCES["compas/compas-scores-two-years.csv"]
SOURCES["compas/compas-scores-two-years-anonymous.csv"] = replace(
    _COMPAS,
    sha256="a5e5c34bfd2d1f065bb12a44c0323421baf74b98b97d585915a0c2e1513ecaba",
    path="compas/compas-scores-two-years-anonymous.csv",
    clean=anonymise,
    public_sha256=_COMPAS.sha256,
)
