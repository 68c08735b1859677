"""What is trained: a function for each experiment, plain arguments in, a labelled Dataset out; `RUNS` are the stored ones."""

from lib.experiments import grokking, hierarchies, images, localization, piecewise_linear, two_point

RUNS = [  # everything that is stored
    *two_point.RUNS,
    *piecewise_linear.RUNS,
    *localization.RUNS,
    *images.RUNS,
    *hierarchies.RUNS,
    *grokking.RUNS,
]
