"""A fit under constraints, from the input to a model that keeps its bounds by the public metrics.

`linear` and `network` have fits that read from top to bottom. `input` checks samples, `model`
makes problems, `enforce` has the loop, `fitter` solves, `counting` counts decisions,
`guarantee` holds bounds in the population, and `outcome` says what came of it.
"""
