"""Settings for all tests."""

import signal

import pytest
from hypothesis import settings

# The same examples each time, and no deadline: a loaded machine must not fail a test.
settings.register_profile("crfkit", deadline=None, derandomize=True)
settings.load_profile("crfkit")


@pytest.fixture
def ctrl_c():
    """Let child processes react to Ctrl-C, even if the shell started the tests with SIGINT ignored.

    A child inherits "ignored" but no handler: with a handler here it starts with the default.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
