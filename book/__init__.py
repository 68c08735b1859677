"""The chapters: a lesson each, with a folder of its code, materials and stored results."""
