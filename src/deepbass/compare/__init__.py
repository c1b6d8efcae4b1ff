"""The default held against plain methods on anybody's data: what it is worth, in labels saved."""
