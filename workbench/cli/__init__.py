"""The command line."""

from workbench.cli.main import main

__all__ = ["main"]
