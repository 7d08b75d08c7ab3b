"""Problems: the only place where model, loss and constraint meet.

Minimise f(x) subject to lower <= c(x) <= upper, over x = (model parameters, auxiliary unknowns).
"""
