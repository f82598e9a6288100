"""``Features``: a set of extractors as a scikit-learn transformer.

It follows scikit-learn's conventions (fit, transform, get_params, clone, pickle) without inheriting from its
classes, so that importing it stays light.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Any

from crfkit.exceptions import InputError
from crfkit.features.builder.algebra import Extractor
from crfkit.features.builder.compilation import Compiled, compile_extractors
from crfkit.features.builder.explanation import Explanation, shown
from crfkit.features.builder.items import Item, ItemMaker
from crfkit.features.builder.plan import learners, plan
from crfkit.features.builder.sources import Learnt
from crfkit.features.sentences import Key, read_blocks
from crfkit.optional import needed

_USUAL = {"padding": True, "min_count": 1, "sequence_column": None}  # parameters besides the extractors


class Features:
    """A transformer that makes attributes for every position of every sentence, as ``CRF.fit`` takes them.

    Parameters
    ----------
    *extractors
        Extractors made from columns (see :func:`column`), or functions ``f(sentence, t)``. Repeated ones
        count once.
    padding
        Whether neighbours outside of the sentence make attributes: their text is ``<s>`` before the first
        token, ``<s2>`` before that, and ``</s>``, ``</s2>`` after the last. Flags and numbers never do.
    min_count
        Attributes seen at fewer positions than this in ``fit`` are left out. Numbers always stay.
    sequence_column
        For a single data frame: the column with the sequence of each row.

    ``fit`` is only needed with ``min_count`` above 1, ``standardised()`` or ``binned(n)``.

    Examples
    --------
    >>> from crfkit.features import Features, column
    >>> word = column(0, "w")
    >>> Features(word.window(-1, 0), word.suffix(2), padding=False).transform([["The", "cat"]])
    [[['w=The', 'w.suffix2=he'], ['w[-1]=The', 'w=cat', 'w.suffix2=at']]]
    """

    def __init__(
        self,
        *extractors: Any,
        padding: bool = True,
        min_count: int = 1,
        sequence_column: Key | None = None,
    ) -> None:
        self.extractors = extractors
        self.padding = padding
        self.min_count = min_count
        self.sequence_column = sequence_column
        plan(extractors)  # so that a wrong extractor is reported where it is written

    # ---- from sentences to attributes

    def fit(self, X: Any, y: Any = None, *, lengths: Any = None) -> Features:
        """Learn means, bins and the frequent attributes from sentences X."""
        extractors = self._checked()
        if isinstance(X, Iterator):
            X = list(X)  # it may be read more than once
        learnt: Learnt = {}
        for learner in learners(extractors):
            numbers: list[float] = []
            for block in read_blocks(X, lengths, self.sequence_column):
                numbers += [x for x in learner.numbers(block, learnt) if x is not None]
            learnt[learner] = learner.learn(numbers)
        if self.min_count > 1:
            counts: Counter[str] = Counter()
            maker = ItemMaker(extractors, learnt, bool(self.padding))
            for block in read_blocks(X, lengths, self.sequence_column):
                maker.count(block, counts)
            self.vocabulary_ = frozenset(name for name, n in counts.items() if n >= self.min_count)
        self.learnt_ = learnt
        return self

    def transform(self, X: Any, *, lengths: Any = None) -> list[list[Item]]:
        """Return the attributes of all positions: lists of strings, or dicts if there are numbers.

        X is a list of sentences. A sentence is a list of tokens, of rows, of dicts or of objects; a data
        frame; a dict of columns; or an array [T, columns]. Or X is a single data frame, array or list of rows
        and ``lengths`` says how many rows each sentence has.
        """
        return list(self.stream(X, lengths=lengths))

    def fit_transform(self, X: Any, y: Any = None, *, lengths: Any = None) -> list[list[Item]]:
        """Fit to X and transform it."""
        if isinstance(X, Iterator):
            X = list(X)
        return self.fit(X, y, lengths=lengths).transform(X, lengths=lengths)

    def stream(self, X: Any, *, lengths: Any = None) -> Iterator[list[Item]]:
        """Yield the result of ``transform`` one sentence at a time: for data larger than memory."""
        extractors, keep = self._fitted()
        maker = ItemMaker(extractors, self._learnt, bool(self.padding))
        for block in read_blocks(X, lengths, self.sequence_column):
            yield from maker.items(block, keep)

    def _checked(self) -> list[Extractor]:
        if isinstance(self.min_count, bool) or not isinstance(self.min_count, int) or self.min_count < 1:
            raise InputError(f"min_count must be a whole number of 1 or more, got {self.min_count!r}")
        return plan(self.extractors)

    def _fitted(self) -> tuple[list[Extractor], frozenset[str] | None]:
        """Return the extractors, and which attributes to keep."""
        extractors = self._checked()
        if not self._has_learnt(extractors):
            from crfkit.conventions import NotFittedError

            raise NotFittedError(
                "this Features is not fitted yet, and it has something to learn (min_count, standardised() "
                "or binned(n)): call fit first"
            )
        return extractors, self.vocabulary_ if self.min_count > 1 else None

    @property
    def _learnt(self) -> Learnt:
        return getattr(self, "learnt_", {})

    def _has_learnt(self, extractors: list[Extractor]) -> bool:
        return all(learner in self._learnt for learner in learners(extractors)) and (
            self.min_count <= 1 or hasattr(self, "vocabulary_")
        )

    def compiled(self) -> tuple[Compiled, frozenset[str] | None, tuple[Any, ...]]:
        """Return the feature program, which attributes to keep, and what ``fit`` has learnt, in order."""
        extractors, keep = self._fitted()
        learnt = tuple(self._learnt[learner] for learner in learners(extractors))
        return compile_extractors(extractors, self._learnt, bool(self.padding)), keep, learnt

    def with_learnt(self, learnt: Any) -> Features:
        """Return the same features, fitted with what ``compiled`` has returned."""
        expected = learners(plan(self.extractors))
        if not isinstance(learnt, (list, tuple)) or len(learnt) != len(expected):
            raise InputError("the extractor learns other things than the one that the model was trained with")
        fitted = self.__sklearn_clone__()
        fitted.learnt_ = {
            learner: tuple(map(float, one)) for learner, one in zip(expected, learnt, strict=True)
        }
        return fitted

    # ---- display

    @property
    def names(self) -> list[str]:
        """The names of the attributes: ``w[-1]=`` has a value, ``bias`` has none, ``v:`` continues."""
        return [extractor.head for extractor in plan(self.extractors)]

    def explain(self, sentence: Any) -> Explanation:
        """Return a table of one sentence's attributes: one row per extractor, one column per position."""
        extractors, keep = self._fitted()
        makers = [ItemMaker([extractor], self._learnt, bool(self.padding)) for extractor in extractors]
        cells: list[list[str]] = [[] for _ in extractors]
        for block in read_blocks([sentence]):
            for extractor, maker, row in zip(extractors, makers, cells, strict=True):
                for made in maker.attributes(block):
                    kept = (a for a in made if keep is None or isinstance(a, tuple) or a in keep)
                    row.append(", ".join(shown(a, extractor.name) for a in kept))
        return Explanation([extractor.name for extractor in extractors], cells)

    def __repr__(self) -> str:
        changed = [f"{k}={getattr(self, k)!r}" for k, usual in _USUAL.items() if getattr(self, k) != usual]
        arguments = [*map(_written, self.extractors), *changed]
        line = f"Features({', '.join(arguments)})"
        if len(line) <= 88:
            return line
        return "Features(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"

    def _repr_html_(self) -> str:
        rows = []
        for extractor in self.extractors:
            names = ", ".join(f"<code>{escape(name)}</code>" for name in Features(extractor).names)
            rows.append(f"<tr><td style='text-align:left'><code>{escape(_written(extractor))}</code></td>")
            rows.append(f"<td style='text-align:left'>{names}</td></tr>")
        head = "<thead><tr><th>made of</th><th>attributes</th></tr></thead>"
        return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"

    # ---- scikit-learn's protocol

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``extractors`` is one of them."""
        return {"extractors": self.extractors, **{name: getattr(self, name) for name in _USUAL}}

    def set_params(self, **parameters: Any) -> Features:
        """Change parameters; ``extractors`` takes a list of extractors."""
        for name, value in parameters.items():
            if name not in ("extractors", *_USUAL):
                raise InputError(
                    f"Invalid parameter {name!r} for Features: there are extractors, {', '.join(_USUAL)}"
                )
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Features:
        parameters = self.get_params()
        return type(self)(*parameters.pop("extractors"), **parameters)

    def __sklearn_is_fitted__(self) -> bool:
        return self._has_learnt(plan(self.extractors))

    def __sklearn_tags__(self) -> Any:
        sklearn = needed("sklearn.utils", "__sklearn_tags__")
        return sklearn.Tags(
            estimator_type="transformer",
            target_tags=sklearn.TargetTags(required=False),
            transformer_tags=sklearn.TransformerTags(),
            input_tags=sklearn.InputTags(two_d_array=False, string=True),
            requires_fit=self.min_count > 1 or bool(learners(plan(self.extractors))),
        )


def _written(extractor: Any) -> str:
    return getattr(extractor, "__qualname__", None) or repr(extractor)
