"""Models as the command line takes them: crfkit's own, and those of other tools, told by their content."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from crfkit.exceptions import ModelFileError

if TYPE_CHECKING:
    from crfkit.models.linear_tagger import LinearTagger

# What each kind of model file begins with.
_BEGINNINGS = {
    "crfkit": re.compile(rb"\x89CRFKIT\n"),
    "crfsuite": re.compile(rb"lCRF"),
    "wapiti": re.compile(rb"#mdl#"),
    "crf++": re.compile(
        rb"version: \d+\s+cost-factor: |\x64\0\0\0"
    ),  # text, or binary: a version number, 100
}


def model_kind(head: bytes) -> str | None:
    """The kind of model that a file with these first bytes is; None: it is none."""
    return next((kind for kind, beginning in _BEGINNINGS.items() if beginning.match(head)), None)


def model_format(path: str) -> str | None:
    """The kind of model that a file is, told by its first bytes; None: it is none."""
    with open(path, "rb") as file:
        return model_kind(file.read(64))


def data_record(header: dict[str, Any]) -> dict[str, int] | None:
    """What a model remembers of the table it was trained on: ``columns`` and ``label_column``; or None."""
    record = header.get("data")
    if record is None:
        return None
    columns, label = (
        (record.get("columns"), record.get("label_column")) if isinstance(record, dict) else (0, 0)
    )
    if type(columns) is not int or type(label) is not int or not 0 <= label < columns:
        raise ModelFileError(
            f"cannot read the model: its record of training data is malformed: {record!r:.80}"
        )
    return {"columns": columns, "label_column": label}


def load_model(path: str, jobs: int | None = None) -> tuple[LinearTagger, dict[str, Any]]:
    """The model at ``path`` ("-": standard input) and its header; of models of other tools it is empty."""
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
