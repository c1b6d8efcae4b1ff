"""A session in a notebook: how it is shown, and a widget to label with."""
