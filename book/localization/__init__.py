"""The chapter on localized receptive fields: its theory, its experiments and its materials."""
