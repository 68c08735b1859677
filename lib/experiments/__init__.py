"""One module for each topic: a function for each experiment, plain arguments in, a labelled Dataset out."""

from lib.experiments import grokking, hierarchies, images, piecewise_linear, two_point

RUNS = two_point.RUNS + piecewise_linear.RUNS + images.RUNS + hierarchies.RUNS + grokking.RUNS  # everything that is stored
