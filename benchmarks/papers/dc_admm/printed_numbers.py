"""Numbers that the DC-ADMM paper prints.

F. Tonin, A. Lambert, J. Suykens and V. Cevher, "Accelerating spectral clustering under fairness
constraints", ICML 2025. Seconds are those of o-FSC, s-FSC and DC-ADMM, in this order; nan where the
paper has none.
"""

from math import nan

O_FSC, S_FSC, DC_ADMM = "o-FSC", "s-FSC", "DC-ADMM"
PUBLISHED = (O_FSC, S_FSC, DC_ADMM)

TABLE_1 = {  # seconds by n; all balances are 1
    5000: (96.39, 75.61, 3.29),
    7500: (235.62, 88.99, 5.29),
    10000: (495.70, 107.94, 9.19),
}
TABLE_2 = {  # seconds
    "LastFM": (103.82, 19.08, 4.59),
    "Thyroid RBF": (279.03, 30.49, 7.38),
    "Adult RBF": (nan, 136.60, 15.78),
    "4area RBF": (nan, 166.92, 25.85),
}
TABLE_3 = {  # clustering cost of s-FSC and DC-ADMM, and their average balances
    "LastFM": ((1.057, 1.086), (0.0105, 0.0093)),
    "Thyroid RBF": ((0.353, 0.353), (0.0029, 0.0030)),
    "Adult RBF": ((134.539, 130.973), (0.0004, 0.0004)),
    "4area RBF": ((235.268, 242.000), (0.3884, 0.3823)),
}
TABLE_5 = {  # cost and ||F'H||^2 by the initial penalty; all balances are 1
    0.005: (25.98, 7.82e-8),
    0.01: (25.99, 8.86e-8),
    0.05: (26.09, 2.30e-7),
    0.1: (26.06, 1.27e-6),
}
TABLE_6 = {  # seconds by k and n
    (10, 5000): (68.12, 4.00, 3.50),
    (10, 7500): (199.72, 11.22, 4.42),
    (10, 10000): (454.68, 23.99, 5.93),
    (25, 5000): (71.58, 8.73, 3.84),
    (25, 7500): (204.72, 28.10, 4.52),
    (25, 10000): (481.18, 42.93, 5.93),
    (50, 5000): (99.41, 32.52, 3.85),
    (50, 7500): (233.97, 43.66, 5.29),
    (50, 10000): (508.63, 74.94, 7.70),
}
TABLE_7 = {  # standard deviation of the seconds over their mean, five runs
    ("m-SBM", 5000): (3.62 / 96.39, 2.58 / 75.61, 0.11 / 3.29),
    ("m-SBM", 7500): (4.48 / 235.62, 4.35 / 88.99, 0.21 / 5.29),
    ("m-SBM", 10000): (9.49 / 495.70, 5.10 / 107.94, 0.36 / 9.19),
    ("LastFM", 5576): (2.87 / 103.82, 1.96 / 19.08, 0.30 / 4.59),
    ("Thyroid RBF", 7200): (4.21 / 279.03, 3.17 / 30.49, 0.16 / 7.38),
    ("Adult RBF", 32561): (nan, 0.69 / 136.60, 1.06 / 15.78),
    ("4area RBF", 35385): (nan, 0.73 / 166.92, 1.40 / 25.85),
}
TABLE_10 = {"LastFM": 5576, "Thyroid RBF": 7200, "Adult RBF": 32561, "4area RBF": 35385}  # rows
TABLE_8 = {  # minimum balance of s-FSC and DC-ADMM
    "LastFM": (0.0027, 0.0029),
    "Thyroid RBF": (0.0011, 0.0012),
    "Adult RBF": (0.0001, 0.0001),
    "4area RBF": (0.1582, 0.1517),
}
TABLE_9 = {  # seconds, average balance of all three, and costs, by k
    2: ((0.798, 0.193, 0.055), 1.00, (0.126, 0.126, 0.133)),
    25: ((9.908, 6.422, 0.131), 0.84, (14.114, 14.114, 14.128)),
    50: ((12.243, 11.558, 0.215), 0.58, (37.084, 37.084, 37.100)),
}
