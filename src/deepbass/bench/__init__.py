"""A matrix of cells: each run in a process of its own, its result one small file."""
