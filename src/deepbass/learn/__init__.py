"""Neural networks: models, Monte-Carlo dropout, and the learner that trains them."""
