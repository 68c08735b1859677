"""Closed forms and differential equations that two or more
chapters use: NumPy, SciPy and xarray only.

What one chapter alone needs is in its folder, in `book/NAME/theory.py`.

The functions that chapters call check their arguments. Besides the errors that it names, such a
function raises TypeError if an argument is not numeric, and ValueError if an argument is empty, is
not finite, has the wrong sign, or has a shape that does not fit.
"""
