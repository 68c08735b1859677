"""The chapter on one equation for two-layer models: its
theory, its experiments and its materials.
"""
