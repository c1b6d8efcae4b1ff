"""deepbass: label a few hundred samples and get the model that labelling everything would have given."""

__version__ = "0.1.0"
