"""Who answers: simulated, replayed, people."""
