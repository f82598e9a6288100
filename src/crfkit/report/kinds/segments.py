"""What a SemiCRF has learnt: weights by label, lengths of segments, pairs of neighbouring segments."""

from __future__ import annotations

from typing import Any

from crfkit.models.segments.tagger import SegmentTagger
from crfkit.report.heat import transition_heat
from crfkit.report.kinds.view import (
    HeatPart,
    Illustration,
    LabelWeights,
    ModelView,
    Part,
    TablePart,
    WeightsPart,
    weights_of,
)

_WEIGHTS = 7  # for a label, and as many against it
_LABELS = 40
_LENGTHS = 12


class SegmentView(ModelView[SegmentTagger]):
    """The view of a semi-Markov CRF."""

    def own_facts(self) -> list[tuple[str, str]]:
        return list(self.tagger.facts().items())

    def own_parameters(self) -> dict[str, Any]:
        return {"template": self.tagger.encoder.template, "extractor": self.tagger.encoder.extraction}

    def learnt(self, data: Illustration) -> list[Part]:
        types = self.tagger.codec.types
        heat = transition_heat(types, self.tagger.weights.edge, self.tagger.potential.features.permitted)
        pairs = HeatPart("Neighbouring segments", "The weight of each label after another.", heat)
        return [self._weights(), self._lengths(), pairs]

    def _weights(self) -> Part:
        found: dict[str, list[tuple[str, float]]] = {}
        for part, prefix in (("state", ""), ("last", "last "), ("span", "segment ")):
            for (name, label), weight in self.tagger.named_weights(part).items():
                found.setdefault(label, []).append((prefix + name, weight))
        longest = max((abs(w) for pairs in found.values() for _, w in pairs), default=0.0)
        labels = []
        for label in sorted(found)[:_LABELS]:
            ranked = sorted(found[label], key=lambda pair: -pair[1])
            pro = [pair for pair in ranked[:_WEIGHTS] if pair[1] > 0]
            con = [pair for pair in ranked[::-1][:_WEIGHTS] if pair[1] < 0]
            labels.append(LabelWeights(label, weights_of(pro, longest), weights_of(con, longest)))
        words = "The attributes with the largest weights for each label, and against it."
        if len(found) > _LABELS:
            words += f" The first {_LABELS} labels of {len(found)}."
        return WeightsPart("Weights by label", words, labels)

    def _lengths(self) -> Part:
        features, weights = self.tagger.potential.features, self.tagger.weights
        K = min(_LENGTHS, weights.lengths.shape[1])
        heads = [("label", False), *((str(d + 1), True) for d in range(K)), ("each further", True)]
        rows: list[list[tuple[str, float | None]]] = []
        for y, name in enumerate(self.tagger.codec.types):
            row: list[tuple[str, float | None]] = [(str(name), None)]
            for d in range(K):
                w = float(weights.lengths[y, d])
                row.append((f"{w:+.2f}", w) if d < features.longest[y] else ("", None))
            has_tail = features.tails is not None and bool(features.tails[y])
            tail = float(weights.tail[y]) if has_tail else 0.0
            row.append((f"{tail:+.2f}", tail) if has_tail else ("", None))
            rows.append(row)
        return TablePart("Lengths", "The weight of a segment's length, in positions.", heads, rows)
