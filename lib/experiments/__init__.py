"""One module for each topic: a function for each experiment, plain arguments in, a labelled Dataset out."""

from lib.experiments import two_point

RUNS = two_point.RUNS  # everything that is stored
