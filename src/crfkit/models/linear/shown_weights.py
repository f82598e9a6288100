"""The weights and rules of a fitted linear CRF as Python objects."""

from __future__ import annotations

from typing import Any

from crfkit.mining.rules import Rules
from crfkit.models.linear.tagger import LinearTagger
from crfkit.models.sequence_labeller import SequenceLabeller


class ShowsWeights(SequenceLabeller[LinearTagger]):
    """A linear CRF that shows its weights by name."""

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """The nonzero weight of each (attribute, label)."""
        return self._fitted().state_features()

    @property
    def transition_features_(self) -> dict[tuple[Any, ...], float]:
        """The nonzero weight of each (label, next label); in order 2 also of label triples."""
        return self._fitted().transition_features()

    @property
    def rules_(self) -> Rules:
        """The association rules that the model uses."""
        associations = self._fitted().associations
        if associations is None:
            raise AttributeError("the model has no association rules: fit it with associations=…")
        return associations.rules

    @property
    def edge_features_(self) -> dict[tuple[str, Any, Any], float]:
        """The nonzero weight of each (attribute, label, next label); attributes that score label pairs."""
        return self._fitted().edge_features()
