"""Write the two pictures of the start page that are computed, in ``doc/_static``.

``python doc/start_pictures.py`` fetches Adult where it is not stored. The model, the data and the
split are those of the example on the start page.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skfair.classification import ConstrainedClassifierCV
from skfair.cluster import FairKMeans
from skfair.datasets import fetch_adult, load_patients

FOLDER = Path(__file__).parent / "_static"
COLORS = "#0072B2", "#E69F00"
SIZE = 4.2, 3.1
TOLERANCE = 0.05


def draw_bars(ax, position, heights, names):
    """Draw a pair of bars, one for each group, with their heights as text."""
    for shift, height, color, name in zip((-0.2, 0.2), heights, COLORS, names, strict=True):
        bar = ax.bar(position + shift, height, width=0.38, color=color, label=name)
        ax.bar_label(bar, [f"{height:.0%}"])


def draw_decisions():
    """Draw held-out selection rates of women and men, of boosting and of the constrained model."""
    adult = fetch_adult(drop_sensitive=True)
    sex, y = adult.sensitive_features, adult.target == ">50K"
    X, X_test, y, _, sex, sex_test = train_test_split(
        adult.data, y, sex, test_size=0.5, random_state=0
    )
    boosting = HistGradientBoostingClassifier(random_state=0)
    fair = ConstrainedClassifierCV(boosting, tolerance=TOLERANCE, confidence_level=0.99)
    fair.fit(X, y, sensitive_features=sex)
    boosting.fit(X, y)
    figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
    for position, model in enumerate((boosting, fair)):
        decisions = model.predict(X_test)
        rates = [decisions[sex_test == group].mean() for group in ("Male", "Female")]
        draw_bars(ax, position, rates, ("men", "women") if position == 0 else (None, None))
    ax.set_xticks(range(2), ["boosting", f"tolerance of {100 * TOLERANCE:.0f} points"])
    ax.set(ylabel="predicted to earn > 50,000", ylim=(0, 0.36))
    save(figure, ax, "start_decisions.png")


def draw_clusters():
    """Draw the composition of five clusters of patients, of k-means and of FairKMeans."""
    patients = load_patients(drop_sensitive=True)
    X, sex = StandardScaler().fit_transform(patients.data), patients.sensitive_features
    plain = KMeans(5, n_init=10, random_state=0).fit(X)
    fair = FairKMeans(
        5, min_balance=0.8, min_cluster_size=80, max_cluster_size=95, random_state=0
    ).fit(X, sensitive_features=sex)
    figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
    for start, model in ((0, plain), (6, fair)):
        bottom = np.zeros(5)
        for group, color in zip(np.unique(sex), COLORS, strict=True):
            counts = np.bincount(model.labels_[sex == group], minlength=5)
            label = group if start == 0 else None
            ax.bar(start + np.arange(5), counts, bottom=bottom, color=color, label=label)
            bottom += counts
    ax.axhline(80, color="black", lw=0.8, ls=":")
    ax.axhline(95, color="black", lw=0.8, ls=":")
    ax.set_xticks([2, 7.7], ["k-means", "80 to 95 members, mixed"])
    ax.set(ylabel="patients by cluster", ylim=(0, 180))
    save(figure, ax, "start_clusters.png")


def save(figure, ax, name):
    """Write a picture with its legend."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper right", ncols=2, frameon=False)
    if ax.get_ylim()[1] < 1:
        ax.yaxis.set_major_formatter("{x:.0%}")
    figure.savefig(FOLDER / name, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    draw_clusters()
    draw_decisions()
