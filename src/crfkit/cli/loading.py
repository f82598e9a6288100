"""Models as the command line takes them: crfkit's own, and those of other tools, told by their content."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit.models.linear_tagger import LinearTagger


def load_model(path: str, jobs: int | None = None) -> tuple[LinearTagger, dict[str, Any]]:
    """The model at ``path`` ("-": standard input) and its header, which is empty for models of other tools."""
    from crfkit.io.model_file import MAGIC
    from crfkit.models.linear_tagger import LinearTagger

    if path == "-":
        return LinearTagger.load(sys.stdin.buffer, jobs)
    with open(path, "rb") as file:
        own = file.read(len(MAGIC)) == MAGIC
    if own:
        return LinearTagger.load(path, jobs)
    from crfkit.models.foreign import import_model

    tagger = import_model(path)
    tagger.n_jobs = jobs
    return tagger, {}
