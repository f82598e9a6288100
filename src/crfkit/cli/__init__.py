"""The ``crfkit`` command."""

from crfkit.cli.main import main

__all__ = ["main"]
