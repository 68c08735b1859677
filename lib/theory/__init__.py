"""Closed forms and differential equations of the documents: NumPy and SciPy only, one module per chapter.

Every function checks its arguments: besides the errors that it names, it raises TypeError for what are no numbers, and ValueError
where there are none, one is not finite, or a shape does not fit.
"""
