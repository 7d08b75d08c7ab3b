"""Search the built documentation for the main entries of its index, and for what users would type.

``make doc`` runs it where a Chromium is installed; it ends with 1 if a main entry leads to another
page, or if too few of the searches list a page that answers them near the top.
"""

import itertools
import json
import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

from widths import BROWSERS, find_browser, render

HOME = Path(__file__).parent

WANTED = {
    "xgboost fair women": "any_model",
    "sensitive column GridSearchCV pipeline": "pipelines",
    "only probabilities no model": "any_model",
    "gap larger than tolerance on test data": "new_data",
    "infeasible": "statuses|InfeasibleConstraintWarning",
    "tolerance not met warning": "statuses",
    "save model": "deploying",
    "ONNX": "deploying",
    "supported versions python": "install",
    "reproduce paper table": "papers",
    "paper settings preset": "papers",
    "distance to optimum": "comparison",
    "custom constraint": "which_constraint",
    "cite": "cite|papers",
    "sample size four-fifths": "sample_size",
    "race missing": "incomplete_data|audit|group_access",
    "small counts publish": "audit",
    "local law 144": "audit|laws",
    "exit code": "audit",
    "csv semicolon yes no": "audit",
    "AI Act": "laws",
    "balance IVF cells": "balanced_clusters",
    "vector database": "balanced_clusters|plot_vector_index",
    "initial centroids": "balanced_clusters|FairKMeans",
    "faiss": "balanced_clusters",
    "cosine": "balanced_clusters",
    "GPU": "networks",
    "dataset license": "api/index|fetch_",
    "impossibility": "which_constraint",
    "contradict": "which_constraint",
    "glossary": "glossary",
    "what is gap": "glossary",
    "use gender legal": "group_access|laws",
    "EEOC": "audit|laws",
    "shown verdict meaning": "statuses|glossary|certificates|audit|Claim",
    "SHAP": "any_model|audit",
    "multiclass": "any_model",
    "fairlearn MetricFrame": "moving",
    "sample_weight": "pipelines|fair_classification|fair_clustering",
    "random_state reproducible": "fair_clustering",
    "categorical features": "any_model",
    "demographic parity": "which_constraint|glossary|constraints.DemographicParity",
    "equalized odds": "which_constraint|glossary|constraints.EqualizedOdds",
    "equal opportunity": "which_constraint|glossary|constraints.EqualOpportunity",
    "disparate impact": "audit",
    "80% rule": "audit",
    "discrimination": "audit|group_access|laws",
    "protected attribute": "group_access|glossary|audit",
    "intersectional": "fair_classification|audit|glossary",
    "power analysis": "sample_size",
    "p-value": "audit",
    "AIF360": "moving",
    "ThresholdOptimizer": "moving|any_model",
    "conda": "install",
    "multi-class": "any_model",
    "more than two classes": "any_model",
    "drift": "monitoring",
    "dashboard": "audit|monitoring",
    "model card": "audit",
    "PyTorch": "networks",
    "embeddings": "any_model|networks",
    "parquet": "audit|large_data",
    "spark": "open_blocks|large_data",
    "SQL": "deploying|audit",
    "loan": "plot_loan_parity|fair_classification",
    "hiring": "audit",
    "calibration": "fair_classification|audit|any_model",
    "confidence_level": "new_data|plot_held_out",
    "tolerance": "price_of|glossary|fair_classification",
    "FairKMeans": "FairKMeans",
    "ConstrainedClassifierCV": "ConstrainedClassifierCV",
    "how to choose tolerance": "price_of",
    "balanced k-means": "balanced_clusters",
    "spectral clustering graph": "fair_spectral",
    "percentile": "partial_parity",
    "subgroup": "audit",
    "must link": "fair_spectral|FairSpectral",
    "ranking exposure": "fair_ranking",
    "group fairness vs individual fairness": "fair_classification|audit",
    "counterfactual fairness": "fair_classification|glossary",
    "post-processing": "any_model",
}
"""Searches of users -> parts of names of pages that answer them, one of which is listed first."""

