"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# The same examples each time, and no clock: a loaded machine must not fail a test.
settings.register_profile("crfkit", deadline=None, derandomize=True)
settings.load_profile("crfkit")
