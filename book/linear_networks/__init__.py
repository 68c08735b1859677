"""The chapter on wide and deep linear networks: its theory, its experiments and its materials."""
