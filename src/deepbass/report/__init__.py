"""What people look at: one self-contained HTML page a run."""
