"""What a cluster costs: measured on one machine, and reckoned for many."""
