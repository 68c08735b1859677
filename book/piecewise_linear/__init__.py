"""The chapter on piecewise-linear networks: its theory, its experiments and its materials."""
