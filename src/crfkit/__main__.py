"""Entry point of ``python -m crfkit``: the same as the ``crfkit`` command."""

from crfkit.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
