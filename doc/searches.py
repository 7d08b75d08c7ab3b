"""Search the built documentation for the main entries of its index: each must lead to its page.

``make doc`` runs it where a Chromium is installed; it ends with 1 if another page comes first.
"""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

from widths import BROWSERS, find_browser, render

HOME = Path(__file__).parent

HELD_OUT = {
    "random forest out of bag": "any_model",
    "different thresholds per group": "any_model|group_access",
    "pickle joblib": "deploying|install",
    "confidence interval of a gap": "audit|statistics",
    "conformal prediction": "prediction_sets|Conformal",
    "house prices regression": "fair_regression|Regressor",
    "search results top 10": "fair_ranking|Ranker",
    "Bonferroni": "audit|monitoring",
    "base rate": "glossary",
    "false positive rate": "fair_classification|which_constraint|EqualizedOdds|false_positive",
    "cost of fairness accuracy": "price_of_fairness|fairness_front",
    "Pareto front": "price_of_fairness|fair_clustering|Front",
    "missing values in protected column": "group_access|audit",
    "false alarms every month": "monitoring|GapMonitor",
    "community detection": "fair_spectral|FairSpectral",
    "oversampling SMOTE": "pipelines",
    "did not converge": "statuses|solvers",
    "production REST service": "deploying",
    "dask parquet": "large_data|open_blocks",
    "minimum number of rows": "sample_size|which_constraint|audit",
}
"""Searches that no entry of the index was written for -> parts of names of pages that answer them.

They were written before the entries, and judge whether the search serves words that were not foreseen.
"""


def main_entries():
    """Return pairs of a phrase and the name of its page."""
    for page in sorted(HOME.glob("*.rst")):
        text = page.read_text(encoding="utf-8")
        for line in re.findall(r"^\.\. index:: (.+)$", text, flags=re.MULTILINE):
            yield from ((entry.removeprefix("! "), page.stem) for entry in line.split(", "))


def first_page(browser, phrase):
    """Return the name of the page that a search for a phrase lists first, or None."""
    address = (HOME / "_build" / "html" / "search.html").as_uri()
    shown, _ = render(browser, f"{address}?q={quote(phrase)}")
    first = re.search(r'<ul[^>]* class="search"><li[^>]*><a href="([^"#?]+)\.html', shown)
    return first and first[1]


def main():
    """Search for all phrases, several browsers at once."""
    browser = find_browser()
    if browser is None:
        print(f"No search was tried: none of {', '.join(BROWSERS)} is installed.")
        return
    phrases, pages = zip(*main_entries(), strict=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        firsts = list(pool.map(lambda phrase: first_page(browser, phrase), phrases))
    wrong = [
        f"A search for '{phrase}' must lead to {page}, but leads to {first} first."
        for phrase, page, first in zip(phrases, pages, firsts, strict=True)
        if first != page
    ]
    print(*wrong, f"{len(phrases)} searches, {len(wrong)} lead to another page first", sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
