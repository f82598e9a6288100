"""What makes the attributes of a model's X, in the form in which a model keeps it.

``CRF(extractor=…)`` takes :func:`~crfkit.features.token_features`, a :class:`~crfkit.features.Features`, or a
function of the sentence. The first two are compiled into a feature program, which training runs and which the
model file holds. What only Python can do (functions, regular expressions) stays in Python: the file says what
is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from crfkit.arrays import BoolArray
from crfkit.data.encode import encode
from crfkit.data.reading import is_frame
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, ModelFileError
from crfkit.features.program import FeatureProgram
from crfkit.features.sentences import Key
from crfkit.features.tokens import TokenFeatures, token_features
from crfkit.warn import warn

IN_HEADER = "extractor"  # the record in the header of a model file
IN_ARRAYS = "extractor.program"  # the program, bytes


class Extraction(ABC):
    """What makes attributes of sentences, ready to use."""

    written: str  # the Python expression that made it

    @property
    def in_python(self) -> list[str]:
        """What a model file cannot hold, because only Python can do it."""
        return []

    @property
    def n_columns(self) -> int | None:
        """How many columns a table of cells must have; None if it cannot be used with tables."""
        return None

    @abstractmethod
    def encode(
        self, X: Any, vocabulary: Vocabulary, *, grow: bool, lengths: Any = None, n_jobs: int | None = None
    ) -> Sequences:
        """Make the attributes of sentences X, as ids of the vocabulary; ``grow`` adds new ones to it."""

    def to_record(self) -> dict[str, Any]:
        """Return the record in the header of a model file."""
        record: dict[str, Any] = {"written": self.written}
        return {**record, "in_python": self.in_python} if self.in_python else record

    def __repr__(self) -> str:
        return f"<extractor of a model: {self.written}>"

    def __deepcopy__(self, memo: Any) -> Extraction:
        return self  # it never changes


@dataclass(frozen=True, repr=False)
class ProgramExtraction(Extraction):
    """A feature program, and the Python functions for what it cannot do itself."""

    program: FeatureProgram
    written: str
    compiled: Any = None  # a builder.compilation.Compiled, if something is done in Python
    sequence_column: Key | None = None
    kept: frozenset[str] | None = None  # of the attributes without a value, only these
    closed: bool = False  # no attributes but those of the vocabulary are made
    learnt: tuple[Any, ...] = ()  # what fit has learnt, if something is done in Python

    @property
    def in_python(self) -> list[str]:
        return [] if self.compiled is None else self.compiled.in_python

    @property
    def n_columns(self) -> int | None:
        keys = [one.key for one in self.program.inputs if not one.computed]
        numbers = [key + 1 if key >= 0 else -key for key in keys if isinstance(key, int)]
        return max([len(keys) - len(numbers), *numbers], default=0)

    def encode(
        self, X: Any, vocabulary: Vocabulary, *, grow: bool, lengths: Any = None, n_jobs: int | None = None
    ) -> Sequences:
        if self.compiled is not None and self.compiled.own and isinstance(X, Iterator):
            X = list(X)  # it is read twice
        column = self.sequence_column
        if column is not None and is_frame(X):
            lengths = None  # the column says where sequences end
        elif column is not None and lengths is not None:
            column = None
        functions = [] if self.compiled is None else self.compiled.functions
        cells = self.program.read(X, lengths, column, functions)
        if grow and (self.kept is not None or self.closed):
            all_names = Vocabulary()
            sequences, numeric = self.program.run(cells, all_names, grow=True, n_jobs=n_jobs)
            sequences = self._filtered(sequences, all_names, numeric, vocabulary)
        else:
            sequences = self.program.run(cells, vocabulary, grow=grow, n_jobs=n_jobs).sequences
        if self.compiled is not None and self.compiled.own:
            sequences = self._with_own(X, sequences, vocabulary, grow, lengths, column)
        return sequences

    def _filtered(
        self, sequences: Sequences, names: Vocabulary, numeric: BoolArray, vocabulary: Vocabulary
    ) -> Sequences:
        """Return only the kept attributes and those with values, as ids of the vocabulary, which grows."""
        strings = names.strings()
        if self.kept is not None:
            kept = np.fromiter((name in self.kept for name in strings), np.bool_, len(strings))
        else:
            kept = vocabulary.lookup(strings) >= 0
        kept |= numeric
        ids = np.full(len(strings), -1, np.int32)  # [A of names]
        ids[kept] = vocabulary.add([name for name, keep in zip(strings, kept.tolist(), strict=True) if keep])
        left = sequences.only(kept[sequences.indices])
        return replace(left, indices=ids[left.indices], n_attributes=len(vocabulary))

    def _with_own(
        self,
        X: Any,
        sequences: Sequences,
        vocabulary: Vocabulary,
        grow: bool,
        lengths: Any,
        column: Key | None,
    ) -> Sequences:
        """Add the attributes that functions of the user make."""
        from crfkit.features.builder.own_functions import own_items

        items = own_items(self.compiled.own, X, lengths, column, self.kept)
        more = encode(items, vocabulary, grow=grow and not (self.closed and self.kept is None))
        joined = sequences.with_entries(more.indptr, more.indices, more.values)
        return replace(joined, n_attributes=len(vocabulary))

    def to_record(self) -> dict[str, Any]:
        record = super().to_record()
        if self.closed:
            record["closed"] = True
        if self.sequence_column is not None:
            record["sequence_column"] = self.sequence_column
        if self.in_python and self.learnt:
            record["learnt"] = [list(one) for one in self.learnt]
        return record


@dataclass(frozen=True, repr=False)
class FunctionExtraction(Extraction):
    """A function of the user's that makes the items of a sentence."""

    function: Callable[[Any], Any]

    @property
    def written(self) -> str:  # type: ignore[override]
        return _name_of(self.function)

    @property
    def in_python(self) -> list[str]:
        return [self.written]

    def encode(
        self, X: Any, vocabulary: Vocabulary, *, grow: bool, lengths: Any = None, n_jobs: int | None = None
    ) -> Sequences:
        if lengths is not None or isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__iter__"):
            raise InputError(
                f"X must be a list of sentences, for the extractor {self.written}, got {type(X).__name__}"
            )
        return encode(map(self._items, enumerate(X)), vocabulary, grow=grow)  # one sentence at a time

    def _items(self, numbered: tuple[int, Any]) -> Any:
        i, sentence = numbered
        try:
            return self.function(sentence)
        except Exception as error:
            raise InputError(
                f"sequence {i}: the extractor {self.written} failed: {type(error).__name__}: {error}"
            ) from error


