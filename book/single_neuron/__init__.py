"""The chapter on a single neuron: its theory, its experiments and its materials."""
