"""Where samples come from: the Pool and its sources."""
