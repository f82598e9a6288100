"""The first step of training on attributes: reading and encoding X and y."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray
from crfkit.data.labels import Labels, encode_labels, label_lists, label_set
from crfkit.data.sequences import Sequences
from crfkit.data.training_data import class_weights, cut_as, require_data, sequence_weights, with_unlabelled
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.features.edge_attributes import attribute_kinds, edge_prefixes
from crfkit.features.extraction import Extraction, learn_extraction
from crfkit.features.inputs import encode_input, given_template
from crfkit.features.template import Template


@dataclass(frozen=True)
class LabelledInput:
    """Training data: sequences over a vocabulary that grew with them, and labels among the classes."""

    sequences: Sequences
    labels: Labels
    classes: list[Any]
    vocabulary: Vocabulary
    template: Template | None
    extraction: Extraction | None
    weights: FloatArray | None  # [N] of the sequences; None: all 1
    class_weights: FloatArray | None  # [L]; None: all 1

    @property
    def has_transitions(self) -> bool:
        """Whether label bigrams are features; they are not if there is a template without a B line."""
        return self.template is None or self.template.transitions

    def kinds(self, edge_attributes: Any) -> npt.NDArray[np.uint8] | None:
        """Return what each attribute scores [A] (``attribute_kinds``), also by the template's B lines."""
        return attribute_kinds(self.vocabulary, edge_prefixes(edge_attributes, self.template))


def read_labelled(
    X: Any,
    y: Any,
    *,
    template: Template | str | None = None,
    extractor: Any = None,
    lengths: Any = None,
    vocabulary: Vocabulary | None = None,  # names that come first
    classes: Iterable[Any] = (),  # labels in addition to those of y
    sample_weight: npt.ArrayLike | None = None,
    class_weight: Any = None,
    n_jobs: int | None = None,
) -> LabelledInput:
    """Read and encode training data, with all attributes and labels that it has."""
    made_by = given_template(template)
    if made_by is not None and extractor is not None:
        raise InputError("template= and extractor= both make attributes: give one of them")
    y = label_lists(with_unlabelled(X, y, lengths), lengths=lengths)
    names = Vocabulary() if vocabulary is None else vocabulary
    cut = cut_as(X, y, lengths)
    if isinstance(X, Iterator) and extractor is not None:
        X = list(X)  # it is read twice
    extraction = learn_extraction(extractor, X, cut)
    sequences = encode_input(X, names, made_by, extraction, grow=True, lengths=cut, n_jobs=n_jobs)
    found = label_set([*y, list(classes)])
    require_data(sequences, found)
    labels = encode_labels(y, found, sequences.offsets)
    return LabelledInput(
        sequences,
        labels,
        found,
        names,
        made_by,
        extraction,
        sequence_weights(sample_weight, sequences.n_sequences),
        class_weights(class_weight, labels, found),
    )
