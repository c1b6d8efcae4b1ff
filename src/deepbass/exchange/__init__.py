"""Labels and models in and out, by format."""
