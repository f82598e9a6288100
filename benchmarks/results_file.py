"""Finished pieces of a long benchmark, one a line in a file, so that it can go on where it was stopped."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Results:
    """What has been measured, by key. Without a file nothing is kept; ``closed``: nothing new is measured."""

    def __init__(self, path: Path | None, closed: bool = False) -> None:
        self._path, self._closed = path, closed
        self._known: dict[str, Any] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                key, value = json.loads(line)
                self._known[key] = value

    def get(self, key: str, measure: Callable[[], Any]) -> Any:
        """The value of the key, measured where it is not known yet; None where nothing new is measured."""
        if key not in self._known:
            if self._closed:
                return None
            self._known[key] = measure()
            line = json.dumps([key, self._known[key]])
            sys.stderr.write(f"{line:.200}\n")
            sys.stderr.flush()
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
        return self._known[key]
