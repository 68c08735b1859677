"""The chapter on gated linear networks: its theory, its experiments and its materials."""
