"""The tagger for programs that are deployed: opens a model file and labels one sequence per call.

It is native from end to end (``native/tagger``) and loads no NumPy. It never changes after it was opened, so
any number of threads may share one. For many sequences at once, ``CRF.load(path)`` and ``predict`` are
faster: they use all cores.
"""

from __future__ import annotations

import os

from crfkit import _native
from crfkit.exceptions import InputError
from crfkit.log import inform

TYPE_CHECKING = False  # importing it from typing would double the time to start
if TYPE_CHECKING:
    from typing import Any

_MAPPED_FROM = 64 << 20  # bytes; larger files are mapped, so that processes share their pages

Analysis = _native.Analysis


class Tagger(_native.Tagger):
    """A model that labels one sequence per call; threads may share it.

    Parameters
    ----------
    source : a path, or the bytes of a model file, of crfkit, CRFsuite, Wapiti or CRF++. A damaged file raises
        ``ModelFileError``. Models of kernels, which may be Python functions, and of segments are slower: they
        need NumPy.

    Attributes
    ----------
    labels : list
        The labels of the model.
    format : str
        The format of the file: "crfkit", "crfsuite", "wapiti" or "crf++".
    takes_tokens : bool
        Whether the model makes attributes itself, from tokens or rows.

    ``tag(items)`` takes items as in training: a dict or a list of attributes per position; rows of values for
    a tree model. ``tag_tokens(tokens)`` takes tokens, or rows of cells, for models that were trained with an
    extractor or a template. Both return one label per position. ``analyse(items)`` and
    ``analyse_tokens(tokens)`` return the scores of the sequence, which answer questions about probabilities
    and other labellings.

    >>> from crfkit import CRF
    >>> from crfkit.features import token_features
    >>> crf = CRF(extractor=token_features).fit([["12", "Main", "St."]], [["number", "street", "street"]])
    >>> crf.save("addresses.crfkit")
    >>> tagger = Tagger("addresses.crfkit")
    >>> tagger.tag_tokens(["7", "Main", "St."])
    ['number', 'street', 'street']
    """

    def __init__(self, source: str | os.PathLike[str] | bytes) -> None:
        content, name = _content(source)
        self._source = source
        try:
            super().__init__(content, name)
        except InputError:  # a model of kernels or segments; every other fault is a ModelFileError
            import crfkit

            self._model = crfkit.load(source).tagger_
            self.__class__ = _PythonTagger
        inform("models", "opened %s (%s)", name, self.format)

    def __reduce__(self) -> tuple[type[Tagger], tuple[Any]]:
        return type(self), (self._source,)

    def __repr__(self) -> str:
        return f"<Tagger of a {self.format} model with {len(self.labels)} labels>"


class _PythonTagger(Tagger):
    """The same with a model that only Python can use. The native part of the object stays empty."""

    @property
    def labels(self) -> list[Any]:
        return list(self._model.classes)

    @property
    def format(self) -> str:
        return "crfkit"

    @property
    def takes_tokens(self) -> bool:
        return self.n_columns is not None

    @property
    def n_columns(self) -> int | None:
        return self._model.n_columns if hasattr(self._model, "encoder") else None

    def tag(self, items: Any) -> list[Any]:
        """Return the labels of a sequence of items."""
        labels: list[Any] = self.analyse(items).labels()
        return labels

    def analyse(self, items: Any) -> Any:
        """Return the scores of a sequence of items, for questions about probabilities."""
        return self._model.analyse(items)

    def tag_tokens(self, tokens: Any) -> list[Any]:
        """Return the labels of a sequence of tokens, or rows of cells."""
        labels: list[Any] = self.analyse_tokens(tokens).labels()
        return labels

    def analyse_tokens(self, tokens: Any) -> Any:
        """Return the scores of a sequence of tokens, or rows of cells."""
        if not self.takes_tokens:
            raise InputError(
                f"the model is a {self._model.in_files} that makes no attributes from tokens: use tag(items)"
            )
        return self.analyse([[one] if isinstance(one, str) else one for one in tokens])


def open_native(path: str | os.PathLike[str]) -> _native.Tagger:
    """Return the native tagger of a model file alone; raise ``InputError`` for models that need Python."""
    return _native.Tagger(*_content(path))


def c_folder() -> str:
    """Return the folder with ``include/crfkit.h`` and ``lib/``, for programs in C; see docs/tagger.md."""
    return os.path.dirname(str(_native.__file__))


def _content(source: Any) -> tuple[Any, str]:
    """Return the bytes of a model file, as an object with a buffer, and its name for messages."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "<bytes>"
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(
            f"a model is a path or the bytes of a file, got {type(source).__name__} {source!r:.60}"
        )
    name = str(os.fspath(source))
    with open(source, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size < _MAPPED_FROM:
            return file.readall(), name
        import mmap

        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), name
