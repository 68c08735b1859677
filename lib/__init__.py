"""The small library that the chapters of Executable Learning Dynamics share.

Imports only point down: experiments and the site stand on runs; these on theory, data, training,
measures, claims and figures, which do not know each other; these on networks, kernels, files,
markdown, provenance, progress and, below all, checks and interrupts. Theory needs no torch,
experiments neither notebook nor matplotlib.

What chapters and users call checks its arguments (see `lib.checks`). It raises TypeError if an
argument is not of the kind that is wanted, as one that is not numeric, and ValueError if it is
empty, not finite, out of its range, or does not fit the others. The message names the argument,
what was given and what is wanted. A docstring lists under `Raises` only what else may happen.
"""

import os

# Torch's matrix products ask for it at the first of them: then a
# result does not depend on where in memory a matrix lies.
os.environ.setdefault("MKL_CBWR", "AUTO")
