"""Run the command as ``python -m deepbass``."""

from deepbass.cli import main

main()
