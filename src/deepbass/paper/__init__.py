"""The paper's experiments as data, and what runs them, keeps their results and sets them beside the paper's."""
