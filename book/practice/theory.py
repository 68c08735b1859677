"""Unbalanced starts in practice: what can be said in closed form.

Source: Kunin et al. (2024), "Get rich quick", figure 5 and appendix "Experimental details".
"""

import numpy as np

PRINTED_LAPLACIAN = np.array([[-0.25, -0.5, -0.25], [-0.5, 2, -0.5], [-0.25, -0.5, -0.25]])


LAPLACIAN = np.array(
    [[-0.25, -0.5, -0.25], [-0.5, 3, -0.5], [-0.25, -0.5, -0.25]]
)  # whose entries sum to zero
