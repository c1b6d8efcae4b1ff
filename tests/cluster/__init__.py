"""Clusters of Ray: real ones, on loopback."""
