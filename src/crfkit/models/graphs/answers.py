"""What a model of graphs says about scores: labels and probabilities, exact or approximate."""

from __future__ import annotations

from dataclasses import fields
from typing import NoReturn

import numpy as np

from crfkit.arrays import FloatArray, IdArray
from crfkit.exceptions import InputError
from crfkit.inference import Constraints, SegmentRules, Segments
from crfkit.inference.graph_scores import GraphScores, forbid
from crfkit.models.answers import StructureAnswers


class GraphAnswers(StructureAnswers[GraphScores]):
    """The answers of the structure ``Graphs`` with one method of inference."""

    def best(self, scores: GraphScores, n_jobs: int | None) -> IdArray:
        return self.structure.best(scores, n_jobs=n_jobs)

    def most_right(self, scores: GraphScores, marginals: FloatArray, n_jobs: int | None) -> IdArray:
        found: IdArray = marginals.argmax(axis=1).astype(np.int32)
        return found

    def marginals(self, scores: GraphScores, *, n_jobs: int | None = None) -> FloatArray:
        node: FloatArray = self.structure.expectations(scores, n_jobs=n_jobs)[1].node
        return node

    def score(self, scores: GraphScores, labels: IdArray, *, n_jobs: int | None = None) -> FloatArray:
        return self.structure.labelling_score(scores, labels, n_jobs=n_jobs)

    def nbest(self, scores: GraphScores, k: int, *, n_jobs: int | None = None) -> NoReturn:
        raise InputError("a graph CRF has no list of best labellings: use predict and predict_marginals")

    def segment_probabilities(
        self, scores: GraphScores, rules: SegmentRules, segments: Segments, *, n_jobs: int | None = None
    ) -> NoReturn:
        raise InputError("nodes of a graph have no order, so that there are no segments: use predict")

    def constrain(self, scores: GraphScores, constraints: Constraints) -> GraphScores:
        others = (f.name for f in fields(constraints) if f.name != "positions")
        if any(getattr(constraints, name) is not None for name in others):
            raise InputError("only constraints on single nodes (Constraints.positions) go with graphs")
        mask = np.asarray(constraints.positions, np.bool_)
        if mask.shape != scores.node.shape:
            raise InputError(f"positions must have shape {scores.node.shape}, got {mask.shape}")
        return forbid(scores, mask)

    def force(self, scores: GraphScores, labels: IdArray, *, n_jobs: int | None = None) -> GraphScores:
        return scores
