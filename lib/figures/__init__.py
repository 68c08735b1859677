"""The look of all figures, and figures with sliders."""
