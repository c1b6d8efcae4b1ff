"""A compiled kernel for plain chains of 3x3 convolutions and linear layers; without it, torch does the same work."""
