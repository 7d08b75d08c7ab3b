"""An embedded dataset of people that needs no network."""

from typing import Any

from sklearn.datasets import load_diabetes

from ._bunch import make_bunch
from ._docstrings import dataset_docs

DESCR = """\
Patients: how far has diabetes progressed after one year?

442 patients; the data is bundled with scikit-learn (sklearn.datasets.load_diabetes), here in the
units of the source instead of scaled columns.

Target "target": disease progression one year after baseline (a number, 25 to 346).
Features: age (years), sex (code 1 or 2), bmi (body mass index), bp (mean blood pressure), s1 to s6
(blood serum: total cholesterol, low- and high-density lipoproteins, total / high-density
cholesterol, probably the log of triglycerides, blood sugar).
Groups: sex, "sex 1" (235 patients) and "sex 2" (207). The source does not say which code stands
for women and which for men, so neither do the labels.

Source: B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle regression", Annals of
Statistics 32, 2004.
"""


@dataset_docs
def load_patients(
    *, drop_sensitive: bool = False, as_frame: bool = True, return_X_y: bool = False
) -> Any:
    """Load scikit-learn's diabetes patients with their sex as group (regression, clustering).

    ==============  ========================================
    Samples         442
    Features        10, numeric, in the units of the source
    Target          disease progression, 25 to 346
    Groups          sex ("sex 1": 235, "sex 2": 207)
    ==============  ========================================

    Nothing is downloaded. The source codes sex as 1 and 2 without saying which is which; the
    labels keep these codes rather than guess.

    Parameters
    ----------
    drop_sensitive : bool, default=False
        Whether to leave the column sex out of ``data``.
    as_frame : bool, default=True
        If False, arrays instead of pandas objects.
    {return_X_y}

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        data : DataFrame of shape (442, 10), or (442, 9) without sex
            The features, float64, not scaled.
        target : Series of shape (442,)
            Disease progression one year after baseline.
        sensitive_features : Series of shape (442,)
            "sex 1" or "sex 2".
        {feature_names, no_categories}
        DESCR : str
            Source, meaning of the columns.
        frame : DataFrame of shape (442, n_features + 1) or None
            ``data`` and ``target``; None if ``as_frame=False``.
    {data_and_target}

    References
    ----------
    .. [1] B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle regression", Annals
       of Statistics 32, 2004.

    Examples
    --------
    >>> from skfair.datasets import load_patients
    >>> patients = load_patients(drop_sensitive=True)
    >>> patients.data.shape
    (442, 9)
    >>> patients.sensitive_features.value_counts().to_dict()
    {'sex 1': 235, 'sex 2': 207}
    """
    source = load_diabetes(scaled=False, as_frame=True)
    groups = source.data["sex"].map({1.0: "sex 1", 2.0: "sex 2"}).astype("category")
    data = source.data.drop(columns="sex") if drop_sensitive else source.data
    return make_bunch(data, source.target, groups, DESCR, as_frame=as_frame, return_X_y=return_X_y)
