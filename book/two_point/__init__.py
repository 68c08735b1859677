"""The chapter on two points: its theory, its experiments and its materials."""
