"""Settings that every test shares."""

import os

# Figures are drawn into memory; this must be said before matplotlib is imported.
os.environ.setdefault("MPLBACKEND", "Agg")
