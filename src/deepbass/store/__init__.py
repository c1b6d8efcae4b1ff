"""What lasts: a run directory with its SQLite file and checkpoints."""
