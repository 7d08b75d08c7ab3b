"""Write ``doc/_static/report.png``: the top of the report of README's first model on Adult.

``python doc/report_picture.py`` needs a Chromium, and fetches Adult where it is not stored. The
model, the data and the split are those of the first example of README.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from widths import BROWSERS, find_browser

from skfair.__main__ import main
from skfair.datasets import fetch_adult

PICTURE = Path(__file__).parent / "_static" / "report.png"
README = Path(__file__).parents[1] / "README.md"
TITLE = "Gradient boosting on Adult, held-out data"
SIZE = 900, 655  # pixels of the window: the page down to its findings
N_COLORS = 32  # of text in grey levels


def predict(X, y, groups):
    """Held-out samples, with sex, truth and the predictions of gradient boosting."""
    X, X_test, y, y_test, _, held_out_groups = train_test_split(
        X, y, groups, test_size=0.5, random_state=0
    )
    model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    return X_test.assign(sex=held_out_groups, y=y_test, prediction=model.predict(X_test))


def write_page(table, folder):
    """Write a page by the command that README shows, and return its path."""
    file, page = Path(folder, "predictions.csv"), Path(folder, "report.html")
    table.to_csv(file, index=False)
    command = re.search(r"`python -m skfair (report FILE .*)`", README.read_text(encoding="utf-8"))
    names = {"FILE": str(file), "report.html": str(page)}
    main([*(names.get(word, word) for word in shlex.split(command[1])), "--title", TITLE])
    return page


def photograph(browser, page, picture):
    """Write the top of a page as a picture of few colours."""
    window = f"--window-size={SIZE[0]},{SIZE[1]}"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", window]
    command = [browser, *options, f"--screenshot={picture}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    Image.open(picture).convert("RGB").quantize(N_COLORS).save(picture, optimize=True)


def make_picture():
    """Write the picture of the page on Adult."""
    browser = find_browser()
    if browser is None:
        sys.exit(f"A picture of a page needs one of {', '.join(BROWSERS)}.")
    adult = fetch_adult(drop_sensitive=True)
    table = predict(adult.data, adult.target, adult.sensitive_features)
    with tempfile.TemporaryDirectory() as folder:
        photograph(browser, write_page(table, folder), PICTURE)


if __name__ == "__main__":
    make_picture()
