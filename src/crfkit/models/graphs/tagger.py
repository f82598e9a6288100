"""A fitted model of graphs: a part with its potential, and a method of inference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crfkit.data.graphs import node_labels, words_of_graphs
from crfkit.exceptions import InputError
from crfkit.inference import Constraints
from crfkit.inference.graphs import METHODS, Graphs
from crfkit.inference.lattice import ScoredSequences
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.models.fitted_model import FittedModel, Piece, Prepared, Scored, warn_of_unknown_data
from crfkit.models.graphs.answers import GraphAnswers
from crfkit.models.graphs.part import PARTS, GraphPart, part_class
from crfkit.models.kinds import KINDS

DECODING = {"best": "viterbi", "marginal": "marginal"}


class GraphTagger(FittedModel):
    """A tagger of graphs."""

    in_files = KINDS["graphs"].in_files
    n_columns = None

    def __init__(
        self,
        classes: list[Any],
        part: GraphPart,
        *,
        inference: str = "auto",
        decode: str = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(classes, n_jobs)
        self.part, self.inference = part, inference
        self.answers = GraphAnswers(Graphs(inference))
        self.decoding = DECODING[decode]

    @property
    def scores_per_position(self) -> int:
        return len(self.classes)

    def prepare(self, X: Any, lengths: Any = None) -> Prepared:
        if lengths is not None:
            raise InputError("lengths goes with sequences; X must be a list of graphs")
        batch = self.part.encode(X)
        unknown = self.part.unknown(batch)
        if unknown is not None:
            warn_of_unknown_data(unknown)
        return self.prepare_encoded(batch)

    def prepare_encoded(self, batch: Any) -> Prepared:
        """Return encoded graphs, to be scored in pieces."""

        def score(start: int, stop: int) -> Piece:
            chosen = batch if stop - start == batch.n_sequences else batch.subset(range(start, stop))
            try:
                return Piece(self.part.scores(chosen, n_jobs=self.n_jobs), None)
            except InputError:  # of scores that are too large: with the number of the graph in the batch
                self.part.scores(batch, n_jobs=self.n_jobs)
                raise

        return Prepared(batch.offsets, score)

    def constrained(
        self, X: Any, lengths: Any, constraints: Constraints | None, known: Any
    ) -> Iterator[ScoredSequences]:
        yield from super().constrained(X, lengths, constraints, node_labels(X, known, "known"))

    def constrained_pieces(
        self, prepared: Prepared, constraints: Constraints | None, known: Any
    ) -> Iterator[tuple[int, int, ScoredSequences]]:
        with words_of_graphs():
            yield from super().constrained_pieces(prepared, constraints, known)

    def scored(self, X: Any) -> Scored:
        batch = self.part.encode(X)
        return Scored(self.part.scores(batch, n_jobs=self.n_jobs), None, self.part.unknown(batch) is None)

    def facts(self) -> dict[str, str]:
        facts = {"potential": self.part.name, **self.part.facts(), "inference": self.inference}
        types = [name for name in self.part.names.types if name]
        return {**facts, "types of edges": ", ".join(types)} if types else facts

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        own, arrays = self.part.to_parts()
        decode = next(name for name, how in DECODING.items() if how == self.decoding)
        return {"potential": self.part.name, "inference": self.inference, "decode": decode, **own}, arrays

    @classmethod
    def from_parts(
        cls, classes: list[Any], header: Mapping[str, Any], arrays: ModelArrays, n_jobs: int | None = None
    ) -> GraphTagger:
        # As text: what a damaged file has in their place may be a list, which no table can be asked for.
        potential, inference, decode = (
            str(header.get(name)) for name in ("potential", "inference", "decode")
        )
        if potential not in PARTS:
            raise arrays.wrong(f"it has an unknown potential: {potential!r}")
        if inference not in METHODS or decode not in DECODING:
            raise arrays.wrong(f"it has an unknown method of inference: {inference!r}, {decode!r}")
        part = part_class(potential).of_parts(len(classes), header, arrays)
        return cls(classes, part, inference=inference, decode=decode, n_jobs=n_jobs)
