"""The fitted TreeCRF: columns, labels, trees; and its form in the model file. LightGBM is not needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.tables import Table, TableSchema
from crfkit.inference import Lattice
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.io.shown_list import ShownList
from crfkit.models.fitted_model import FittedModel, Piece, Prepared, Scored, warn_of_unknown_data
from crfkit.models.kinds import KINDS
from crfkit.potentials.forest import CATEGORY, MISSING_LEFT, SEEN_MISSING, Forest
from crfkit.potentials.transitions import TransitionTables
from crfkit.potentials.tree import TreePotential

if TYPE_CHECKING:
    from crfkit.models.explanation import Reasons

Stage = tuple[int, TransitionTables | None]  # after a round: how many trees there are, and the tables


@dataclass(frozen=True)
class _Held:
    """The conditions of a path on one feature so far."""

    low: float = -math.inf  # numbers are more than this
    high: float = math.inf  # and at most this
    codes: frozenset[int] | None = None  # categories; None: numbers
    missing: bool = True  # whether it may be missing
    seen: bool = False  # whether training had missing values


@dataclass(frozen=True)
class Conjunction:
    """A path from the root of a tree to a leaf: its conditions, and what it adds to a label's score."""

    label: Any
    conditions: tuple[str, ...]
    value: float  # sum over all trees with this path
    count: int  # training rows that go this way, on average over those trees
    n_trees: int

    def __str__(self) -> str:
        return f"{' & '.join(self.conditions) or 'always'} → {self.label}"


def _knows(table: Table) -> bool:
    """Return whether a table has a value that is not missing, or no positions."""
    return not table.n_positions or not bool(np.isnan(table.values).all())


