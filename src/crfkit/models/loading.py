"""Fitted models of any kind out of a model file, crfkit's own or another tool's."""

from __future__ import annotations

import os
from typing import Any

from crfkit.io.model_arrays import open_model
from crfkit.io.model_formats import OWN, model_format
from crfkit.models.kinds import KINDS, kind_in
from crfkit.models.tagger import Tagger


def load_tagger(
    source: str | os.PathLike[str] | bytes, n_jobs: int | None = None
) -> tuple[Tagger, dict[str, Any]]:
    """The tagger in a model file, mapped into memory, and the file's header, {} of another tool's model."""
    if model_format(source) != OWN:
        from crfkit.models.foreign import load_any

        return load_any(source, n_jobs=n_jobs)
    header, arrays = open_model(source)
    kind = kind_in(header)
    if kind is None:
        known = dict.fromkeys(kind.in_files for kind in KINDS.values())
        raise arrays.wrong(f"expected a {' or a '.join(known)}, got {header.get('model')!r}")
    return kind.tagger.of_file(header, arrays, n_jobs), header