@dataclass(frozen=True, repr=False)
class LostExtraction(Extraction):
    """An extractor that a model file could not hold."""

    record: Mapping[str, Any]

    @property
    def written(self) -> str:  # type: ignore[override]
        return str(self.record["written"])

    @property
    def in_python(self) -> list[str]:
        return list(self.record["in_python"])

    def encode(
        self, X: Any, vocabulary: Vocabulary, *, grow: bool, lengths: Any = None, n_jobs: int | None = None
    ) -> Sequences:
        raise InputError(self.explanation)

    @property
    def explanation(self) -> str:
        """What is missing, and what to do."""
        return (
            f"the model's features need Python code that a file cannot hold ({', '.join(self.in_python)}): "
            "pass the extractor again, CRF.load(path, extractor=…)"
        )

    def to_record(self) -> dict[str, Any]:
        return dict(self.record)


def learn_extraction(extractor: Any, X: Any, lengths: Any = None) -> Extraction | None:
    """Return what an estimator's extractor is after learning from the sentences X."""
    if extractor is None or isinstance(extractor, Extraction):
        return extractor
    if callable(extractor) and not isinstance(extractor, type):
        return _of_function(extractor)
    features = _builder(extractor).__sklearn_clone__()
    if features.sequence_column is not None and is_frame(X):
        lengths = None
    return of_features(features.fit(X, lengths=lengths))


def fitted_extraction(extractor: Any, record: Mapping[str, Any] | None = None) -> Extraction | None:
    """Return an extractor that is given for a model in a file; ``record`` is the one that the file has."""
    if extractor is None or isinstance(extractor, Extraction):
        return extractor
    if callable(extractor) and not isinstance(extractor, type):
        return _of_function(extractor)
    features = _builder(extractor)
    known = {} if record is None else record
    if known.get("closed"):  # the model's vocabulary says which attributes are frequent enough
        features = copy(features).set_params(min_count=1)
    learnt = known.get("learnt")
    if learnt is not None:
        features = features.with_learnt(learnt)
    return replace(of_features(features), closed=bool(known.get("closed")))


def of_features(features: Any) -> ProgramExtraction:
    """Return the compiled form of a fitted ``Features``."""
    compiled, kept, learnt = features.compiled()
    return ProgramExtraction(
        FeatureProgram(compiled.code),
        repr(features),
        compiled if compiled.in_python else None,
        features.sequence_column,
        kept,
        kept is not None,
        learnt,
    )


def extraction_of_file(record: Any, program: bytes | None) -> Extraction | None:
    """Return the extractor in a model file: its record in the header, and its program."""
    if record is None:
        return None
    column = record.get("sequence_column") if isinstance(record, dict) else None
    if (
        not isinstance(record, dict)
        or not isinstance(record.get("written"), str)
        or not isinstance(column, (str, int, type(None)))
    ):
        raise ModelFileError("its extractor is malformed")
    needs = record.get("in_python")
    if needs is not None:
        if not isinstance(needs, list) or not all(isinstance(each, str) for each in needs):
            raise ModelFileError("its extractor is malformed")
        return LostExtraction(record)
    if program is None:
        raise ModelFileError("its extractor lacks the program")
    made = FeatureProgram(program, stored=True)
    made.inputs  # noqa: B018  # raises if it is damaged
    return ProgramExtraction(made, record["written"], None, column, None, record.get("closed") is True)


def warn_of_losses(extraction: Extraction | None) -> None:
    """Warn if a model file cannot hold all of an extractor."""
    if extraction is not None and extraction.in_python:
        warn(
            "the model file cannot hold Python code, which these features need: "
            f"{', '.join(extraction.in_python)}; to use the file, pass the extractor again: "
            "CRF.load(path, extractor=…)",
        )


def _of_function(function: Callable[[Any], Any]) -> Extraction:
    if function is token_features:
        function = TokenFeatures()
    if isinstance(function, partial) and function.func is token_features and not function.args:
        function = TokenFeatures(**function.keywords)
    if isinstance(function, TokenFeatures):
        return ProgramExtraction(FeatureProgram(function.program()), repr(function))
    return FunctionExtraction(function)


def _builder(extractor: Any) -> Any:
    from crfkit.features.builder import Features

    if not isinstance(extractor, Features):
        raise InputError(
            "extractor must be crfkit.features.token_features, a crfkit.features.Features or a function of a "
            f"sentence, got {type(extractor).__name__} {extractor!r:.60}"
        )
    return extractor


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def is_extractor(value: Any) -> bool:
    """Tell whether a value can be the parameter ``extractor`` of an estimator."""
    return value is None or callable(value) or isinstance(value, Extraction) or hasattr(value, "compiled")
