"""A fit under constraints, from the input to a model that keeps its bounds by the public metrics.

`_linear` and `_network` have fits that read from top to bottom. `_input` checks samples, `_model`
makes problems, `_enforce` has the loop, `_fitter` solves, `_counting` counts decisions,
`_guarantee` holds bounds in the population, and `_outcome` says what came of it.
"""
