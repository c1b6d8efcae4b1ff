"""People and their answers: projects, what was said, whom to ask what next, how good the model is. Without torch."""
