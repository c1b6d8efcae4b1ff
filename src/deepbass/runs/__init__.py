"""A run put together: data, learner, oracle and run directory, started or resumed."""
