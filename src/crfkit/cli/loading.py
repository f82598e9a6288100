"""Models as the command line takes them: crfkit's own, and those of other tools, told by their content."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from crfkit.exceptions import ModelFileError

if TYPE_CHECKING:
    from crfkit.models.linear.tagger import LinearTagger
    from crfkit.models.tagger import Tagger


def data_record(header: dict[str, Any]) -> dict[str, Any] | None:
    """What a model remembers of the table it was trained on, if it was one.

    ``columns`` (how many), ``label_column`` (which), and ``names`` where there was a header.
    """
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
    names = record.get("names")
    if names is None:
        return {"columns": columns, "label_column": label}
    if not isinstance(names, list) or len(names) != columns or not all(isinstance(n, str) for n in names):
        raise ModelFileError(f"cannot read the model: its column names are malformed: {names!r:.80}")
    return {"columns": columns, "label_column": label, "names": names}


def load_model(path: str, jobs: int | None = None) -> tuple[Tagger, dict[str, Any]]:
    """The model at ``path`` ("-": standard input) and its header; of models of other tools it is empty."""
    from crfkit.io.model_arrays import open_model
    from crfkit.io.model_formats import OWN, model_format

    source: str | bytes = sys.stdin.buffer.read() if path == "-" else path
    if model_format(source) != OWN:
        from crfkit.models.foreign import load_any

        return load_any(source, n_jobs=jobs)
    from crfkit.models.kinds import tagger_of

    header, arrays = open_model(source)
    return tagger_of(header, arrays, jobs), header


def load_linear(path: str, jobs: int | None = None) -> tuple[LinearTagger, dict[str, Any]]:
    """The same for commands that go into the weights of a linear model."""
    from crfkit.models.linear.tagger import LinearTagger

    tagger, header = load_model(path, jobs)
    if not isinstance(tagger, LinearTagger):
        raise ModelFileError(f"{path} is a {header['model']}: this goes with linear-chain CRFs alone")
    return tagger, header
