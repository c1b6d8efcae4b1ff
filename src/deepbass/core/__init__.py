"""The algorithm, free of I/O and of torch."""
