"""Numbers by which kernels know losses and rates; numba is not needed to import them."""

(LOGISTIC, SQUARED_HINGE, HINGE, SQUARED, ABSOLUTE, SIGMOID, RAMP, STEP, SCORE) = range(9)
