"""
A shortlist with two quotas, and a search page
==============================================

A job receives 1,000 applications, and 40 people are invited. The law of the place asks for 40 %
women and 15 % disabled applicants among them. :func:`~skfair.ranking.rerank` finds the list with
these quotas that loses least. A job board answers many queries instead. There the exposure of
groups over all lists counts, which :class:`~skfair.ranking.ConstrainedRankerCV` bounds. All data
are generated. :ref:`fair_ranking` explains both.
"""

# %%
# A shortlist from 1,000 applicants
# ---------------------------------
# A score ranks the applicants. Women and disabled applicants have lower scores on average.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from skfair.datasets import make_ranking
from skfair.metrics import exposure_difference
from skfair.ranking import ConstrainedRankerCV, rerank

rng = np.random.default_rng(0)
n_applicants, n_places = 1000, 40
applicants = pd.DataFrame(
    {
        "sex": rng.choice(["f", "m"], n_applicants, p=[0.35, 0.65]),
        "disabled": rng.choice(["yes", "no"], n_applicants, p=[0.12, 0.88]),
    }
)
scores = rng.normal(size=n_applicants)
scores -= 0.4 * (applicants["sex"] == "f") + 0.5 * (applicants["disabled"] == "yes")
one_job = np.zeros(n_applicants)

# %%
# Quotas are shares of the first 40 places. ``minimum`` names an attribute, a group and its share.

quotas = {"sex": {"f": 0.4}, "disabled": {"yes": 0.15}}
by_score = rerank(scores, one_job, sensitive_features=applicants, k=n_places)
shortlist = rerank(scores, one_job, sensitive_features=applicants, k=n_places, minimum=quotas)


def describe(ranks):
    """The numbers of both groups among the first, and their mean score."""
    is_first = ranks <= n_places
    return {
        "women": (applicants["sex"] == "f")[is_first].sum(),
        "disabled": (applicants["disabled"] == "yes")[is_first].sum(),
        "mean score": scores[is_first].mean().round(3),
    }


# %%
# The quotas change who is invited. They cost about a tenth of a standard deviation of the scores.

table = pd.DataFrame({"by score": describe(by_score), "with quotas": describe(shortlist)})
print(table)

# %%
# Invitations are often sent in the order of the list, until the places are taken. Then each prefix
# of the list should keep the quotas, too. A list of numbers bounds each of the first 1, 2, ..., 40.

places = np.arange(1, n_places + 1)
in_prefixes = {
    "sex": {"f": np.floor(0.4 * places).astype(int)},
    "disabled": {"yes": np.floor(0.15 * places).astype(int)},
}
in_order = rerank(scores, one_job, sensitive_features=applicants, k=n_places, minimum=in_prefixes)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharex=True)
is_counted = [applicants["sex"] == "f", applicants["disabled"] == "yes"]
for axis, is_member, name in zip(axes, is_counted, ["women", "disabled applicants"], strict=True):
    for label, ranks in {
        "by score": by_score,
        "quota among the first 40": shortlist,
        "quota in every prefix": in_order,
    }.items():
        order = np.argsort(ranks)[:n_places]
        axis.step(places, np.cumsum(is_member.to_numpy()[order]), where="post", label=label)
    axis.set(title=f"Number of {name}", xlabel="first places of the list")
legend = axes[0].legend()

# %%
# Here the same people are invited with both quotas. The stricter one changes only their order.

print(pd.DataFrame({"in every prefix": describe(in_order)}))
print(f"{(shortlist[in_order <= n_places] <= n_places).sum()} of {n_places} are on both lists")

# %%
# A search page
# -------------
# A job board shows 20 documents for each of 200 queries. Attention falls with the rank, and the
# mean attention of a group is its exposure. Documents of the group "low" are shown too late, since
# those of the group "high" seem more relevant than they are.

X, y, query, quality = make_ranking(200, random_state=0)
train, test = query < 100, query >= 100
plain = Ridge().fit(X[train], y[train])
fair = ConstrainedRankerCV(Ridge(), tolerance=0.01)
fair.fit(X[train], y[train], query_id=query[train], sensitive_features=quality[train])
page = {"query_id": query[test], "sensitive_features": quality[test]}
for name, ranker in {"plain": plain, "bounded": fair}.items():
    print(f"{name}: gap of exposure {exposure_difference(ranker.predict(X[test]), **page):.3f}")

# %%
# The bound holds on average over queries. A single page may still show one group only. A quota of
# two fifths among the first five documents of each page prevents it:

fair_scores = fair.predict(X[test])
for name, minimum in {"bounded": None, "with quota": {"low": 0.4, "high": 0.4}}.items():
    ranks = rerank(fair_scores, **page, k=5, minimum=minimum)
    n_low = pd.Series((quality[test] == "low") & (ranks <= 5)).groupby(query[test]).sum()
    print(f"{name}: {((n_low < 2) | (n_low > 3)).sum()} of {len(n_low)} pages without two of each")
