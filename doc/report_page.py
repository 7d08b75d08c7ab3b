"""Write ``doc/_static/report_adult.html``, the report that the start page shows.

``python doc/report_page.py`` fetches Adult where it is not stored. Model, data and split are those
of the example of README.
"""

import tempfile
from pathlib import Path

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skfair.__main__ import main
from skfair.datasets import fetch_adult

PAGE = Path(__file__).parent / "_static" / "report_adult.html"
TITLE = "Gradient boosting on Adult, held-out data"
COLUMNS = "--target y --prediction prediction --sensitive sex --positive >50K".split()


def predict(X, y, groups):
    """Held-out samples, with sex, truth and the predictions of gradient boosting."""
    X, X_test, y, y_test, _, held_out_groups = train_test_split(
        X, y, groups, test_size=0.5, random_state=0
    )
    model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    return X_test.assign(sex=held_out_groups, y=y_test, prediction=model.predict(X_test))


def write_page(table, page):
    """Write the report of a table by the command ``python -m skfair report``."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "predictions.csv")
        table.to_csv(file, index=False)
        main(["report", str(file), *COLUMNS, "--title", TITLE, "--out", str(page)])


if __name__ == "__main__":
    adult = fetch_adult(drop_sensitive=True)
    write_page(predict(adult.data, adult.target, adult.sensitive_features), PAGE)
