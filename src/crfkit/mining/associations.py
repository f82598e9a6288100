"""The use of rules in a model, in one of the ways of docs/associations.md.

features
    an attribute for every rule, which scores only the rule's own label;
weighted
    the same with a value for each rule instead of 1, larger for rarer rules;
constraints
    where a rule holds, its label is forced; of several rules the longest wins, then the best supported;
votes
    the votes of all rules that hold at a position, as a few attributes for every label.

Rules are matched by an inverted index in the core (native/mining/rule_matcher.h).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.sequences import Encoded, LabelHints, Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, InputWarning, ModelFileError
from crfkit.mining.rules import Rules, checked_rules
from crfkit.mining.votes import vote_counter, vote_kinds, vote_names
from crfkit.threads import thread_count
from crfkit.warn import warn

Values = Callable[[IntArray], npt.ArrayLike]

USES: tuple[str, ...] = ("features", "weighted", "constraints", "votes")
_ARRAYS = ("first", "items", "labels", "support", "coverage", "rivals", "margins", "fixes", "class_counts")


@dataclass(frozen=True, eq=False)
class Associations:
    """Rules over the ids of a model's vocabulary, and how the model uses them."""

    rules: Rules  # over the model's vocabulary
    use: str
    attributes: IdArray  # ids: [R] of the rules' own, [M] of the votes, [0] for constraints
    values: FloatArray | None = None  # [R] of the rules' attributes; None: ones
    loudness: float = 1.0  # factor of the votes
    kinds: list[str] = field(default_factory=list)  # of votes

    _prefix: ClassVar[str] = "rules."

    @classmethod
    def bind(
        cls,
        rules: Rules,
        use: str,
        vocabulary: Vocabulary,
        classes: list[Any],
        values: FloatArray | None = None,
        loudness: float = 1.0,
        kinds: list[str] | None = None,
    ) -> Associations:
        """Bind rules to the attributes and labels of a model; adds their attributes to the vocabulary.

        Rules for a label that the model does not have, and rules with an item that the vocabulary does not
        know, hold nowhere and are left out.
        """
        n_given = len(rules)
        rules, kept = rules.over(classes)
        values = None if values is None else values[kept]
        if vocabulary is not rules.vocabulary:
            used, places = np.unique(rules.items, return_inverse=True)
            names = rules.vocabulary.strings()
            ids = vocabulary.lookup([names[i] for i in used.tolist()])[places.ravel()]  # [nnz]
            known = np.minimum.reduceat(np.append(ids, 0), rules.first[:-1]) >= 0 if len(rules) else ids >= 0
            if n_given and not known.any():
                shown = f"like {names[used[0]]!r}" if len(used) else "of other labels"
                raise InputError(
                    f"none of the {n_given} rules can hold here: their items are {shown}, the data's "
                    f"attributes like {_first_name(vocabulary)}; were the rules mined with another template?"
                )
            values = None if values is None else values[known]
            rules = replace(rules, items=ids.astype(np.int32), vocabulary=vocabulary)[known]
        if len(rules) < n_given:
            warn(
                f"{n_given - len(rules)} of {n_given} rules cannot hold anywhere and are left out: they have "
                "items or labels that the training data does not have",
                InputWarning,
            )
        new: list[str] = []
        if use in ("features", "weighted"):
            new = rules.names()
        elif use == "votes":
            kinds = vote_kinds(rules) if kinds is None else kinds
            new = vote_names(kinds, rules.classes)
        return cls(rules, use, vocabulary.add(new), values, loudness, kinds or [])

    def __reduce__(self) -> tuple[Any, ...]:
        # Cached properties cannot be pickled, and are quickly computed again.
        own = (self.rules, self.use, self.attributes, self.values, self.loudness, self.kinds)
        return (Associations, own)

    @cached_property
    def _matcher(self) -> _native.RuleMatcher:
        return _native.RuleMatcher(self.rules.first, self.rules.items, len(self.rules.vocabulary))

    @cached_property
    def _counter(self) -> _native.VoteCounter:
        return vote_counter(self.rules, self.kinds)

    @cached_property
    def _hints(self) -> LabelHints:
        """The only label that the attribute of each rule scores."""
        own = np.full(len(self.rules.vocabulary), -1, np.int32)  # [A]
        own[self.attributes] = self.rules.labels
        return LabelHints(self.rules.classes, own, None)

    @cached_property
    def _best_first(self) -> IntArray:
        """The rules by length and support, [R]."""
        return np.lexsort((-self.rules.support.astype(np.int64), -self.rules.lengths))

    @cached_property
    def _rank(self) -> IntArray:
        """Each rule's place in ``_best_first``, [R]."""
        rank = np.empty(len(self.rules), np.int64)
        rank[self._best_first] = np.arange(len(self.rules))
        return rank

    def apply(self, sequences: Sequences, n_jobs: int | None = None) -> Encoded:
        """Apply the rules to the sequences: add their attributes, or force labels."""
        threads = thread_count(n_jobs)
        # The rules that hold at position t are found[first[t]:first[t+1]].
        first, found = self._matcher.match(sequences.indptr, sequences.indices, threads)
        rules, vocabulary = self.rules, self.rules.vocabulary
        sequences = replace(sequences, n_attributes=len(vocabulary))
        if self.use == "constraints":
            return Encoded(sequences, vocabulary, LabelHints(rules.classes, None, self._forced(first, found)))
        if self.use == "votes":
            bounds, places, votes = self._counter.count(first, found, threads)
            more = sequences.with_entries(bounds, self.attributes[places], self.loudness * votes)
            return Encoded(more, vocabulary)
        values = None if self.values is None else self.values[found]
        sequences = sequences.with_entries(first, self.attributes[found], values)
        return Encoded(sequences, vocabulary, self._hints)

    def _forced(self, first: IntArray, found: IdArray) -> IdArray:
        """Return the label forced by the longest matching rule at each position, [ΣT]; -1: no rule holds.

        Of rules of one length the best supported wins, of those the first in the table.
        """
        forced = np.full(len(first) - 1, -1, np.int32)  # [ΣT]
        some = np.diff(first) > 0
        if some.any():
            best = np.minimum.reduceat(self._rank[found], first[:-1][some])
            forced[some] = self.rules.labels[self._best_first[best]]
        return forced

    def over(self, vocabulary: Vocabulary, classes: list[Any]) -> Associations:
        """Return the same over an extended copy of the vocabulary, and other labels."""
        rules, kept = replace(self.rules, vocabulary=vocabulary).over(classes)
        attributes, values = self.attributes, self.values
        if self.use in ("features", "weighted"):
            attributes, values = attributes[kept], None if values is None else values[kept]
        elif self.use == "votes":
            attributes = vocabulary.add(vote_names(self.kinds, classes))
        return Associations(rules, self.use, attributes, values, self.loudness, self.kinds)

    def needed(self, used: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
        """Return the attributes that the rules need if only the attributes ``used`` have a weight."""
        if self.use in ("features", "weighted"):
            return self.rules[np.isin(self.attributes, used)].items
        return np.concatenate((self.rules.items, self.attributes))

    def renumbered(self, vocabulary: Vocabulary, places: IntArray) -> Associations:
        """Return the same over a vocabulary in which attribute a is ``places[a]``; -1: it is missing.

        Rules whose attribute is missing are left out.
        """
        if self.use in ("features", "weighted"):
            kept = places[self.attributes] >= 0
            rules, attributes = self.rules[kept], self.attributes[kept]
            values = None if self.values is None else self.values[kept]
        else:
            rules, attributes, values = self.rules, self.attributes, self.values
        rules = replace(rules, items=places[rules.items].astype(np.int32), vocabulary=vocabulary)
        ids = places[attributes].astype(np.int32)
        return Associations(rules, self.use, ids, values, self.loudness, self.kinds)

    # ---- the model file

    def header(self) -> dict[str, Any]:
        """Return everything except the arrays, as JSON values."""
        record = {"use": self.use, "n_positions": self.rules.n_positions, "loudness": self.loudness}
        return {**record, "kinds": self.kinds} if self.kinds else record

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of the rules, items as ids of the model's vocabulary, and the attributes."""
        arrays = {name: getattr(self.rules, name) for name in _ARRAYS}
        arrays |= {"attributes": self.attributes, "values": self.values}
        return {self._prefix + name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_arrays(
        cls, record: Any, arrays: dict[str, npt.NDArray[Any]], vocabulary: Vocabulary, classes: list[Any]
    ) -> Associations:
        """Make associations from ``header`` and ``to_arrays``; raise ModelFileError if they are malformed."""
        own = {k[len(cls._prefix) :]: array for k, array in arrays.items() if k.startswith(cls._prefix)}
        attributes, values = own.pop("attributes", None), own.pop("values", None)
        kinds: Any = record.get("kinds", []) if isinstance(record, dict) else None
        sound = (
            isinstance(kinds, list)
            and all(isinstance(kind, str) for kind in kinds)
            and record.get("use") in USES
            and (record["use"] != "votes" or kinds[:1] == ["strongest"])
            and isinstance(record.get("loudness"), float)
        )
        if not sound:
            raise ModelFileError("cannot read the model: its association rules are malformed")
        rules = checked_rules(vocabulary, classes, record.get("n_positions"), own)
        expected = {"constraints": 0, "votes": len(kinds) * len(classes)}
        sound = (
            attributes is not None
            and attributes.dtype == np.int32
            and attributes.shape == (expected.get(record["use"], len(rules)),)
            and (not len(attributes) or (attributes.min() >= 0 and attributes.max() < len(vocabulary)))
            and (
                values is None
                or (
                    values.dtype == np.float64
                    and values.shape == (len(rules),)
                    and bool(np.isfinite(values).all())
                )
            )
        )
        if not sound or attributes is None:
            raise ModelFileError("cannot read the model: its association rules do not fit together")
        return cls(rules, record["use"], attributes, values, record["loudness"], kinds)


def rule_values(value: Values | None, rules: Rules, max_support: int | None) -> FloatArray:
    """Return the value of each rule, larger for rarer rules, [R].

    It is usupp - supp + 2, where usupp is the bound on the support or the largest support found; or the
    user's function of the supports.
    """
    if value is None:
        highest = max_support if max_support is not None else rules.support.max(initial=2)
        return (highest - rules.support + 2).astype(np.float64)
    values = np.asarray(value(rules.support.astype(np.int64)), np.float64)
    if values.shape != (len(rules),) or not np.isfinite(values).all():
        raise InputError(
            f"value must turn an array of {len(rules)} supports into as many finite numbers, "
            f"got an array of shape {values.shape}"
        )
    return values


def _first_name(vocabulary: Vocabulary) -> str:
    return repr(vocabulary.strings(0, 1)[0]) if len(vocabulary) else "nothing: it has none"
