"""Closed forms and differential equations of the documents: NumPy, SciPy and xarray only, one module per chapter.

A chapter with much theory has further modules, whose names its own module offers too: `activation_regions` and `deep_regions`
belong to `piecewise_linear`, `orthants` to `localization`, `two_point_curves` and `two_point_fit` to `two_point`; `tiling`
belongs to `localization`, too, but is imported by its own name. All share `common`.

The functions that chapters call check their arguments. Besides the errors that it names, such a function raises TypeError if
an argument is not numeric, and ValueError if an argument is empty, is not finite, has the wrong sign, or has a shape that does
not fit.
"""
