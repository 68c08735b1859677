"""The book: execute its chapters, collect their claims,
fill its pages, build and print the site.
"""
