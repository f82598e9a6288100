"""The table of association rules, by columns; it can be sorted, filtered, saved and exported.

A rule X → l says that where all items of X are observed, the label is l. Further columns are its support (the
positions with X and l), its coverage (those with X), and the label that the single items of X vote for
(docs/associations.md).
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import IO, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.sequences import gather
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, ModelFileError
from crfkit.io.csv_data import protected
from crfkit.io.model_file import Source, read_model, write_model
from crfkit.io.writing import open_output
from crfkit.optional import needed

RULES_KIND = "association rules"  # in the header of their file
_JOINT = " & "
_PER_RULE = {"labels": np.int32, "support": np.int32, "coverage": np.int32, "rivals": np.int32}
_PER_RULE |= {"margins": np.int64, "fixes": np.int32}  # type: ignore[dict-item]


class Rule(NamedTuple):
    """One rule: where all items are observed, the label is ``label``."""

    items: tuple[str, ...]  # sorted
    label: Any
    support: int  # positions with the items and the label
    confidence: float  # their share of the positions with the items
    rival: Any  # the other label with the most votes of the single items; None if there is none
    margin: int  # its votes minus those for the label: above 0, it outvotes the label
    fixes: int | None  # positions of the support where a model was wrong; None if there was no model

    def __str__(self) -> str:
        return f"{_JOINT.join(self.items)} → {self.label}"


@dataclass(frozen=True, eq=False, repr=False)
class Rules:
    """R rules, as columns. ``rules[i]`` is a :class:`Rule`; ``rules[a:b]`` and ``rules[mask]`` are Rules."""

    vocabulary: Vocabulary  # names of the items
    classes: list[Any]  # labels
    n_positions: int  # labelled positions that they were mined from
    class_counts: IntArray  # [L] positions with each label
    first: IntArray  # [R+1] rule r has the items first[r] .. first[r+1]-1
    items: IdArray  # ids in the vocabulary, ascending within a rule
    labels: IdArray  # [R] places in classes
    support: IdArray  # [R]
    coverage: IdArray  # [R]
    rivals: IdArray  # [R] places in classes, -1: none
    margins: IntArray  # [R]
    fixes: IdArray | None = None  # [R]

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Rule]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice | npt.NDArray[Any]) -> Rules: ...
    def __getitem__(self, index: int | slice | npt.NDArray[Any]) -> Rule | Rules:
        if isinstance(index, (slice, np.ndarray)):
            return self._chosen(np.arange(len(self))[index])
        r = range(len(self))[index]
        return Rule(
            tuple(sorted(self.vocabulary.strings(i, i + 1)[0] for i in self._items_of(r))),
            self.classes[self.labels[r]],
            int(self.support[r]),
            float(self.support[r] / self.coverage[r]),
            None if self.rivals[r] < 0 else self.classes[self.rivals[r]],
            int(self.margins[r]),
            None if self.fixes is None else int(self.fixes[r]),
        )

    def __repr__(self) -> str:
        return f"<{len(self):,} association rules from {self.n_positions:,} positions>"

    def _repr_html_(self) -> str:
        from crfkit.mining.listing import rules_table  # which uses this class

        return rules_table(self).html()

    @property
    def lengths(self) -> IntArray:
        """The number of items of each rule, [R]."""
        return np.diff(self.first)

    @property
    def confidence(self) -> FloatArray:
        """Support / coverage, [R]."""
        return self.support / self.coverage

    @property
    def log_p(self) -> FloatArray:
        """Natural logarithm of each rule's p-value [R]: Fisher's exact test of its items and its label.

        The probability that at least ``support`` of ``coverage`` positions drawn from all have the label,
        not corrected for the number of rules tested.
        """
        stats = needed("scipy.stats", "the significance of rules")
        asked = np.stack([self.labels, self.support, self.coverage])  # [3, R]
        distinct, place = np.unique(asked, axis=1, return_inverse=True)
        label, support, coverage = distinct
        log_p = stats.hypergeom.logsf(support - 1, self.n_positions, self.class_counts[label], coverage)
        found: FloatArray = np.minimum(log_p, 0.0)[place.ravel()]
        return found

    def sorted(self, by: str = "support", *, ascending: bool = False) -> Rules:
        """Return the rules sorted by a column; the sort is stable.

        ``by``: support, confidence, coverage, margin, length, fixes, or significance (least p-value first).
        """
        columns: dict[str, Callable[[], npt.NDArray[Any]]] = {
            "support": lambda: self.support,
            "confidence": lambda: self.confidence,
            "coverage": lambda: self.coverage,
            "margin": lambda: self.margins,
            "length": lambda: self.lengths,
            "significance": lambda: -self.log_p,
            "fixes": self._fixes,
        }
        if by not in columns:
            raise InputError(f"rules are sorted by one of {', '.join(columns)}; got {by!r}")
        column = np.asarray(columns[by](), np.float64)
        return self[np.argsort(column if ascending else -column, kind="stable")]

    def where(self, *, label: Any = None, item: str | None = None) -> Rules:
        """Return the rules for a label, or with an item, or both."""
        kept = np.ones(len(self), np.bool_)
        if label is not None:
            kept &= self.labels == self._label_id(label)
        if item is not None:
            (found,) = self.vocabulary.lookup([item])
            if found < 0:
                raise InputError(f"no rule has the item {item!r}; items look like {self._some_items()}")
            kept &= np.add.reduceat(np.append(self.items == found, False), self.first[:-1]) > 0
        return self[kept]

    def over(self, classes: list[Any]) -> tuple[Rules, BoolArray]:
        """Return the rules for these labels, over their places, and a mask of these rules, [R]."""
        if classes == self.classes:
            return self, np.ones(len(self), np.bool_)
        place = {label: i for i, label in enumerate(classes)}
        ids = np.array([*(place.get(label, -1) for label in self.classes), -1], np.int32)  # the last: none
        counts = np.zeros(len(classes), np.int64)
        known = ids[:-1] >= 0
        counts[ids[:-1][known]] = self.class_counts[known]
        kept = ids[self.labels] >= 0
        chosen = self[kept]
        return (
            replace(
                chosen,
                classes=list(classes),
                class_counts=counts,
                labels=ids[chosen.labels],
                rivals=ids[chosen.rivals],
            ),
            kept,
        )

    def names(self) -> list[str]:
        """Return every rule as a string, ``item & item → label``, [R]."""
        items = self.vocabulary.strings()
        ids, bounds = self.items.tolist(), self.first.tolist()
        heads = [f" → {label}" for label in self.classes]
        joined = [_JOINT.join(sorted([items[i] for i in ids[a:b]])) for a, b in pairwise(bounds)]
        return [lhs + heads[label] for lhs, label in zip(joined, self.labels.tolist(), strict=True)]

    # ---- files

    def save(self, path: str | os.PathLike[str], *, record: Mapping[str, Any] | None = None) -> None:
        """Write the table to a file of crfkit's own (docs/model-file.md), atomically.

        ``record`` is added to the file's header: JSON values under further names.
        """
        write_model(path, {**(record or {}), "model": RULES_KIND, **self.header()}, self.to_arrays())

    @classmethod
    def load(cls, source: Source, *, mmap: bool | None = None) -> Rules:
        """Read the table from a file that ``save`` wrote; ``mmap`` as in ``crfkit.io.read_model``."""
        header, arrays = read_model(source, mmap=mmap)
        if header.get("model") != RULES_KIND:
            raise ModelFileError(
                f"expected {RULES_KIND}, as Rules.save writes them; got {header.get('model')!r}"
            )
        return cls.from_arrays(header, arrays)

    def header(self) -> dict[str, Any]:
        """Return everything except the arrays, as JSON values."""
        return {"classes": self.classes, "n_positions": self.n_positions}

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns, with a vocabulary of the items that occur in them."""
        used, places = np.unique(self.items, return_inverse=True)
        names = self.vocabulary.strings()
        kept = Vocabulary([names[i] for i in used.tolist()])
        arrays = {f"items.{name}": array for name, array in kept.to_arrays().items()}
        arrays |= {"first": self.first, "items": places.ravel().astype(np.int32)}
        arrays |= {"class_counts": self.class_counts}
        return arrays | {name: getattr(self, name) for name in _PER_RULE if getattr(self, name) is not None}

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Rules:
        """Make the table from ``header`` and ``to_arrays``; raise ModelFileError if they are malformed."""
        prefix = "items."
        vocabulary = Vocabulary.from_arrays(
            {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}
        )
        return checked_rules(vocabulary, header.get("classes"), header.get("n_positions"), arrays)

    def to_csv(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> None:
        """Write a CSV file with a header and one line per rule; ``-`` is standard output.

        With ``spreadsheet_safe``, an apostrophe is put before texts that spreadsheets take for formulas.
        """
        with open_output(path) as file:
            writer = csv.writer(_Text(file), lineterminator="\n")
            writer.writerow(["items", "label", "support", "confidence", "rival", "margin", *self._more()])
            for rule in self.rows():
                *row, fixes = rule
                row[0] = _JOINT.join(rule.items)
                if spreadsheet_safe:
                    row = [protected(cell) if isinstance(cell, str) else cell for cell in row]
                writer.writerow([*row, *([] if fixes is None else [fixes])])

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON list with one object per line; ``-`` is standard output."""
        with open_output(path) as file:
            file.write(b"[")
            for i, rule in enumerate(self.rows()):
                record = rule._asdict()
                if rule.fixes is None:
                    del record["fixes"]
                file.write((",\n" if i else "\n").encode() + json.dumps(record, ensure_ascii=False).encode())
            file.write(b"\n]\n")

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, one row per rule."""
        frame = needed("pandas", "to_frame").DataFrame(self.rows(), columns=Rule._fields)
        return frame if self.fixes is not None else frame.drop(columns="fixes")

    # ---- inside

    def rows(self) -> Iterator[Rule]:
        """Yield all rules, faster than by index."""
        items = self.vocabulary.strings()
        ids, bounds = self.items.tolist(), self.first.tolist()
        classes: list[Any] = [*self.classes, None]  # a rival of -1 is the last one
        fixes: Sequence[int | None] = [None] * len(self) if self.fixes is None else self.fixes.tolist()
        columns = zip(
            self.labels.tolist(),
            self.support.tolist(),
            self.confidence.tolist(),
            self.rivals.tolist(),
            self.margins.tolist(),
            fixes,
            strict=True,
        )
        for r, (label, support, confidence, rival, margin, fixed) in enumerate(columns):
            lhs = tuple(sorted([items[i] for i in ids[bounds[r] : bounds[r + 1]]]))
            yield Rule(lhs, classes[label], support, confidence, classes[rival], margin, fixed)

    def _more(self) -> list[str]:
        return [] if self.fixes is None else ["fixes"]

    def _chosen(self, chosen: IntArray) -> Rules:
        first, places = gather(self.first, chosen)
        cut: dict[str, Any] = {name: getattr(self, name) for name in _PER_RULE}
        cut = {name: None if column is None else column[chosen] for name, column in cut.items()}
        return replace(self, first=first, items=self.items[places], **cut)

    def _items_of(self, r: int) -> list[int]:
        found: list[int] = self.items[self.first[r] : self.first[r + 1]].tolist()
        return found

    def _label_id(self, label: Any) -> int:
        if label not in self.classes:
            shown = ", ".join(map(repr, self.classes[:10])) + (", …" if len(self.classes) > 10 else "")
            raise InputError(f"label {label!r} is not among the {len(self.classes)} known ones: {shown}")
        return self.classes.index(label)

    def _some_items(self) -> str:
        names = [repr(self.vocabulary.strings(i, i + 1)[0]) for i in self.items[:2].tolist()]
        return ", ".join(names) or "nothing: there are no rules"

    def _fixes(self) -> IdArray:
        if self.fixes is None:
            raise InputError("the rules have no fixes: mine with fit(X, y, y_pred=…), a model's predictions")
        return self.fixes


def checked_rules(
    vocabulary: Vocabulary, classes: Any, n_positions: Any, arrays: dict[str, npt.NDArray[Any]]
) -> Rules:
    """Make rules from the arrays of a file, after checking them."""
    names = {field.name for field in fields(Rules)}
    columns = {name: array for name, array in arrays.items() if name in names}
    expected = {"first": np.int64, "items": np.int32, "class_counts": np.int64, **_PER_RULE}
    sound = isinstance(classes, list) and bool(classes) and isinstance(n_positions, int)
    sound = (
        sound
        and all(name in columns or name == "fixes" for name in expected)
        and all(array.dtype == expected[name] and array.ndim == 1 for name, array in columns.items())
    )
    if sound:
        first, items, n_rules = columns["first"], columns["items"], len(columns["labels"])
        sound = (
            len(first) == n_rules + 1
            and first[0] == 0
            and first[-1] == len(items)
            and bool((np.diff(first) > 0).all())
            and _within(items, 0, len(vocabulary))
            and _within(columns["labels"], 0, len(classes))
            and _within(columns["rivals"], -1, len(classes))
            and len(columns["class_counts"]) == len(classes)
            and all(len(columns[name]) == n_rules for name in _PER_RULE if name in columns)
            and _within(columns["support"], 1, 1 << 31)
            and bool((columns["coverage"] >= columns["support"]).all())
        )
    if not sound:
        raise ModelFileError("the association rules of the file do not fit together; it is damaged")
    return Rules(vocabulary, classes, n_positions, **columns)


def _within(ids: npt.NDArray[Any], low: int, end: int) -> bool:
    return not len(ids) or (int(ids.min()) >= low and int(ids.max()) < end)


class _Text:
    """An adapter for the csv module to write to a binary file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        self._file.write(text.encode())
