"""One module for each topic: a function for each experiment, plain arguments in, a labelled Dataset out."""
