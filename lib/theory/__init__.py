"""Closed forms and differential equations of the documents: NumPy and SciPy only, one module per chapter."""
