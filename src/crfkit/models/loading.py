"""``crfkit.load``: the fitted estimator in a model file of any kind."""

from __future__ import annotations

import os
from typing import Any

from crfkit.exceptions import ModelFileError
from crfkit.io.model_file import Source, read_model
from crfkit.io.model_formats import OWN, model_format
from crfkit.models.kinds import KINDS


def load(source: Source, *, n_jobs: int | None = None, mmap: bool | None = None) -> Any:
    """Load a model from a path, from bytes, or from a binary file object.

    Returns the fitted estimator: a ``CRF``, a ``TreeCRF`` or a ``KernelCRF``, as the file says. Models of
    CRFsuite, Wapiti and CRF++ become a ``CRF``. ``mmap`` is that of :meth:`CRF.load`.
    """
    if not isinstance(source, (str, os.PathLike, bytes, bytearray, memoryview)):
        source = source.read()
    kind = "linear-chain CRF"
    if model_format(source) == OWN:
        header, _ = read_model(source, mmap=True, verify=False)  # the estimator checks the rest
        kind = str(header.get("model"))
    found = next((known for known in KINDS.values() if known.in_files == kind), None)
    if found is None:
        hint = ": load it with crfkit.apps.genes.GeneFinder.load" if kind == "gene finder" else ""
        raise ModelFileError(f"cannot read the model {_name(source)}: it is a {kind}{hint}")
    return found.estimator.load(source, n_jobs=n_jobs, mmap=mmap)


def _name(source: Any) -> str:
    return str(source) if isinstance(source, (str, os.PathLike)) else "<bytes>"
