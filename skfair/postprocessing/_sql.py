"""Rules of predictions as SQL expressions, for databases that compute them from columns."""

import numpy as np

from skfair.utils._checks import check_choice


def write_rule(score, intercept, factors, weights):
    """A sum as SQL: of a score times its coefficient, and of factors times weighted probabilities.

    `weights` are of shape (n_factors, n_events, n_groups); those of 0 are left out.
    """
    coefficient, column = score
    text = f"{write_number(coefficient)} * {column} + {write_number(intercept)}"
    for factor, matrix in zip(factors, np.asarray(weights), strict=True):
        products = [
            f"{write_number(weight)} * p_{event}_{group}"
            for (event, group), weight in np.ndenumerate(matrix)
            if weight
        ]
        text += f" + {factor} * ({' + '.join(products)})" if products else ""
    return text


def write_number(number):
    """A number with all of its digits; by its exponent every database knows it as a real one."""
    return f"{number:.17e}"


def check_rule_format(format):
    """Whether a rule is exported as SQL; a ValueError for another format than that and a dict."""
    check_choice("format", format, ("dict", "sql"))
    return format == "sql"
