"""Encoding of X as attributes, with a template or extractor, conjunctions, and association rules.

All models on attributes have an encoder, and its part of their files is written and read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.data.labels import Labels
from crfkit.data.sequences import Encoded, Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, ModelFileError
from crfkit.features.conjunctions import NO_CONJUNCTIONS, Conjunctions
from crfkit.features.extraction import (
    IN_ARRAYS,
    IN_HEADER,
    Extraction,
    ProgramExtraction,
    extraction_of_file,
    warn_of_losses,
)
from crfkit.features.inputs import encode_input, hints_of
from crfkit.features.template import Template
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays

if TYPE_CHECKING:
    from crfkit.mining.associations import Associations
    from crfkit.mining.miner import AssociationMiner
    from crfkit.mining.rules import Rules


@dataclass(frozen=True)
class InputEncoder:
    """An encoder whose parts share one vocabulary, which has the names of all attributes they produce."""

    vocabulary: Vocabulary
    template: Template | None
    conjunctions: Conjunctions = NO_CONJUNCTIONS
    associations: Associations | None = None
    extraction: Extraction | None = None

    def encode(self, X: Any, lengths: Any = None, n_jobs: int | None = None) -> Encoded:
        """Return X with conjunctions and rules; attributes that are not in the vocabulary are ignored."""
        sequences = encode_input(
            X,
            self.vocabulary,
            self.template,
            self.extraction,
            grow=False,
            lengths=lengths,
            n_jobs=n_jobs,
        )
        return self._complete(X, sequences, n_jobs)

    def _complete(self, X: Any, sequences: Sequences, n_jobs: int | None) -> Encoded:
        """Add conjunctions and rules to the attributes of X."""
        if self.conjunctions.atoms:
            sequences = self.conjunctions.fill(replace(sequences, n_attributes=len(self.vocabulary)))
        if self.associations is not None:
            return self.associations.apply(sequences, n_jobs)
        hints = hints_of(X, self.vocabulary) if isinstance(X, Encoded) else None
        return Encoded(sequences, self.vocabulary, hints)

    def with_template(self, template: Template | None) -> InputEncoder:
        """Return the same encoder with another template, or without one."""
        return replace(self, template=template, extraction=None)

    def with_extraction(self, extraction: Extraction | None) -> InputEncoder:
        """Return the same encoder with another extractor, or without one."""
        return replace(self, extraction=extraction, template=self.template if extraction is None else None)

    @property
    def n_columns(self) -> int | None:
        """How many columns a table of cells must have; None if it does not take tables."""
        if self.extraction is not None:
            return self.extraction.n_columns
        return None if self.template is None else self.template.n_columns

    def under(self, rules: Rules, classes: list[Any]) -> InputEncoder:
        """Return the encoder with rules that make labels certain."""
        from crfkit.mining.associations import Associations

        if self.associations is not None:
            raise InputError(f"the model already has rules, with use={self.associations.use!r}")
        if (rules.confidence < 1).any():
            raise InputError(
                "only rules that are always right can be constraints, and some of these are not: "
                "use rules[rules.confidence == 1]"
            )
        return replace(self, associations=Associations.bind(rules, "constraints", self.vocabulary, classes))

    def over(self, vocabulary: Vocabulary, classes: list[Any]) -> InputEncoder:
        """Return the same encoder over an extended copy of the vocabulary, and for other labels."""
        rules = None if self.associations is None else self.associations.over(vocabulary, classes)
        conjunctions = Conjunctions(vocabulary, self.conjunctions.atoms)
        return replace(self, vocabulary=vocabulary, conjunctions=conjunctions, associations=rules)

    def with_conjunctions(self, more: Mapping[str, Sequence[str]]) -> InputEncoder:
        """Return the encoder with more conjunctions, whose names are added to the vocabulary."""
        atoms = {**self.conjunctions.atoms, **more}
        if atoms and self.vocabulary.names_columns():
            raise InputError(
                "conjunctions need attributes with names, but the columns of an array have none: "
                "give the CRF the result of the selector's transform of X"
            )
        self.vocabulary.add([*(atom for parts in atoms.values() for atom in parts), *atoms])
        return replace(self, conjunctions=Conjunctions(self.vocabulary, atoms))

    def learn(
        self,
        X: Any,
        sequences: Sequences,
        labels: Labels,
        classes: list[Any],
        miner: AssociationMiner | None,
        n_jobs: int | None,
    ) -> tuple[Encoded, InputEncoder]:
        """Return the training data with conjunctions and rules, and the encoder for all other data.

        ``sequences`` are the attributes of X without them. The miner finds the rules; without a miner the
        existing rules are kept.
        """
        if miner is None:
            return self._complete(X, sequences, n_jobs), self
        if self.conjunctions.atoms:
            sequences = self.conjunctions.fill(replace(sequences, n_attributes=len(self.vocabulary)))
        encoded, rules = miner.learn(sequences, labels, self.vocabulary, classes, self.template)
        return encoded, replace(self, associations=rules)

    # ---- files

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return the encoder's part of a model file: entries of its header, and arrays."""
        own: dict[str, Any] = {}
        arrays: Arrays = {f"vocabulary.{name}": array for name, array in self.vocabulary.to_arrays().items()}
        if self.template is not None:
            own["template"] = self.template.to_record()
            arrays[IN_ARRAYS] = np.frombuffer(self.template.program.code, np.uint8)
        if self.extraction is not None:
            warn_of_losses(self.extraction)
            own[IN_HEADER] = self.extraction.to_record()
            if isinstance(self.extraction, ProgramExtraction) and not self.extraction.in_python:
                arrays[IN_ARRAYS] = np.frombuffer(self.extraction.program.code, np.uint8)
        if self.associations is not None:
            own["associations"] = self.associations.header()
            arrays |= self.associations.to_arrays()
        if self.conjunctions.atoms:
            own["conjunctions"] = self.conjunctions.to_record()
        return own, arrays

    @classmethod
    def of_parts(cls, classes: list[Any], header: Mapping[str, Any], arrays: ModelArrays) -> InputEncoder:
        """Return the encoder in an opened model file with these labels."""
        vocabulary = Vocabulary.from_arrays(arrays.under("vocabulary."))
        try:
            template = Template.from_record(header.get("template"), f"the template in {arrays.name}")
            conjunctions = Conjunctions.from_record(vocabulary, header.get("conjunctions"))
            program = None
            if IN_ARRAYS in arrays:
                program = arrays.take(IN_ARRAYS, np.uint8, (None,)).tobytes()
            extraction = extraction_of_file(header.get(IN_HEADER), program)
            if template is not None and extraction is not None:
                raise ModelFileError("it has a template and an extractor")
        except (InputError, ModelFileError) as error:
            raise arrays.wrong(str(error)) from error
        associations = None
        if "associations" in header:
            from crfkit.mining.associations import Associations

            associations = Associations.from_arrays(
                header["associations"], arrays.arrays, vocabulary, classes
            )
        return cls(vocabulary, template, conjunctions, associations, extraction)
