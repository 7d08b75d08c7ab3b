"""Write the pictures of README and of the cards of the start page, in ``doc/_static``.

``python doc/start_pictures.py`` fetches Adult where it is not stored, prints what README
and the start page state about its models, and draws them. Model, data and split are those of the
example.
"""

from pathlib import Path
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skfair.classification import ConstrainedClassifierCV
from skfair.cluster import FairKMeans
from skfair.datasets import fetch_adult, load_patients

FOLDER = Path(__file__).parent / "_static"
BLUE, ORANGE, INK, SOFT, LINE = "#0072B2", "#C77700", "#16191d", "#59616b", "#d9dde2"
GROUPS = {"Female": ("women", ORANGE, "s"), "Male": ("men", BLUE, "o")}
TEXT = {BLUE: BLUE, ORANGE: "#8A5A00"}
"""Colours of numbers: the orange of marks has too little contrast on white."""

CARD = 4.0, 2.5  # inches
BOOSTING, SELECTION, ODDS = "plain boosting", "equal selection", "equal errors"
STYLE = {
    "font.size": 12,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": SOFT,
    "ytick.color": INK,
}


def split_adult():
    """Training and test data of the example: X, X_test, y, y_test, sex, sex_test."""
    adult = fetch_adult(drop_sensitive=True)
    y = adult.target == ">50K"
    return train_test_split(adult.data, y, adult.sensitive_features, test_size=0.5, random_state=0)


def make_models():
    """The models of README's table, not fitted."""
    boosting = HistGradientBoostingClassifier(random_state=0)
    return {
        BOOSTING: clone(boosting),  # wrappers warn of an estimator that is fitted already
        SELECTION: ConstrainedClassifierCV(boosting, tolerance=0.05, confidence_level=0.99),
        ODDS: ConstrainedClassifierCV(boosting, "equalized_odds", tolerance=0.05),
    }


def measure(decisions, y, sex):
    """Accuracy, and for women and men the shares selected, found and right when selected."""
    table = pd.DataFrame({"selected": decisions, "y": np.asarray(y), "sex": np.asarray(sex)})
    by_sex = table.groupby("sex")
    return {
        "accuracy": float(np.mean(table["selected"] == table["y"])),
        "selected": by_sex["selected"].mean(),
        "found": table[table["y"]].groupby("sex")["selected"].mean(),
        "precision": table[table["selected"]].groupby("sex")["y"].mean(),
    }


def measure_models():
    """Held-out measures of the models by name, and their smallest seconds of CPU in three turns."""
    X, X_test, y, y_test, sex, sex_test = split_adult()
    measures = {}
    seconds = dict.fromkeys(make_models(), np.inf)
    for _ in range(3):  # the first turn compiles
        for name, model in make_models().items():
            options = {} if name == BOOSTING else {"sensitive_features": sex}
            start = process_time()
            model.fit(X, y, **options)
            seconds[name] = min(seconds[name], process_time() - start)
            measures[name] = measure(model.predict(X_test), y_test, sex_test)
    return measures, seconds


def format_row(name, measures):
    """A row of README's table, in Markdown."""
    women, men = (
        {rate: measures[rate][sex] for rate in ("selected", "found", "precision")} for sex in GROUPS
    )
    cells = [
        name,
        f"{measures['accuracy']:.3f}"[1:],
        f"{100 * women['selected']:.0f} %, {100 * men['selected']:.0f} %",
        *(
            f"{women[rate]:.2f}, {men[rate]:.2f}".replace("0.", ".")
            for rate in ("found", "precision")
        ),
    ]
    return f"| {' | '.join(cells)} |"


def draw_pairs(ax, rows, limits):
    """Draw women and men as two marks on a line for each row, with their values and the gap."""
    heights = range(len(rows))[::-1]
    for height, rates in zip(heights, rows.values(), strict=True):
        values = [100 * rates[sex] for sex in GROUPS]
        ax.plot(values, [height] * 2, color=LINE, lw=5, solid_capstyle="round", zorder=1)
        for value, (_, color, marker) in zip(values, GROUPS.values(), strict=True):
            ax.plot(value, height, marker, color=color, ms=10)
            is_left = value == min(values)
            ax.annotate(
                f"{value:.0f} %",
                (value, height),
                (-9 if is_left else 9, 0),
                textcoords="offset points",
                va="center",
                ha="right" if is_left else "left",
                color=TEXT[color],
                fontsize=11,
                weight="bold",
            )
        ax.annotate(
            f"gap {abs(values[0] - values[1]):.0f}",
            (np.mean(values), height),
            (0, 9),
            textcoords="offset points",
            ha="center",
            color=SOFT,
            fontsize=10,
        )
    ax.set(yticks=heights, xlim=limits, ylim=(-0.4, len(rows) - 0.4), xticks=[])
    ax.set_yticklabels(rows)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def write_head(figure, title, names=("women", "men")):
    """Write a title, and below it the marks of the groups, from the left edge on."""
    width, height = figure.get_size_inches()
    figure.text(0.02, 1 - 0.05 / height, title, va="top", fontsize=12.5, weight="bold")
    x = 0.02
    for (_, color, marker), name in zip(GROUPS.values(), names, strict=True):
        mark = {"o": "\u25cf", "s": "\u25a0"}[marker]
        top = 1 - 0.34 / height
        figure.text(x, top, mark, va="top", color=color, fontsize=11)
        figure.text(x + 0.16 / width, top, name, va="top", color=TEXT[color], fontsize=11)
        x += 0.9 / width
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.55 / height))


