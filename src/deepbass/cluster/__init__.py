"""Many machines: a cluster of Ray, attached to or started here, and what is computed on it."""
