"""Models of CRFsuite, CRF++ and Wapiti as taggers, and taggers as models of CRFsuite."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from crfkit.exceptions import InputError, ModelFileError
from crfkit.features.index import NO_NGRAMS, FeatureIndex
from crfkit.features.template import Template
from crfkit.io.model_file import Source
from crfkit.io.model_formats import MODEL_FORMATS, OWN, START, model_format
from crfkit.log import inform
from crfkit.models.input_encoder import InputEncoder
from crfkit.models.linear.tagger import LinearTagger, weight_problem
from crfkit.potentials.linear import LinearWeights

if TYPE_CHECKING:
    from crfkit.io.foreign_model import ForeignModel


def import_model(
    source: Source,
    format: str | None = None,
    *,
    encoding: str = "utf-8",
    n_jobs: int | None = None,
    mmap: bool | None = None,
) -> LinearTagger:
    """Return the tagger in a model file of crfkit, CRFsuite, Wapiti or CRF++ (text or binary).

    Parameters
    ----------
    source : a path, bytes, or a binary file object.
    format : ``"crfkit"``, ``"crfsuite"``, ``"wapiti"`` or ``"crf++"``; None detects it.
    encoding : of labels, attributes and template in other tools' files.
    n_jobs : threads for tagging; None uses all cores.
    mmap : whether to map a file of crfkit into memory; None maps those of 64 MB and more. Models of other
        tools are always read.

    Models of Wapiti and CRF++ keep their template: such a tagger takes ``Columns``. A tagger from CRFsuite
    takes lists of attributes. ``ModelFileError`` is raised if the file is damaged or has another format.
    """
    return load_any(source, format, encoding=encoding, n_jobs=n_jobs, mmap=mmap)[0]


def load_any(
    source: Source,
    format: str | None = None,
    *,
    encoding: str = "utf-8",
    n_jobs: int | None = None,
    mmap: bool | None = None,
) -> tuple[LinearTagger, dict[str, Any]]:
    """Return the tagger as ``import_model`` does, and the header of a crfkit file (training record)."""
    if format is not None and format not in MODEL_FORMATS:
        raise InputError(
            f"format must be one of {', '.join(map(repr, MODEL_FORMATS))} or None, got {format!r}"
        )
    if not isinstance(source, (str, os.PathLike, bytes, bytearray, memoryview)):
        start = source.read(START)
        if not isinstance(start, (bytes, bytearray)):
            raise ModelFileError("the file object must be opened in binary mode ('rb')")
        if format in (None, OWN) and model_format(start) == OWN:
            # The file contains its size: the rest of the stream is not read.
            return LinearTagger.load(cast("IO[bytes]", _Resumed(bytes(start), source)), n_jobs)
        source = bytes(start) + source.read()
    found = format or model_format(source)
    if found is None:
        raise ModelFileError(
            f"cannot read the model {_name(source)}: it is empty, or damaged at its beginning, or not a "
            "model of crfkit, CRFsuite, Wapiti or CRF++ (text or binary)"
        )
    if found == OWN:
        return LinearTagger.load(source, n_jobs, mmap=mmap)
    from crfkit.io.foreign_model import read_foreign  # not needed for crfkit's own models

    tagger = _tagger(read_foreign(source, found, encoding), _name(source), n_jobs)
    inform("models", "opened %s (%s)", _name(source), found)
    return tagger, {}


def export_crfsuite(tagger: LinearTagger, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write a tagger as a ``.crfsuite`` file, for CRFsuite and python-crfsuite.

    Labels become strings. Features of weight 0, attributes without features and the template are left out:
    CRFsuite takes attributes, not columns. ``InputError`` is raised if the model has features that CRFsuite
    does not support: label trigrams (order 2), or attributes on pairs of labels.
    """
    from crfkit.io.crfsuite_model import write_crfsuite_model
    from crfkit.io.foreign_model import ForeignModel

    index, weights = tagger.index, tagger.weights
    if index.order != 1:
        raise InputError(
            "CRFsuite supports first-order models only: train with order=1, or keep the model in crfkit's "
            "own format"
        )
    if tagger.conjunctions.atoms:
        raise InputError(
            "CRFsuite does not support conjunctions of attributes: keep the model in crfkit's own format"
        )
    if tagger.associations is not None:
        raise InputError("CRFsuite does not support association rules: keep the model in crfkit's own format")
    classes = [str(label) for label in tagger.classes]
    write_crfsuite_model(
        path,
        ForeignModel(
            classes,
            tagger.vocabulary,
            index.state_indptr,
            index.state_labels,
            weights.state,
            index.edges,
            np.where(index.edges, weights.edge, 0.0),
            *((index.pair_indptr, index.pair_ids, weights.pair) if index.has_pairs else ()),
        ),
    )


def _tagger(model: ForeignModel, name: str, n_jobs: int | None) -> LinearTagger:
    template = None
    if model.template_text is not None:
        try:
            template = Template.parse(
                model.template_text, model.template_dialect or "auto", source=f"the template in {name}"
            )
        except InputError as error:
            raise ModelFileError(f"cannot read the model {name}: {error}") from error
    index = FeatureIndex(
        len(model.classes),
        model.state_indptr,
        model.state_labels,
        model.edge_mask,
        NO_NGRAMS,
        *(() if model.pair_indptr is None or model.pair_ids is None else (model.pair_indptr, model.pair_ids)),
    )
    pairs = np.zeros(0) if model.pair_weights is None else model.pair_weights
    weights = LinearWeights(model.edge_weights, np.zeros(0), pairs, model.state_weights)
    too_large = weight_problem(weights)
    if too_large is not None:
        raise ModelFileError(f"cannot read the model {name}: {too_large}")
    return LinearTagger(model.classes, InputEncoder(model.attributes, template), index, weights, n_jobs)


class _Resumed:
    """A stream whose first bytes have been read already."""

    def __init__(self, start: bytes, stream: IO[bytes]) -> None:
        self.name = str(getattr(stream, "name", "<stream>"))
        self._start, self._stream = start, stream

    def read(self, n: int) -> bytes:
        piece, self._start = self._start[:n], self._start[n:]
        return piece if len(piece) == n else piece + self._stream.read(n - len(piece))


def _name(source: Source) -> str:
    return str(source) if isinstance(source, (str, os.PathLike)) else "<bytes>"
