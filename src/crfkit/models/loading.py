"""Fitted models of any kind out of crfkit's own file: its header says which kind it is.

A new kind of model is one line in ``TAGGERS``; its class has ``from_parts(header, arrays, name, n_jobs)``.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from crfkit.exceptions import ModelFileError
from crfkit.io.model_file import Source, read_model
from crfkit.models.tagger import Tagger

# What stands as "model" in the header, and where its class is, fetched when it is needed.
TAGGERS = {
    "linear-chain CRF": ("crfkit.models.linear.tagger", "LinearTagger"),
    "kernel CRF": ("crfkit.models.kernels.tagger", "KernelTagger"),
    "tree CRF": ("crfkit.models.trees.tagger", "TreeTagger"),
}


def load_tagger(source: Source, n_jobs: int | None = None) -> tuple[Tagger, dict[str, Any]]:
    """The tagger in a model file of crfkit, mapped into memory, and the file's header."""
    header, arrays = read_model(source)
    name = str(source) if isinstance(source, (str, os.PathLike)) else "the model"
    kind = header.get("model")
    if not isinstance(kind, str) or kind not in TAGGERS:
        raise ModelFileError(
            f"cannot read the model {name}: expected a {' or a '.join(TAGGERS)}, got {kind!r}"
        )
    module, class_name = TAGGERS[kind]
    tagger: Tagger = getattr(import_module(module), class_name).from_parts(header, arrays, name, n_jobs)
    return tagger, header
