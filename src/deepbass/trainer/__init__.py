"""The labelling page's trainer, a process of its own."""
