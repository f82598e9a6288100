"""Encoding of X as attributes, with a template or extractor, conjunctions, and association rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crfkit.data.labels import Labels
from crfkit.data.sequences import Encoded, Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.features.conjunctions import NO_CONJUNCTIONS, Conjunctions
from crfkit.features.extraction import Extraction
from crfkit.features.inputs import encode_input, hints_of
from crfkit.features.template import Template

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
