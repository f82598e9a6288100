"""Attributes as lists of strings and dicts: what ``Features.transform`` returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from crfkit.data.vocabulary import Vocabulary
from crfkit.features.builder.algebra import Extractor, Vector
from crfkit.features.builder.compilation import compile_extractors, is_numeric
from crfkit.features.builder.own_functions import Pair, asked
from crfkit.features.builder.sources import Learnt
from crfkit.features.program import FeatureProgram
from crfkit.features.sentences import Block

Item = list[str] | dict[str, Any]


class ItemMaker:
    """Makes the attributes of extractors, block by block."""

    def __init__(self, extractors: Iterable[Extractor], learnt: Learnt, padding: bool) -> None:
        extractors = list(extractors)
        self.vectors = [e for e in extractors if isinstance(e, Vector)]  # stay vectors in dicts
        self.has_numbers = any(map(is_numeric, extractors))
        compiled = compile_extractors([e for e in extractors if e not in self.vectors], learnt, padding)
        self.own = compiled.own
        self.learnt = learnt
        self.program = FeatureProgram(compiled.code)
        self.computed = compiled.functions
        self.vocabulary = Vocabulary()
        self.names: list[str] = []  # [A]

    def items(self, block: Block, keep: frozenset[str] | None) -> list[list[Item]]:
        """Return the attributes of all positions, by sentence; of those without a number, only ``keep``."""
        texts, pairs = self._positions(block)
        if keep is not None:
            texts = [list(filter(keep.__contains__, position)) for position in texts]
        items: list[Item] = list(texts)
        for i, numbers in pairs.items():
            item: dict[str, Any] = dict.fromkeys(texts[i], 1.0)
            item.update(numbers)
            items[i] = item
        return [items[a:b] for a, b in zip(block.offsets, block.offsets[1:], strict=False)]

    def count(self, block: Block, counts: Counter[str]) -> None:
        """Count the positions of each attribute without a number."""
        for position in self._positions(block)[0]:
            counts.update(position)

    def attributes(self, block: Block) -> list[list[str | Pair]]:
        """Return the attributes at each position of a block; those with a number as pairs."""
        texts, pairs = self._positions(block)
        return [[*found, *pairs.get(i, ())] for i, found in enumerate(texts)]

    def _positions(self, block: Block) -> tuple[list[list[str]], dict[int, list[Pair]]]:
        """Return the attributes of each position [ΣT], and the names and values of those with numbers."""
        cells = self.program.read_block(block, self.computed)
        sequences, numeric = self.program.run(cells, self.vocabulary, grow=True, keep_zeros=True)
        self.names += self.vocabulary.strings(len(self.names))
        name, ids, ends = self.names, sequences.indices.tolist(), sequences.indptr.tolist()
        pairs: dict[int, list[Pair]] = {}
        if self.has_numbers:
            has_value = numeric.tolist()
            values = [1.0] * len(ids) if sequences.values is None else sequences.values.tolist()
            texts = []
            for t, (a, b) in enumerate(pairwise(ends)):
                texts.append([name[i] for i in ids[a:b] if not has_value[i]])
                pairs[t] = [(name[i], values[k]) for k, i in enumerate(ids[a:b], a) if has_value[i]]
            for vector in self.vectors:
                for t, found in enumerate(_shifted(vector, block, self.learnt)):
                    if found is not None:
                        pairs[t].append((vector.name, found))
        else:
            texts = [[name[i] for i in ids[a:b]] for a, b in pairwise(ends)]
        for own in self.own:
            answers = (answer for i in range(len(block.lengths)) for answer in asked(own, block, i))
            for t, (more_texts, more_pairs) in enumerate(answers):
                texts[t] += more_texts
                if more_pairs:
                    pairs.setdefault(t, []).extend(more_pairs)
        return texts, pairs


def _shifted(vector: Vector, block: Block, learnt: Learnt) -> list[Any]:
    """Return the vectors that an extractor sees from each position [ΣT]."""
    values = vector.chain.values(block, learnt)
    found: list[Any] = []
    for start, stop in zip(block.offsets, block.offsets[1:], strict=False):
        rows = (t + vector.offset for t in range(start, stop))
        found += [values[row] if start <= row < stop else None for row in rows]
    return found
