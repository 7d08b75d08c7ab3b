"""
Monitor a classifier over time
==============================

This page monitors a classifier that treats women and men equally for two years. After the first
year it is retrained without the constraint, and the monitor is not informed.
:class:`~skfair.monitoring.GapMonitor` certifies the first model and raises an alarm for the second.
Its error probabilities are valid for any number of looks.
"""

# %%
# Two models
# ----------
# Predict who earns more than 50,000 dollars a year on the census data Adult. Selection rates of the
# first model may differ by .02, those of the second by any amount. Without a copy of Adult and a
# network connection, generated data are used.

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from skfair.classification import ConstrainedERMClassifier
from skfair.datasets import fetch_adult
from skfair.monitoring import GapMonitor

try:
    adult = fetch_adult(drop_sensitive=True)
    X = pd.get_dummies(adult.data, dtype=float).to_numpy()
    y = (adult.target == ">50K").to_numpy(dtype=int)
    groups = adult.sensitive_features.to_numpy()
except OSError as error:
    print(f"Adult is not available, so generated data are used instead: {error}")
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b"], size=30_000)
    X = rng.normal(size=(30_000, 5))
    X[:, 0] += 2.0 * (groups == "a")
    y = (X.sum(axis=1) + rng.logistic(size=30_000) > 2.0).astype(int)

rows = np.random.RandomState(0).permutation(len(y))
training, deployed = rows[:8000], rows[8000:]
fair_model = ConstrainedERMClassifier(tolerance=0.02)
fair_model.fit(X[training], y[training], sensitive_features=groups[training])
retrained_model = HistGradientBoostingClassifier(max_depth=3, max_iter=50, random_state=0)
retrained_model.fit(X[training], y[training])

# %%
# Two years
# ---------
# The models decide on 600 held-out samples per month. The monitor reads the decisions of each
# month. Its tolerance is .08, and an alarm is false at most once in 100 months on average.

TOLERANCE, N_PER_MONTH = 0.08, 600
monitor = GapMonitor("demographic_parity", TOLERANCE, run_length=100)
months = pd.date_range("2025-01-01", periods=24, freq="MS")
for month, start in zip(months, range(0, 24 * N_PER_MONTH, N_PER_MONTH), strict=True):
    batch = deployed[start : start + N_PER_MONTH]
    model = fair_model if month.year == 2025 else retrained_model
    monitor.update(None, model.predict(X[batch]), sensitive_features=groups[batch], time=month)

summary = monitor.summary()
columns = ["time", "gap", "low", "high", "verdict"]
print(summary[columns].to_string(index=False, float_format="{:.3f}".format))

# %%
# The figure
# ----------
# The gap of one month is a noisy estimate. The gap so far and its interval use all months since
# the last alarm. The interval is valid for all months simultaneously, and the error that restarts
# may make is a part of its 5 %.

first_shown = (summary["verdict"] == "shown").argmax()
first_alarm = (summary["verdict"] == "contradicted").argmax()
display = monitor.plot()
display.figure_.suptitle(
    f"Shown after {first_shown + 1} months; an alarm in month {first_alarm - 11} of the new model",
    x=0.01,
    ha="left",
)

# %%
# When did it begin?
# ------------------
# The first alarm reports the most likely month since which the tolerance has been exceeded. Later
# alarms, which say that it still is, do not move this date.

alarm = summary["time"][first_alarm]
print(f"alarm in {alarm:%B %Y}, tolerance exceeded since {monitor.since_:%B %Y}")
rates = monitor.to_frame()
print(rates.groupby([rates["time"].dt.year, "group"])["estimate"].mean().round(3))