HELD_OUT = {
    "random forest out of bag": "any_model",
    "different thresholds per group": "any_model|group_access",
    "pickle joblib": "deploying|install",
    "confidence interval of a gap": "certificates|audit|statistics",
    "conformal prediction": "prediction_sets|Conformal",
    "house prices regression": "fair_regression|Regressor",
    "search results top 10": "fair_ranking|Ranker",
    "Bonferroni": "audit|monitoring",
    "base rate": "glossary",
    "false positive rate": "fair_classification|which_constraint|EqualizedOdds|false_positive",
    "cost of fairness accuracy": "price_of_fairness|fairness_front",
    "Pareto front": "price_of_fairness|fair_clustering|Front",
    "missing values in protected column": "group_access|incomplete_data|audit",
    "false alarms every month": "monitoring|GapMonitor",
    "community detection": "fair_spectral|FairSpectral",
    "oversampling SMOTE": "pipelines",
    "did not converge": "statuses|solvers",
    "production REST service": "deploying",
    "dask parquet": "large_data|open_blocks",
    "minimum number of rows": "sample_size|which_constraint|audit",
}
"""Searches that no entry of the index was written for -> parts of names of pages that answer them.

They were written before the entries, and judge the search by words that were not foreseen.
"""


BATCH_SIZE = 22
READER = """<script>
setTimeout(() => {
  const links = [...document.querySelectorAll("iframe")].map(frame =>
    [...frame.contentDocument.querySelectorAll("ul.search > li > a")].map(
      link => link.getAttribute("href")));
  document.body.textContent = "RESULTS " + JSON.stringify(links) + " END";
}, 50000);
</script>"""
"""Script that writes the links of all searches, once these are done."""


def main_entries():
    """Return pairs of a phrase and the name of its page."""
    for page in sorted(HOME.glob("*.rst")):
        text = page.read_text(encoding="utf-8")
        for line in re.findall(r"^\.\. index:: (.+)$", text, flags=re.MULTILINE):
            for entry in line.split(", "):
                if entry.startswith("! "):
                    yield entry.removeprefix("! "), page.stem


def found_pages(browser, phrases):
    """Return the names of the pages that each search lists, best first, each once.

    One browser shows all searches in frames: its start costs more than a search.
    """
    address = (HOME / "_build" / "html" / "search.html").as_uri()
    frames = "".join(f'<iframe src="{address}?q={quote(phrase)}"></iframe>' for phrase in phrases)
    with tempfile.TemporaryDirectory() as folder:
        together = Path(folder, "frames.html")
        together.write_text(f"<!DOCTYPE html><body>{frames}{READER}", encoding="utf-8")
        shown, _ = render(browser, together.as_uri(), virtual_ms=60_000)
    links = json.loads(re.search(r"RESULTS (\[\[.*?\]\]) END", shown)[1])
    names = [[re.sub(r"\.html.*", "", link) for link in of_phrase] for of_phrase in links]
    return [list(dict.fromkeys(of_phrase)) for of_phrase in names]


def rank(names, pages):
    """Return the position of the first page whose name has one of the parts, or None."""
    hits = [position for position, page in enumerate(pages, start=1) if re.search(names, page)]
    return hits[0] if hits else None


def report(searches, results):
    """Print how many searches list a page first, and list those whose page is not near the top."""
    ranks = {phrase: rank(names, results[phrase]) for phrase, names in searches.items()}
    for phrase, place in ranks.items():
        if place is None or place > 3:
            print(f"A search for '{phrase}' lists {results[phrase][:3]}, not {searches[phrase]}.")
    places = [place for place in ranks.values() if place is not None]
    n_first = places.count(1)
    n_near = sum(place <= 3 for place in places)
    n_empty = sum(not results[phrase] for phrase in searches)
    print(f"{len(ranks)} searches: first {n_first}, in the first three {n_near}, no hit {n_empty}")
    return n_first, n_near, n_empty


def main():
    """Search for all phrases, several browsers at once."""
    browser = find_browser()
    if browser is None:
        print(f"No search was run: none of {', '.join(BROWSERS)} is installed.")
        return
    entries = dict(main_entries())
    phrases = sorted({*entries, *WANTED, *HELD_OUT})
    batches = [phrases[i : i + BATCH_SIZE] for i in range(0, len(phrases), BATCH_SIZE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda batch: found_pages(browser, batch), batches)
        results = dict(zip(phrases, itertools.chain.from_iterable(found), strict=True))
    wrong = [
        f"A search for '{phrase}' must lead to {page}, but leads to {results[phrase][:1]} first."
        for phrase, page in entries.items()
        if results[phrase][:1] != [page]
    ]
    print(*wrong, f"{len(entries)} entries, {len(wrong)} lead to another page first", sep="\n")
    n_first, n_near, n_empty = report(WANTED, results)
    _, n_near_of_others, _ = report(HELD_OUT, results)
    is_good = n_first >= 50 and n_near >= 72 and n_empty <= 1 and n_near_of_others >= 14
    sys.exit(bool(wrong) or not is_good)


if __name__ == "__main__":
    main()
