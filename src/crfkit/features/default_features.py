"""The features of a table if none are given.

A column is words, such as tokens and lemmas, or classes, such as parts of speech: see ``word_columns``.
Of words: the word, the word in small letters, its shape, beginnings, endings and end marks, the words around
it, and pairs of neighbours. Of classes: each of the five around the position, and all pairs and triples of
neighbours; together with the word in the middle.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from crfkit.exceptions import InputError
from crfkit.features.builder import Features, bias, column, first, last
from crfkit.features.builder.algebra import Extractor, Group
from crfkit.features.builder.extractors import Text
from crfkit.features.sentences import Key

_WORDS_PER_WORD = 0.5


def word_columns(n_distinct: Sequence[int], numeric: Collection[int] = ()) -> list[int]:
    """Return which columns are words: the first, and those with at least half as many different values.

    ``n_distinct`` is the number of different values of each column, [K]. ``numeric`` columns, which hold only
    numbers, are no words, unless all columns are numeric.
    """
    texts = [k for k in range(len(n_distinct)) if k not in numeric] or list(range(len(n_distinct)))
    return [k for k in texts if n_distinct[k] >= _WORDS_PER_WORD * n_distinct[texts[0]]]


def default_features(
    words: Sequence[Key], classes: Sequence[Key] = (), names: Mapping[Key, str] | None = None
) -> Features:
    """Return the features for these columns of words and of classes, by number or by name.

    ``names`` has their names in attributes; by default w, or w0, w1, … for words and c1, … for classes.

    >>> default_features([0]).transform([[["Main"], ["St."]]])[0][1][:4]
    ['bias', 'w=St.', 'w.lower=st.', 'w.short_shape=Xx.']
    """
    if not words and not classes:
        raise InputError("default_features needs at least one column")
    names = names or {
        key: key if isinstance(key, str) else "w" if len(words) == 1 and letter == "w" else f"{letter}{key}"
        for letter, keys in (("w", words), ("c", classes))
        for key in keys
    }
    parts: list[Extractor | Group] = [bias()]
    for key in words:
        parts += _of_words(column(key, names[key]))
    for key in classes:
        of_class = column(key, names[key])
        parts += [of_class.window(-2, 2), of_class.ngrams(2, -2, 2), of_class.ngrams(3, -2, 2)]
    return Features(*parts, first(), last())


def _of_words(word: Text) -> list[Extractor | Group]:
    lower, shape = word.lower(), word.short_shape()
    bare = lower.strip("[.,;:]", "bare")
    return [
        word,
        lower,
        shape,
        bare,
        bare.prefixes(1, 3),
        bare.suffixes(1, 4),
        word.shape(),
        word.tail("[.,;:]", "marks"),
        *(track[offset] for offset in (-2, -1, 1, 2) for track in (lower, shape)),
        lower.ngrams(2, -1, 1),
    ]
