"""How fast deepbass is, next to what a user would pick instead: run it with ``make bench``."""
