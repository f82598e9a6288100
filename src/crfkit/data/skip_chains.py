"""Skip-chains: documents as graphs in which equal capitalised words are linked.

Sutton and McCallum, "Collective segmentation and labeling of distant entities in information extraction"
(2004): a name that is hard to label in one sentence may be easy in another one of the same document.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from crfkit.data.graphs import Graph
from crfkit.data.reading import listed
from crfkit.exceptions import InputError

NEXT, SAME = "next", "same"  # types of edges


def capitalised(word: str) -> bool:
    """Tell whether a word begins with a capital letter."""
    return word[:1].isupper()


def skip_chain(
    sentences: Any,
    items: Any = None,
    *,
    linked: Callable[[str], bool] = capitalised,
    pairs: str = "all",
) -> Graph:
    """Return a document as a graph: neighbouring words, and equal words wherever they are, have edges.

    ``sentences`` are lists of words. ``items`` are the features of the words, in the forms of a chain's X;
    by default every word is its own attribute. Words for which ``linked`` is true are linked with the same
    word elsewhere in the document: all pairs of them, or with ``pairs="next"`` each with the next one. The
    types of edges are "next" and "same". Labels of the graph are those of all sentences, end to end.

    >>> from crfkit import skip_chain
    >>> skip_chain([["Speaker", "Smith"], ["Smith", "is", "here"]])
    <Graph: 5 nodes, 4 edges of the types next, same>
    """
    if pairs not in ("all", "next"):
        raise InputError(f"pairs must be 'all' or 'next', got {pairs!r}")

    rows = _lists(sentences, "sentences", "sentence {}", "words")
    given = rows if items is None else _lists(items, "items", "items of sentence {}", "features")
    if [len(own) for own in given] != [len(words) for words in rows]:
        raise InputError("items must have the sentences of the document, one item per word")
    edges, types = [], []
    places: defaultdict[str, list[int]] = defaultdict(list)
    start = 0
    for i, words in enumerate(rows):
        for t, word in enumerate(words):
            if not isinstance(word, str):
                raise InputError(f"sentence {i}, word {t}: expected a string, got {type(word).__name__}")
            if linked(word):
                places[word].append(start + t)
        neighbours = list(pairwise(range(start, start + len(words))))
        edges += neighbours
        types += [NEXT] * len(neighbours)
        start += len(words)
    there = set(edges)
    for same in places.values():
        for pair in _pairs(same, pairs):
            if pair not in there:
                edges.append(pair)
                types.append(SAME)
    nodes = [item for own in given for item in own]
    return Graph(nodes, np.array(edges, np.int64).reshape(-1, 2), edge_types=types)


def _lists(given: Any, name: str, where: str, of: str) -> list[list[Any]]:
    """Return a list of lists; raise for anything else."""
    outer = listed(given, name, f"lists of {of}, one per sentence")
    return [list(listed(own, where.format(i), of)) for i, own in enumerate(outer)]


def _pairs(places: Sequence[int], pairs: str) -> list[tuple[int, int]]:
    return list(pairwise(places) if pairs == "next" else combinations(places, 2))
