"""Facts that a server wants in its log: models opened and written, training ended.

They go to the loggers ``crfkit.models`` and ``crfkit.training`` of the standard module ``logging``, at level
INFO. The library prints nothing unless ``verbose`` asks for it.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing it from typing would double the time to start
if TYPE_CHECKING:
    from typing import Any


def inform(room: str, message: str, *details: Any) -> None:
    """Log a message, with ``details`` for its placeholders, to the logger ``crfkit.<room>``."""
    logging = sys.modules.get("logging")  # if it is not imported, nobody listens; importing it takes time
    if logging is not None:
        logging.getLogger(f"crfkit.{room}").info(message, *details)
