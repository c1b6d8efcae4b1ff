"""The labelling page at work, as programs can play it: a person on MNIST, and fifty of them at once."""
