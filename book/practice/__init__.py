"""The chapter on unbalanced initializations in practice: its
theory, its experiments and its materials.
"""
