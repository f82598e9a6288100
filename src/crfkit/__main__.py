"""Lets ``python -m crfkit`` do what the ``crfkit`` command does."""

from crfkit.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
