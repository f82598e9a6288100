"""What a linear-chain CRF has learnt: weights by label, transitions, association rules with examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from crfkit.exceptions import InputError
from crfkit.mining.examples import Example, find_examples
from crfkit.mining.item_names import ItemNames
from crfkit.mining.rules import Rules
from crfkit.models.linear.facts import Facts
from crfkit.models.linear.tagger import LinearTagger
from crfkit.report.heat import side_by_side, transition_heat
from crfkit.report.kinds.view import (
    HeatPart,
    Illustration,
    LabelWeights,
    ModelView,
    Part,
    RulesPart,
    TablePart,
    WeightsPart,
    weights_of,
)
from crfkit.report.rules_page import HEADS, rule_rows

_WEIGHTS = 7  # for a label, and as many against it
_LABELS = 40
_RUNS = 20
_RULES = 30
_VALUE = re.compile(r"[^=:]*[=:](.+)", re.DOTALL)  # of an attribute such as w=the or U02:the


class LinearView(ModelView[LinearTagger]):
    """The view of a linear-chain CRF, of crfkit or of another tool."""

    def own_facts(self) -> list[tuple[str, str]]:
        counts = Facts(self.tagger).counts()
        found = [
            ("attributes", f"{counts['attributes']:,}"),
            ("weights not 0", f"{counts['nonzero_weights']:,}"),
        ]
        if self.tagger.index.order > 1:
            found.append(("order", str(self.tagger.index.order)))
        if self.tagger.associations is not None:
            found.append(("association rules", f"{len(self.tagger.associations.rules):,}"))
        return found

    def own_parameters(self) -> dict[str, Any]:
        return {"template": self.tagger.template, "extractor": self.tagger.extraction}

    def known_words(self) -> set[str] | None:
        if self.tagger.vocabulary.names_columns():  # an array: attributes are numbers of columns
            return None
        found = (_VALUE.fullmatch(name) for name in self.tagger.vocabulary.strings())
        return {match[1] for match in found if match is not None} or None

    def learnt(self, data: Illustration) -> list[Part]:
        facts = Facts(self.tagger)
        parts: list[Part] = [self._weights(facts), self._transitions()]
        if self.tagger.index.order > 1:
            parts.append(_runs(facts))
        if self.tagger.associations is not None:
            parts.append(self._rules(facts, data))
        return parts

    def _weights(self, facts: Facts) -> Part:
        n = len(facts.labels)
        strongest = [facts.strongest(k, _WEIGHTS) for k in range(n)]
        longest = max((abs(f.weight) for both in strongest for some in both for f in some), default=0.0)
        loudness = [sum(f.weight for f in pro) for pro, _ in strongest]
        labels = []
        for k in side_by_side(facts.labels, loudness, _LABELS):
            pro, con = ([(str(f), f.weight) for f in some] for some in strongest[k])
            labels.append(LabelWeights(facts.labels[k], weights_of(pro, longest), weights_of(con, longest)))
        words = "The attributes with the largest weights for each label, and against it."
        if n > _LABELS:
            words += f" The {_LABELS} labels with the largest weights, of {n}."
        return WeightsPart("Weights by label", words, labels)

    def _transitions(self) -> Part:
        heat = transition_heat(self.tagger.classes, self.tagger.weights.edge, self.tagger.index.edges)
        return HeatPart("Transitions", "The weight of each label after another.", heat)

    def _rules(self, facts: Facts, data: Illustration) -> Part:
        associations = self.tagger.associations
        if associations is None:
            raise InputError("the model has no association rules")
        rules, weights, values = associations.rules, facts.rule_weights(), associations.values
        say = rules.support.astype(np.float64)  # [R]
        if weights is not None:
            say = np.abs(weights if values is None else weights * values)
        order = np.argsort(-say, kind="stable")[:_RULES]
        chosen = rules[order]
        more = {} if weights is None else {"weight": weights[order].tolist()}
        names = ItemNames(self.tagger.template)
        rows = rule_rows(chosen, names, self._examples(chosen, data), more)
        heads = [
            *HEADS,
            *(("fixes", True) for _ in range(chosen.fixes is not None)),
            *((n, True) for n in more),
        ]
        words = (
            f"The strongest {len(chosen):,} of {len(rules):,} association rules, with places where they hold."
            " Support: training positions with the items and the label. Confidence: their share of all with "
            "the items. Singly: the label that the items, each for itself, vote for instead, and by how many "
            "votes."
        )
        return RulesPart("Rules", words, heads, rows)

    def _examples(self, rules: Rules, data: Illustration) -> Sequence[Sequence[Example]] | None:
        try:
            return find_examples(
                rules,
                data.X,
                data.y,
                template=self.tagger.template,
                words=data.words,
                n=2,
                n_jobs=self.tagger.n_jobs,
            )
        except InputError:  # X has another form than the one that rules are matched on
            return None


def _runs(facts: Facts) -> Part:
    found = sorted((t for t in facts.transitions() if len(t[0]) > 2), key=lambda item: -abs(item[1]))[:_RUNS]
    rows: list[list[tuple[str, float | None]]]
    rows = [[(" → ".join(labels), None), (f"{weight:+.2f}", weight)] for labels, weight in found]
    return TablePart(
        "Label n-grams",
        "The strongest runs of three labels or more.",
        [("labels", False), ("weight", True)],
        rows,
    )
