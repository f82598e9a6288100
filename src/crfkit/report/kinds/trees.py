"""What a TreeCRF has learnt: importances of features, conjunctions of conditions, transitions."""

from __future__ import annotations

import sys

from crfkit.models.trees.tagger import Conjunction, TreeTagger
from crfkit.report.heat import transition_heat
from crfkit.report.kinds.view import BarsPart, HeatPart, Illustration, ModelView, Part, TablePart, weights_of

_FEATURES = 25
_CONJUNCTIONS = 4  # per label
_MOST_LEAVES = 400_000  # listing the paths of more takes too long


class TreeView(ModelView[TreeTagger]):
    """The view of a TreeCRF."""

    def own_facts(self) -> list[tuple[str, str]]:
        forest, (before, after) = self.tagger.potential.forest, self.tagger.potential.window
        return [
            ("columns", f"{len(self.tagger.schema.columns):,}"),
            ("window", f"{before} before, {after} after"),
            ("trees", f"{forest.n_trees:,}"),
            ("leaves", f"{len(forest.leaf):,}"),
            ("potentials", "joint" if self.tagger.potential.tables is None else "factored"),
        ]

    def known_words(self) -> set[str] | None:
        texts = [set(column.categories) for column in self.tagger.schema.columns if column.categories]
        return max(texts, key=len) if texts else None

    def learnt(self, data: Illustration) -> list[Part]:
        parts: list[Part] = [self._importances()]
        if len(self.tagger.potential.forest.leaf) <= _MOST_LEAVES:
            parts.append(self._conjunctions())
        tables = self.tagger.potential.tables
        if tables is not None:
            heat = transition_heat(self.tagger.classes, tables.edge)
            parts.append(HeatPart("Transitions", "The weight of each label after another.", heat))
        return parts

    def _importances(self) -> Part:
        shares, names = self.tagger.potential.forest.importances(), self.tagger.feature_names
        order = [k for k in shares.argsort()[::-1][:_FEATURES].tolist() if shares[k] > 0]
        pairs = [(names[k], 100 * float(shares[k])) for k in order]
        longest = pairs[0][1] if pairs else 0.0
        notes = [f"{value:.1f} %" for _, value in pairs]
        words = "The share of each feature in the total gain of all splits; [-1] is the position before."
        return BarsPart("Importances", words, weights_of(pairs, longest, notes))

    def _conjunctions(self) -> Part:
        """Return the conjunctions that speak most for each label; those against it are mostly its absence."""
        of_label: dict[str, list[Conjunction]] = {str(label): [] for label in self.tagger.classes}
        for one in self.tagger.conjunctions(sys.maxsize):  # the most important first
            found = of_label[str(one.label)]
            if one.value > 0 and len(found) < _CONJUNCTIONS:
                found.append(one)
        rows: list[list[tuple[str, float | None]]] = [
            [
                (label, None),
                (" & ".join(one.conditions), None),
                (f"{one.value:+.2f}", one.value),
                (f"{one.count:,}", float(one.count)),
                (f"{one.n_trees:,}", float(one.n_trees)),
            ]
            for label, some in of_label.items()
            for one in some
        ]
        heads = [("label", False), ("conditions", False), ("value", True), ("rows", True), ("trees", True)]
        words = (
            "The paths from a root to a leaf that speak most for each label: their conditions, what they add "
            "to its score, the training rows that go this way, and the number of trees with this path."
        )
        return TablePart("Conjunctions", words, heads, rows)