def draw_front(measures):
    """Draw what each fit does to selection, and to those who earn much: README's picture."""
    figure, axes = plt.subplots(2, figsize=(5.6, 5.4), layout="constrained")
    labels = {
        BOOSTING: "gradient boosting",
        SELECTION: "equal selection,\nwithin 5 points",
        ODDS: "equal errors,\nwithin 5 points",
    }
    panels = [
        ("selected", "predicted to earn > 50,000", (0, 36)),
        ("found", "true positive rate: found among high earners", (40, 90)),
    ]
    for ax, (rate, title, limits) in zip(axes, panels, strict=True):
        draw_pairs(ax, {label: measures[name][rate] for name, label in labels.items()}, limits)
        ax.set_title(title, loc="left", fontsize=11, color=SOFT)
    write_head(figure, "Equal selection is not equal error: choose one")
    save(figure, "start_front.png")


def draw_change(measures):
    """Draw selection rates before and after: the card "Change"."""
    figure, ax = plt.subplots(figsize=CARD, layout="constrained")
    labels = {BOOSTING: "your model", SELECTION: "within\n5 points"}
    draw_pairs(ax, {label: measures[name]["selected"] for name, label in labels.items()}, (0, 34))
    write_head(figure, "Predicted to earn > 50,000")
    save(figure, "start_decisions.png")


def draw_measure(measures):
    """Draw three rates of a model: the card "Measure"."""
    figure, ax = plt.subplots(figsize=CARD, layout="constrained")
    rows = {rate: measures[BOOSTING][rate] for rate in ("selected", "found", "precision")}
    draw_pairs(ax, rows, (-12, 100))
    write_head(figure, "How a model treats two groups")
    save(figure, "start_rates.png")


def fit_clusters():
    """Counts of five clusters of patients by sex, largest first, by name of the clustering."""
    patients = load_patients(drop_sensitive=True)
    X, sex = StandardScaler().fit_transform(patients.data), patients.sensitive_features
    plain = KMeans(5, n_init=10, random_state=0).fit(X)
    fair = FairKMeans(5, min_balance=0.8, min_cluster_size=80, max_cluster_size=95, random_state=0)
    fair.fit(X, sensitive_features=sex)
    counts = {}
    for name, model in {"k-means": plain, "80 to 95, both sexes": fair}.items():
        table = pd.crosstab(model.labels_, np.asarray(sex)).to_numpy()
        counts[name] = table[np.argsort(-table.sum(axis=1))]
    return counts


def draw_clusters(counts):
    """Draw members of five clusters by sex: the card "Bound"."""
    figure, ax = plt.subplots(figsize=CARD, layout="constrained")
    for start, table in zip((0, 6.2), counts.values(), strict=True):
        bottom = np.zeros(5)
        for column, (_, color, _) in zip(table.T, GROUPS.values(), strict=True):
            ax.bar(start + np.arange(5), column, bottom=bottom, color=color, width=0.82)
            bottom += column
    for size in (80, 95):
        ax.plot([5.6, 10.8], [size] * 2, color=INK, lw=0.9, ls=":")
        ax.annotate(f"{size}", (10.9, size), va="center", color=SOFT, fontsize=10)
    ax.set_xticks([2, 8.2], list(counts))
    ax.set(ylim=(0, 125), xlim=(-0.6, 11.9), yticks=[])
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(LINE)
    ax.tick_params(length=0)
    write_head(figure, "Members of five clusters", ("sex 1", "sex 2"))
    save(figure, "start_clusters.png")


def save(figure, name):
    """Write a picture, and close its figure."""
    figure.savefig(FOLDER / name, dpi=110)
    plt.close(figure)


def main():
    """Print the numbers, and draw them."""
    measures, seconds = measure_models()
    for name in measures:
        plain_fits = seconds[name] / seconds[BOOSTING]
        print(format_row(name, measures[name]), f"{plain_fits:.1f} plain fits")
    counts = fit_clusters()
    for name, table in counts.items():
        print(name, table.sum(axis=1).tolist(), "members")
    with plt.rc_context(STYLE):
        draw_front(measures)
        draw_change(measures)
        draw_measure(measures)
        draw_clusters(counts)


if __name__ == "__main__":
    main()
