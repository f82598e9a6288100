"""Loading crfkit's own models and those of other tools; the content of a file tells which it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from crfkit.exceptions import ModelFileError

if TYPE_CHECKING:
    from crfkit.models.fitted_model import FittedModel
    from crfkit.models.linear.tagger import LinearTagger


def data_record(header: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a model records about the table it was trained on; None if it was not a table.

    ``columns`` is their number, ``label_column`` an index; ``names`` is there if the table had a header.
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
    names, found = record.get("names"), {"columns": columns, "label_column": label}
    for key in ("sequence_column", "label_key", "tokenizer"):
        if key in record:
            if not isinstance(record[key], str):
                raise ModelFileError(f"cannot read the model: its {key} is malformed: {record[key]!r:.80}")
            found[key] = record[key]
    if names is None:
        return found
    if not isinstance(names, list) or len(names) != columns or not all(isinstance(n, str) for n in names):
        raise ModelFileError(f"cannot read the model: its column names are malformed: {names!r:.80}")
    return {**found, "names": names}


def model_source(path: str) -> str | bytes:
    """Return where to read a model from: the path, or for "-" the bytes of standard input."""
    return sys.stdin.buffer.read() if path == "-" else path


def load_model(source: str | bytes, jobs: int | None = None) -> tuple[FittedModel, dict[str, Any]]:
    """Load a model (a path, "-": standard input, or bytes) and its header, empty for other tools' models."""
    from crfkit.io.model_arrays import open_model
    from crfkit.io.model_formats import OWN, model_format

    if isinstance(source, str):
        source = model_source(source)
    if model_format(source) != OWN:
        from crfkit.models.foreign import load_any

        return load_any(source, n_jobs=jobs)
    from crfkit.models.kinds import tagger_of

    header, arrays = open_model(source)
    return tagger_of(header, arrays, jobs), header


def load_linear(path: str, jobs: int | None = None) -> tuple[LinearTagger, dict[str, Any]]:
    """Load a linear model and its header; other kinds of model raise an error."""
    from crfkit.models.linear.tagger import LinearTagger

    tagger, header = load_model(path, jobs)
    if not isinstance(tagger, LinearTagger):
        raise ModelFileError(f"{path} is a {header['model']}: this command needs a linear-chain CRF")
    return tagger, header


# The tagger writes these entries itself.
_OWN = ("model", "classes", "template", "extractor", "calibration", "compact")


def save_changed(tagger: FittedModel, header: dict[str, Any], path: str, **how: Any) -> None:
    """Write a model that was loaded and then changed, with its training record; ``how``: as ``save``."""
    tagger.save(path, {name: value for name, value in header.items() if name not in _OWN}, **how)
