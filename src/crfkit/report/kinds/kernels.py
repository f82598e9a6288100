"""What a KernelCRF has learnt: its kernels, the selected cliques and their coefficients, transitions."""

from __future__ import annotations

from typing import Any

from crfkit.models.kernels.tagger import KernelTagger
from crfkit.report.heat import transition_heat
from crfkit.report.kinds.view import BarsPart, HeatPart, Illustration, ModelView, Part, TablePart, weights_of

_CLIQUES = 60
_COEFFICIENTS = 6


class KernelView(ModelView[KernelTagger]):
    """The view of a KernelCRF."""

    def own_facts(self) -> list[tuple[str, str]]:
        found = [("cliques", f"{len(self.model.cliques_):,}")]
        for term in self.tagger.potential.terms:
            gamma = getattr(term.kernel, "gamma", None)
            wide = f", gamma {gamma:.3g}" if isinstance(gamma, float) else ""
            found.append(("kernel", f"{term.kernel.name}{wide}"))
        if isinstance(getattr(self.model, "reg_", None), float):
            found.append(("penalty", f"{self.model.reg_:.3g}"))
        return found

    def learnt(self, data: Illustration) -> list[Part]:
        parts: list[Part] = []
        if self.model.cliques_:
            parts += [self._cliques(), *self._strongest()]
        heat = transition_heat(self.tagger.classes, self.tagger.potential.transitions)
        return [*parts, HeatPart("Transitions", "The weight of each label after another.", heat)]

    def _cliques(self) -> Part:
        cliques = self.model.cliques_
        rows: list[list[tuple[str, float | None]]] = [
            [
                (f"{k + 1}", float(k + 1)),
                (f"sequence {one.sequence}, position {one.position}", None),
                (one.kind, None),
                (one.kernel, None),
                (_coefficients(one.coefficients), None),
            ]
            for k, one in enumerate(cliques[:_CLIQUES])
        ]
        heads = [
            ("no.", True),
            ("where", False),
            ("clique", False),
            ("kernel", False),
            ("coefficients", False),
        ]
        words = (
            "Positions of the training data with which the model compares, in the order in which they were "
            f"selected{'' if len(cliques) <= _CLIQUES else f'; the first {_CLIQUES} of {len(cliques):,}'}."
        )
        return TablePart("Cliques", words, heads, rows)

    def _strongest(self) -> list[Part]:
        """Return the cliques whose coefficients are largest."""
        sizes = [
            (
                f"{one.kind} at sequence {one.sequence}, position {one.position}",
                float(sum(map(abs, one.coefficients.values()))),
            )
            for one in self.model.cliques_
        ]
        sizes.sort(key=lambda item: -item[1])
        notes = [f"{value:.2f}" for _, value in sizes[:15]]
        words = "The cliques with most influence: the sum of the sizes of their coefficients."
        return [BarsPart("Strongest cliques", words, weights_of(sizes[:15], sizes[0][1], notes))]


def _coefficients(found: dict[Any, float]) -> str:
    strongest = sorted(found.items(), key=lambda item: -abs(item[1]))[:_COEFFICIENTS]
    named = [
        (" → ".join(map(str, key)) if isinstance(key, tuple) else str(key), value) for key, value in strongest
    ]
    more = ", …" if len(found) > _COEFFICIENTS else ""
    return ", ".join(f"{name} {value:+.2f}" for name, value in named) + more