class TreeTagger(FittedModel):
    """A tagger with boosted trees."""

    in_files = KINDS["trees"].in_files

    def __init__(
        self,
        classes: list[Any],
        schema: TableSchema,
        potential: TreePotential,
        decode: str,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(classes, n_jobs)
        self.schema, self.potential, self.decoding = schema, potential, decode

    @property
    def n_columns(self) -> int | None:
        """Number of table columns; None if columns are found by name."""
        return self.schema.width

    @property
    def scores_per_position(self) -> int:
        return self.potential.scores_per_position

    def encode(self, X: Any, lengths: Any = None) -> Table:
        """Return X as a table with the columns of training."""
        return self.schema.encode(X, lengths)

    def lattice(self, X: Table) -> Lattice:
        """Return the scores of an encoded table."""
        return self.potential.scores(X, n_jobs=self.n_jobs)

    def reasons(self, X: Any, lattice: Any, header: Mapping[str, Any]) -> Reasons:
        from crfkit.models.trees.explanation import TreeReasons

        return TreeReasons(self, self.encode(X))

    def prepare(self, X: Any, lengths: Any = None) -> Prepared:
        table = self.encode(X, lengths)
        if not _knows(table) and not table.other_names:  # one warning is enough
            warn_of_unknown_data("has only missing values and unseen categories")
        return Prepared(
            table.offsets, lambda start, stop: Piece(self.lattice(table.piece(start, stop)), None)
        )

    def scored(self, X: Any) -> Scored:
        table = self.encode(X)
        return Scored(self.lattice(table), None, _knows(table))

    def staged(self, X: Any, stages: Sequence[Stage], lengths: Any = None) -> Iterator[Lattice]:
        """Yield the scores after each round, given the trees and the tables after each.

        A lattice shares its arrays with the next one: use it before requesting the next.
        """
        table = self.encode(X, lengths)
        growing, done = self.potential.without_trees(table), 0
        for n_trees, tables in stages:
            growing.add(self.potential.forest, first=done, last=n_trees, n_jobs=self.n_jobs)
            done = n_trees
            yield growing.lattice(tables)

    # ---- looking inside

    def facts(self) -> dict[str, str]:
        before, after = self.potential.window
        form = "joint: trees score label pairs" if self.potential.tables is None else "factored"
        return {
            "columns": f"{len(self.schema.columns):,}, in a window of {before} before and {after} after",
            "trees": f"{len(self.potential.forest.root):,}",
            "form": form,
        }

    def pair_scores(self) -> FloatArray | None:
        return None if self.potential.tables is None else self.potential.tables.edge

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of ``Forest.importances``: columns at places of the window."""
        before, after = self.potential.window
        names = [
            f"{column.name}[{step:+d}]" if step else f"{column.name}[0]"
            for step in range(-before, after + 1)
            for column in self.schema.columns
        ]
        return [*names, "previous label"] if self.potential.forest.context else names

    def conjunctions(self, n: int = 20, label: Any = None) -> list[Conjunction]:
        """Return the most important paths: by value times rows, summed over all trees with a path."""
        found: dict[tuple[int, tuple[str, ...]], list[float]] = {}
        forest = self.potential.forest
        wanted = None if label is None else self.classes.index(label)
        for place, root in zip(forest.label.tolist(), forest.root.tolist(), strict=True):
            if wanted is not None and place != wanted:
                continue
            for conditions, leaf in self._paths(root):
                entry = found.setdefault((place, conditions), [0.0, 0.0, 0.0])
                entry[0] += float(forest.leaf[leaf])
                entry[1] += float(forest.leaf_count[leaf])
                entry[2] += 1
        weights = sorted(found.items(), key=lambda item: -abs(item[1][0]) * item[1][1] / item[1][2])
        return ShownList(
            Conjunction(self.classes[place], conditions, value, round(count / trees), int(trees))
            for (place, conditions), (value, count, trees) in weights[:n]
        )

    def _paths(self, root: int) -> Iterator[tuple[tuple[str, ...], int]]:
        """Yield the conditions and the leaf of each path, with one condition per feature."""
        forest = self.potential.forest
        stack: list[tuple[int, dict[int, _Held]]] = [(root, {})]
        while stack:
            node, held = stack.pop()
            if node < 0:
                if held:
                    yield tuple(self._in_words(feature, held[feature]) for feature in sorted(held)), ~node
                continue
            feature, flags = int(forest.feature[node]), int(forest.flags[node])
            before = held.get(feature, _Held())
            missing_left = bool(flags & MISSING_LEFT)
            seen = before.seen or bool(flags & SEEN_MISSING)
            yes = replace(before, missing=before.missing and missing_left, seen=seen)
            no = replace(before, missing=before.missing and not missing_left, seen=seen)
            if flags & CATEGORY:
                codes = (
                    frozenset(range(len(self.category_names(feature))))
                    if before.codes is None
                    else before.codes
                )
                chosen = frozenset(forest.categories(node))
                yes, no = replace(yes, codes=codes & chosen), replace(no, codes=codes - chosen)
            else:
                threshold = float(forest.threshold[node])
                yes = replace(yes, high=min(before.high, threshold))
                no = replace(no, low=max(before.low, threshold))
            stack.append((int(forest.right[node]), {**held, feature: no}))
            stack.append((int(forest.left[node]), {**held, feature: yes}))

    def category_names(self, feature: int) -> list[str]:
        """Return the names of a feature's categories; none if it holds numbers."""
        forest = self.potential.forest
        if forest.context and feature == forest.n_features - 1:
            return [*map(str, self.classes), "(start)"]
        place, k = divmod(feature, len(self.schema.columns))
        if not self.schema.columns[k].is_category:
            return []
        texts = list(self.schema.columns[k].categories or ())
        return texts if place == self.potential.window[0] else [*texts, "(outside)"]

    def _in_words(self, feature: int, held: _Held) -> str:
        """Return a condition in words: a range of numbers or some categories, and "missing" if permitted."""
        name = self.feature_names[feature]
        if held.codes is None:
            return _range_in_words(name, held)
        texts, codes = self.category_names(feature), held.codes
        counts = [len(codes), len(texts) - len(codes)]  # of those it may be, and of the others

        def first(side: int) -> list[str]:
            """Return those that are shown: there may be thousands."""
            if side == 0:
                return [texts[c] for c in nsmallest(_LISTED + 1, codes)]
            return [texts[c] for c in islice((c for c in range(len(texts)) if c not in codes), _LISTED + 1)]

        if held.seen:
            if not all(counts):
                return f"{name} {'missing' if held.missing else 'not missing'}"
            counts[0 if held.missing else 1] += 1
        for side, sign in ((0, "="), (1, "≠")):
            if counts[side] == 1:
                return f"{name} {sign} {first(side)[0]}"
        side = 0 if counts[0] <= counts[1] else 1
        few = first(side)
        if held.seen and side == (0 if held.missing else 1):
            few.append("(missing)")
        listed = " ".join(few if counts[side] <= _LISTED else [*few[:_LISTED], "…"])
        return f"{name} {('in', 'not in')[side]} {{{listed}}}"

    # ---- files

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        own = {
            "table": self.schema.to_header(),
            "window": list(self.potential.window),
            "decode": self.decoding,
        }
        arrays = self.potential.forest.to_arrays()
        if self.potential.tables is not None:
            arrays |= self.potential.tables.to_arrays()
        return own, arrays

    @classmethod
    def from_parts(
        cls, classes: list[Any], header: Mapping[str, Any], arrays: ModelArrays, n_jobs: int | None = None
    ) -> TreeTagger:
        window, decode = header.get("window"), header.get("decode")
        if (
            not isinstance(window, list)
            or len(window) != 2
            or not all(type(far) is int and 0 <= far < 1 << 20 for far in window)
            or decode not in ("marginal", "viterbi")
        ):
            raise arrays.wrong("its window or decoding is malformed")
        schema = TableSchema.from_header(header.get("table"), arrays.name)
        tables = TransitionTables.from_arrays(arrays, len(classes))
        n_features = (sum(window) + 1) * len(schema.columns) + int(tables is None)
        forest = Forest.from_arrays(
            arrays, n_features=n_features, n_labels=len(classes), context=tables is None
        )
        potential = TreePotential(forest, (window[0], window[1]), tables)
        return cls(classes, schema, potential, decode, n_jobs)


def _range_in_words(name: str, held: _Held) -> str:
    low, high = held.low, held.high
    # LightGBM's last bin ends at infinity: a split there separates numbers from missing values.
    if low >= high:
        return f"{name} missing"
    suffix = " or missing" if held.seen and held.missing else ""
    # LightGBM uses ±1e-35 as thresholds next to 0.
    below = "< 0" if -_NOTHING < high < 0 else f"<= {0.0 if 0 < high < _NOTHING else high:.6g}"
    from_zero = -_NOTHING < low < 0
    least = 0.0 if abs(low) < _NOTHING else low
    if from_zero and 0 < high < _NOTHING:
        return f"{name} = 0{suffix}"
    if low == -math.inf:
        return f"{name} {below}{suffix}" if high < math.inf else f"{name} not missing"
    if high == math.inf:
        return f"{name} {'>=' if from_zero else '>'} {least:.6g}{suffix}"
    return f"{least:.6g} {'<=' if from_zero else '<'} {name} {below}{suffix}"


_LISTED = 12  # categories that a condition shows
_NOTHING = 1e-30  # thresholds nearer to 0 than this stand for 0
