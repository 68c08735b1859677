"""The chapter on products of weights: its theory, its experiments and its materials."""
