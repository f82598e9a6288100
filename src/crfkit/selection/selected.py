"""A selection: features by name, in the order in which they were chosen.

It has no weights: it can be saved, loaded, and used for training on other data, where attributes and labels
have other numbers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.sequences import Encoded
from crfkit.data.training_data import check_label_count
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, InputWarning
from crfkit.features.conjunctions import expand
from crfkit.features.index import FeatureIndex, rows_of, unique_ngrams
from crfkit.features.inputs import encode_input
from crfkit.io.opening import open_input, source_name
from crfkit.io.shown_table import ShownTable
from crfkit.io.writing import open_output
from crfkit.warn import warn

_FORMAT, _VERSION = "crfkit selection", 1
_SHOWN = 10  # features in a repr


class Feature(NamedTuple):
    """A chosen feature. Without an attribute it is a transition; with one and two labels, a pair feature."""

    attribute: str | None
    labels: tuple[Any, ...]
    round: int  # 0: in the model from the start
    score: float  # its score when it was chosen; NaN if it was not chosen

    @property
    def key(self) -> tuple[str | None, tuple[Any, ...]]:
        """Attribute and labels, which identify the feature."""
        return self.attribute, self.labels

    def __str__(self) -> str:
        if self.attribute is None:
            return f"T({', '.join(map(str, self.labels))})"
        return f"E({' → '.join(map(str, self.labels))}, {self.attribute})"


class Selection(Sequence[Feature]):
    """Chosen features in order; immutable. A slice of it is a selection again.

    ``conjunctions`` are attributes made of others: {name: attributes that must all be present}. ``made_by``
    is the selector and its parameters, as JSON values.
    """

    __slots__ = ("_features", "conjunctions", "made_by")

    def __init__(
        self,
        features: Iterable[Feature],
        conjunctions: Mapping[str, tuple[str, ...]] | None = None,
        made_by: Mapping[str, Any] | None = None,
    ) -> None:
        self._features = tuple(features)
        attributes = {feature.attribute for feature in self._features}
        self.conjunctions = {
            name: tuple(atoms) for name, atoms in (conjunctions or {}).items() if name in attributes
        }
        self.made_by = dict(made_by or {})
        seen: set[Any] = set()
        for feature in self._features:
            if feature.key in seen:
                raise InputError(f"a selection must have each feature once, but {feature} is in it twice")
            seen.add(feature.key)

    def __len__(self) -> int:
        return len(self._features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._features)

    @overload
    def __getitem__(self, place: int) -> Feature: ...
    @overload
    def __getitem__(self, place: slice) -> Selection: ...
    def __getitem__(self, place: int | slice) -> Feature | Selection:
        if isinstance(place, slice):
            return Selection(self._features[place], self.conjunctions, self.made_by)
        return self._features[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selection) and self._plain() == other._plain()

    def __hash__(self) -> int:
        return hash(tuple(feature.key for feature in self._features))

    def _plain(self) -> tuple[Any, ...]:
        # NaN is not equal to itself: scores are compared by how they are written.
        return [(*f[:3], repr(f.score)) for f in self._features], self.conjunctions, self.made_by

    def __repr__(self) -> str:
        return f"Selection of {len(self)} features:\n{self.table(_SHOWN)}"

    def _repr_html_(self) -> str:
        shown = self._features[: 2 * _SHOWN]
        rows = [
            [str(feature), str(feature.round), "" if np.isnan(feature.score) else f"{feature.score:.6g}"]
            for feature in shown
        ]
        more = [f"… and {len(self) - len(shown):,} more"] if len(self) > len(shown) else []
        return ShownTable([f"{len(self):,} selected features", "round", "score"], [rows], more).html()

    def table(self, n: int | None = None) -> str:
        """Return the first n features, or all, one per line: number, round, score, name."""
        lines = [
            f"{i:5}  round {f.round:<4} {'' if np.isnan(f.score) else format(f.score, '.6g'):>11}  {f}"
            for i, f in enumerate(self._features[:n], start=1)
        ]
        if n is not None and len(self) > n:
            lines.append(f"    … and {len(self) - n:,} more")
        return "\n".join(lines)

    @property
    def attributes(self) -> list[str]:
        """The attributes of the features, in order, each once."""
        return list(dict.fromkeys(f.attribute for f in self._features if f.attribute is not None))

    # ---- on other data

    def feature_index(
        self, vocabulary: Vocabulary, classes: Sequence[Any], *, order: int = 1
    ) -> FeatureIndex:
        """Return the index of the selected features over these attributes and labels.

        Features without their attribute or labels are left out, with a warning; if none is left, raises
        ``InputError``.
        """
        L, A = len(classes), len(vocabulary)
        places = {label: i for i, label in enumerate(classes)}
        ids = dict(zip(self.attributes, vocabulary.lookup(self.attributes).tolist(), strict=True))
        state: list[int] = []
        pairs: list[int] = []
        check_label_count(L)
        edges = np.zeros((L, L), np.bool_)
        ngrams: list[tuple[int, ...]] = []
        missing: list[Feature] = []
        for feature in self._features:
            labels = tuple(places.get(label, -1) for label in feature.labels)
            attribute = 0 if feature.attribute is None else ids[feature.attribute]
            if attribute < 0 or min(labels) < 0 or len(labels) > order + 1:
                missing.append(feature)
            elif feature.attribute is None:
                if len(labels) == 2:
                    edges[labels] = True
                else:
                    ngrams.append((-1,) * (order + 1 - len(labels)) + labels)
            elif len(labels) == 1:
                state.append(attribute * L + labels[0])
            else:
                pairs.append((attribute * L + labels[0]) * L + labels[1])
        if len(missing) == len(self):
            raise InputError(
                f"none of the {len(self)} selected features has its attribute and labels in this data"
                + (f" (the first is {missing[0]})" if missing else "")
                + ": was it selected on data of the same kind, with the same template?"
            )
        if missing:
            warn(
                f"{len(missing):,} of {len(self):,} selected features do not occur in this data and are left "
                f"out: {', '.join(map(str, missing[:5]))}{', …' if len(missing) > 5 else ''}",
                InputWarning,
            )
        return FeatureIndex(
            L,
            *rows_of(_ascending(state), L, A),
            edges,
            unique_ngrams(np.array(ngrams, np.int32).reshape(-1, order + 1)),
            *(rows_of(_ascending(pairs), L * L, A) if pairs else ()),
        )

    def apply(self, X: Encoded) -> Encoded:
        """Return the sequences with only the selected attributes, including conjunctions."""
        wanted = self.attributes
        atoms = dict.fromkeys(atom for name in self.conjunctions for atom in self.conjunctions[name])
        small = Vocabulary([*(name for name in wanted if name not in self.conjunctions), *atoms])
        found = encode_input(X, small, None, grow=False)
        made = expand(Encoded(found, small), self.conjunctions)
        if not atoms:
            return made
        vocabulary = Vocabulary(wanted)
        return Encoded(encode_input(made, vocabulary, None, grow=False), vocabulary)

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a JSON file, one feature per line."""
        head = {"format": _FORMAT, "version": _VERSION, "made_by": self.made_by}
        parts = [json.dumps(head, ensure_ascii=False)[:-1]]
        made = [[name, list(atoms)] for name, atoms in self.conjunctions.items()]
        for name, rows in (("conjunctions", made), ("features", [_row(f) for f in self._features])):
            lines = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
            parts.append(f',\n"{name}": [\n{lines}\n]')
        with open_output(path) as file:
            file.write(("".join(parts) + "}\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Selection:
        """Read the selection from a file that ``save`` wrote."""
        name = source_name(path)
        with open_input(path) as file:
            content = file.read()
        try:
            record = json.loads(content)
        except ValueError as error:
            raise InputError(
                f"{name}: expected a selection (JSON), but it cannot be read: {error}"
            ) from error
        if not isinstance(record, dict) or record.get("format") != _FORMAT:
            raise InputError(f"{name}: expected a selection as Selection.save or `crfkit select` write it")
        if record.get("version") != _VERSION:
            raise InputError(
                f"{name}: version {record.get('version')!r} of the format, but this crfkit reads {_VERSION}"
            )
        try:
            features = [_feature(row) for row in record["features"]]
            conjunctions = {str(made): tuple(map(str, atoms)) for made, atoms in record["conjunctions"]}
            return cls(features, conjunctions, record["made_by"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{name}: the selection is malformed: {error}") from error

    @classmethod
    def of_index(cls, index: FeatureIndex, vocabulary: Vocabulary, classes: Sequence[Any]) -> Selection:
        """Return a selection of all features of a model."""
        names, L = vocabulary.strings(), index.n_labels
        found: list[tuple[str | None, tuple[int, ...]]] = []
        for run in (*np.argwhere(index.edges).tolist(), *index.ngrams.tolist()):
            found.append((None, tuple(label for label in run if label >= 0)))
        found += [(names[key // L**2], (key // L % L, key % L)) for key in index.pair_keys().tolist()]
        found += [(names[key // L], (key % L,)) for key in index.state_keys().tolist()]
        return cls(
            Feature(attribute, tuple(classes[i] for i in labels), 0, float("nan"))
            for attribute, labels in found
        )


def _ascending(keys: list[int]) -> IntArray:
    return np.sort(np.array(keys, dtype=np.int64))


def _row(feature: Feature) -> list[Any]:
    score = None if np.isnan(feature.score) else feature.score
    return [feature.attribute, list(feature.labels), feature.round, score]


def _feature(row: Any) -> Feature:
    attribute, labels, chosen, score = row
    kinds = (attribute is None and len(labels) in (2, 3)) or (
        isinstance(attribute, str) and len(labels) in (1, 2)
    )
    if not kinds or not all(isinstance(label, (str, int)) for label in labels):
        raise ValueError(f"not a feature: {row!r:.80}")
    return Feature(attribute, tuple(labels), int(chosen), float("nan") if score is None else float(score))
