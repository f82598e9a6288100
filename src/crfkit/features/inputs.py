"""Encoding of a model's X: by its template or extractor if it has one, otherwise by ``data.encode``."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from crfkit.arrays import IdArray
from crfkit.data.columns import Columns
from crfkit.data.encode import encode
from crfkit.data.sequences import Encoded, LabelHints, Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.features.extraction import Extraction
from crfkit.features.template import Template


def encode_input(
    X: Any,
    vocabulary: Vocabulary,
    template: Template | None,
    extraction: Extraction | None = None,
    *,
    grow: bool,
    lengths: Any = None,
    n_jobs: int | None = None,
) -> Sequences:
    """Encode X with the ids of the vocabulary; ``grow`` adds new attributes, otherwise they are dropped."""
    if isinstance(X, Encoded):
        return _renumber(X, vocabulary, grow)
    if extraction is not None:
        return extraction.encode(X, vocabulary, grow=grow, lengths=lengths, n_jobs=n_jobs)
    if template is None:
        if isinstance(X, Columns):
            raise InputError(
                "columns need something that makes attributes: pass CRF(template=…) or CRF(extractor=…), "
                "or make attributes of them first (crfkit.features)"
            )
        return encode(X, vocabulary, grow=grow, lengths=lengths)
    if lengths is not None:
        raise InputError("lengths is for arrays; a model with a template takes sentences of rows of cells")
    columns = X if isinstance(X, Columns) else Columns.from_rows(X)
    return template.encode(columns, vocabulary, grow=grow, n_jobs=n_jobs)


def hints_of(X: Any, vocabulary: Vocabulary) -> LabelHints | None:
    """Return the label hints of an earlier step, over the ids of the vocabulary."""
    if not isinstance(X, Encoded) or X.hints is None:
        return None
    hints = X.hints
    if hints.own is None or X.vocabulary is vocabulary:
        return hints
    own = np.full(len(vocabulary), -1, np.int32)  # [A]
    ids = _ids_in(vocabulary, X.vocabulary)[: len(hints.own)]  # names may have been added since
    own[ids[ids >= 0]] = hints.own[ids >= 0]
    return replace(hints, own=own)


def given_template(template: Any) -> Template | None:
    """Return an estimator's template, given as such or as text."""
    if template is None or isinstance(template, Template):
        return template
    if isinstance(template, str):
        if "\n" not in template and "%" not in template and os.path.exists(template):
            raise InputError(
                f"template={template!r} is a file: pass its text, or crfkit.features.Template.read(path)"
            )
        return Template.parse(template)
    raise InputError(
        f"template must be a crfkit.features.Template or the text of one, got {type(template).__name__}"
    )


def _renumber(X: Encoded, vocabulary: Vocabulary, grow: bool) -> Sequences:
    """Return the sequences with the ids of another vocabulary."""
    if X.vocabulary is vocabulary:
        return X.sequences
    ids = vocabulary.add(X.vocabulary.strings()) if grow else _ids_in(vocabulary, X.vocabulary)  # [A]
    known = X.sequences.only(ids[X.sequences.indices] >= 0)
    return replace(known, indices=ids[known.indices], n_attributes=len(vocabulary))


# The last result for a source, with its target and the sizes of both. In a pipeline they stay the same from
# call to call, and looking up every name each time would cost more than tagging.
_LAST: WeakKeyDictionary[Vocabulary, tuple[ref[Vocabulary], int, int, IdArray]]
_LAST = WeakKeyDictionary()


def _ids_in(target: Vocabulary, source: Vocabulary) -> IdArray:
    """Return the id in ``target`` of each name of ``source``, -1 if it is unknown [A of the source]."""
    last = _LAST.get(source)
    if last is not None and last[0]() is target and last[1:3] == (len(target), len(source)):
        return last[3]
    ids = target.lookup(source.strings())
    _LAST[source] = (ref(target), len(target), len(source), ids)
    return ids
