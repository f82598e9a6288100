"""The common part of the estimators: prediction and files, in scikit-learn's conventions.

The ``fit`` of a subclass sets ``tagger_`` to a :class:`crfkit.models.fitted_model.FittedModel`.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray
from crfkit.conventions import BaseEstimator, check_is_fitted
from crfkit.data.labels import cut_labels, label_lists
from crfkit.data.tokenizer import tokenize
from crfkit.data.training_data import cut_as, sequence_weights
from crfkit.exceptions import InputError
from crfkit.inference import Constraints
from crfkit.io.model_file import Source
from crfkit.io.shown_estimator import ShownEstimator
from crfkit.io.shown_list import ShownList
from crfkit.models.calibration import Calibration
from crfkit.models.data_frames import TakesFrames
from crfkit.models.fitted_facts import fitted_facts
from crfkit.models.fitted_model import FittedModel
from crfkit.models.plots import Plots
from crfkit.models.results import PredictedSegment, TextSpan
from crfkit.models.training_record import TrainingRecord
from crfkit.upper_floors import upstairs

if TYPE_CHECKING:
    from crfkit.inference.lattice import ScoredSequences
    from crfkit.models.explanation import ExplainedSequences, Reasons

Fitted = TypeVar("Fitted", bound=FittedModel)
_Self = TypeVar("_Self", bound="SequenceLabeller[Any]")


class SequenceLabeller(TakesFrames, Plots, ShownEstimator, BaseEstimator, Generic[Fitted]):
    """An estimator that labels sequences with the ``tagger_`` that ``fit`` has set."""

    _tagger: type[Fitted]
    n_jobs: int | None
    tagger_: Fitted
    classes_: list[Any]
    objective_: float
    converged_: bool
    history_: list[dict[str, Any]]
    n_iter_: int

    def _fitted(self) -> Fitted:
        check_is_fitted(self, "tagger_")
        self.tagger_.n_jobs = self.n_jobs
        return self.tagger_

    def _facts(self) -> dict[str, str]:
        return fitted_facts(self) if hasattr(self, "tagger_") else {}

    # ---- prediction

    def predict(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> Any:
        """Return the labels of each sequence: a list of lists.

        It is the most probable label sequence, unless the estimator's parameter ``decode`` says otherwise.
        ``constraints`` (:class:`crfkit.inference.Constraints`) forbid labels and transitions; ``known``
        gives labels that are certain: one list per sequence, with None where a label is free. A model that
        was trained on a data frame takes another one and returns a column of labels for its rows.
        """
        X, lengths, rows = self._given(X, lengths)
        found = self._fitted().predict(X, lengths=lengths, constraints=constraints, known=known)
        return found if rows is None else rows.aligned(found)

    def predict_posterior(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> Any:
        """Return the labels with the fewest expected errors: the most probable label of each position.

        With constraints on transitions, it is the permitted labelling with the fewest expected errors.
        """
        X, lengths, rows = self._given(X, lengths)
        found = self._fitted().predict_posterior(X, lengths=lengths, constraints=constraints, known=known)
        return found if rows is None else rows.aligned(found)

    def predict_marginals(
        self,
        X: Any,
        *,
        as_arrays: bool = False,
        lengths: Any = None,
        constraints: Constraints | None = None,
        known: Any = None,
    ) -> list[list[dict[Any, float]]] | list[FloatArray]:
        """Return p(y_t = l | x): one dict per position, or one array [T, L] per sequence (``as_arrays``)."""
        X, lengths, _ = self._given(X, lengths)
        tagger = self._fitted()
        ask = tagger.marginal_arrays if as_arrays else tagger.predict_marginals
        return ask(X, lengths=lengths, constraints=constraints, known=known)

    def predict_nbest(
        self,
        X: Any,
        k: int = 5,
        *,
        lengths: Any = None,
        constraints: Constraints | None = None,
        known: Any = None,
        log: bool = False,
    ) -> list[list[tuple[list[Any], float]]]:
        """Return for each sequence the k most probable labellings with their probabilities, best first.

        ``log=True`` gives log probabilities: the probability of a long labelling can be too small for a float
        and is then 0.
        """
        X, lengths, _ = self._given(X, lengths)
        return self._fitted().predict_nbest(
            X, k, lengths=lengths, constraints=constraints, known=known, log=log
        )

    def predict_segments(
        self,
        X: Any,
        *,
        scheme: str | None = None,
        min_probability: float = 0.0,
        lengths: Any = None,
        constraints: Constraints | None = None,
        known: Any = None,
    ) -> list[list[PredictedSegment]]:
        """Return for each sequence the segments of its predicted labels: (start, stop, type, probability).

        The probability is that of all labellings with exactly this segment. Labels such as ``B-LOC`` are
        read by conlleval's rules or those of a ``scheme``; if no label has a tag, or with ``scheme="runs"``,
        segments are runs of one label other than ``O``. Segments below ``min_probability`` are left out.
        """
        X, lengths, _ = self._given(X, lengths)
        return self._fitted().predict_segments(
            X,
            scheme=scheme,
            min_probability=min_probability,
            lengths=lengths,
            constraints=constraints,
            known=known,
        )

    def tag_text(self, text: str, *, min_probability: float = 0.0) -> list[TextSpan]:
        """Return the labelled spans of a plain text: (start, end, label, text, probability).

        The text is split by :func:`crfkit.data.tokenize`. The model must make its attributes from tokens: it
        has an extractor or a template.
        """
        fitted = self._fitted()
        tokens = tokenize(text)
        if fitted.n_columns != 1:
            raise InputError(
                "tag_text needs a model that makes its attributes from tokens, such as "
                "CRF(extractor=token_features); this one takes "
                + ("attributes" if fitted.n_columns is None else f"{fitted.n_columns} columns")
            )
        if not tokens:
            return ShownList()
        rows = self._of_tokens([token.text for token in tokens])
        (found,) = fitted.predict_segments(rows, min_probability=min_probability)
        places = [(tokens[s.start].start, tokens[s.stop - 1].end, s) for s in found]
        return ShownList(TextSpan(a, b, s.type, text[a:b], s.probability) for a, b, s in places)

    def calibrate(
        self: _Self,
        X: Any,
        y: Any = None,
        method: str | None = "temperature",
        *,
        scheme: str | None = None,
        lengths: Any = None,
    ) -> _Self:
        """Calibrate the probabilities of the fitted model on held-out data, and return the model.

        "temperature" divides all scores by one number; probabilities of labels, segments and labellings stay
        consistent. "isotonic" maps the probabilities of labels and of segments by one rising function each;
        those of labellings do not change. None removes the calibration. Predicted labels do not change.
        Each call replaces the calibration before; ``fit`` removes it, and model files keep it.
        """
        from crfkit.models.calibrating import fit_calibration

        X, y, lengths = self._labelled(X, y, lengths)
        tagger = self._fitted()
        tagger.calibration = fit_calibration(tagger, X, y, method, scheme=scheme, lengths=lengths)
        return self

    def explain(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> ExplainedSequences:
        """Explain the predicted labels: return the evidence for each label and against the next best.

        There is one :class:`~crfkit.models.explanation.Decision` per position, with the label, its rival,
        both probabilities, and the reasons, which add up to the log odds: weights of attributes and
        transitions in a linear model; features at places of the window in trees; training positions, with
        their kernel K to the position, in a kernel CRF.
        """
        from crfkit.models.explanation import ExplainedSequences, explained

        X, lengths, _ = self._given(X, lengths)
        tagger, found = self._fitted(), ExplainedSequences()
        for lattice, reasons in self._reasoned(X, lengths, constraints, known):
            found += explained(tagger, lattice, reasons)
        return found.with_tokens(X)

    def report(
        self, X: Any, y: Any = None, path: str | os.PathLike[str] | None = None, **options: Any
    ) -> Any:
        """Return an HTML report of the fitted model on labelled data; write it to ``path`` if one is given.

        It shows how good the model is, where it errs and why, and what it has learnt, in one file without
        links out. A notebook shows the result, and its ``save(path)`` writes it. Needs Jinja2:
        ``pip install 'crfkit[report]'``.

        Parameters
        ----------
        X, y : labelled data that the model was not trained on. A data frame has its labels: leave out y.
        path : a file, written completely or not at all.
        lengths : of the sequences, if X is one table with the rows of all.
        words : the text of each position, one list per sequence; by default found in X.
        X_train, y_train : training data: for a learning curve (of five models), and to tell new words.
        compare : another fitted model, which takes the same X.
        title : of the page.
        scheme : of the labels; by default told by their tags. Plain labels are scored position by position.
        sentences : how many sequences with mistakes the page has at most (default: 150).
        resamples, random_state : of the 95 % intervals (defaults: 1000 and 0).
        """
        return upstairs("report")(self, X, y, path, **options)

    @property
    def calibration_(self) -> Calibration:
        """What is done to the probabilities of the model."""
        return self._fitted().calibration

    def score(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None, *, lengths: Any = None
    ) -> float:
        """Return the share of positions labelled as in y (token accuracy), weighted by ``sample_weight``.

        Only positions with exactly one label count. Positions with None or a set of labels are left out, and
        so are sequences whose labels are None. A data frame has its labels in a column: leave out y.
        """
        from crfkit.metrics import token_accuracy

        X, y, lengths = self._labelled(X, y, lengths)
        if isinstance(y, Iterable) and not isinstance(y, (str, bytes, Mapping)):
            y = list(cut_labels(y, lengths))
            if not any(labels is None for labels in y):
                lengths = cut_as(X, label_lists(y), lengths)
        found = self.predict(X, lengths=lengths)
        y, found = _with_one_label(y, found)
        weights = sequence_weights(sample_weight, len(found))
        if weights is None:
            return float(token_accuracy(y, found))
        kept = [i for i, labels in enumerate(found) if labels or len(y[i])]
        scores = np.array([token_accuracy(y[i : i + 1], found[i : i + 1]) for i in kept])
        positions = weights[kept] * np.array([len(found[i]) for i in kept])
        if not positions.any():
            raise InputError("no tokens to score: all sequences with a weight are empty")
        return float(scores @ positions / positions.sum())

    # ---- files

    def save(
        self,
        path: str | os.PathLike[str] | IO[bytes],
        *,
        record: Mapping[str, Any] | None = None,
        compact: bool = False,
        drop_below: float = 0.0,
    ) -> None:
        """Write the fitted model to a file (see docs/model-file.md), atomically.

        ``record`` is added to the file's header: JSON values under names that the header does not use. With
        ``compact``, the file of a linear model is five to ten times as small: weights have 16 bits, and
        features of weight 0, or of weights smaller than ``drop_below``, attributes without features and the
        training history are left out.
        """
        if drop_below and not compact:
            raise InputError("drop_below needs compact=True")
        fitted = self._fitted()
        header = {**(record or {}), **self._training_record(), **self._frame_record()}
        fitted.save(path, header, compact=compact, drop_below=drop_below)

    @classmethod
    def load(
        cls: type[_Self], source: Source, *, n_jobs: int | None = None, mmap: bool | None = None
    ) -> _Self:
        """Load a model from a path, from bytes, or from a binary file object.

        A file at a path is read into memory, or mapped if it has 64 MB or more; ``mmap=True`` or ``False``
        decides for any size. A mapped file may be replaced, but must not be overwritten.

        Parameters that a file cannot hold, such as functions and the miner of association rules, get their
        defaults. ``CRF`` also loads models of CRFsuite, Wapiti and CRF++. Their training is unknown: all
        parameters get their defaults, ``objective_`` is NaN and ``history_`` is empty.
        """
        tagger, header = cls._read(source, n_jobs, mmap)
        model = cls(**{**cls._parameters_of(tagger, header), "n_jobs": n_jobs})
        model.tagger_, model.classes_ = tagger, tagger.classes
        model._restore(header)
        model._restore_frame(header)
        return model

    # Methods that subclasses override:

    @abstractmethod
    def _reasoned(
        self, X: Any, lengths: Any, constraints: Constraints | None, known: Any
    ) -> Iterator[tuple[ScoredSequences, Reasons]]:
        """Yield the scores of X in pieces, with constraints applied, and the reasons for their labels."""

    @classmethod
    def _read(cls, source: Source, n_jobs: int | None, mmap: bool | None) -> tuple[Fitted, dict[str, Any]]:
        """Return the tagger in a file, and the file's header."""
        return cls._tagger.load(source, n_jobs, mmap=mmap)

    def _training_record(self) -> dict[str, Any]:
        """Return the training record for the file's header: JSON values."""
        record = TrainingRecord(self.get_params(deep=False), self.objective_, self.converged_, self.history_)
        return record.to_header()

    @classmethod
    def _parameters_of(cls, tagger: Fitted, header: Mapping[str, Any]) -> dict[str, Any]:
        """Return the known parameters that the model in a file was trained with."""
        params, known = TrainingRecord.from_header(header).params, set(cls._get_param_names())
        return {name: value for name, value in params.items() if name in known}

    def _restore(self, header: Mapping[str, Any]) -> None:
        """Restore the training record from a file's header."""
        record = TrainingRecord.from_header(header)
        self.objective_, self.converged_ = record.objective, record.converged
        self.history_ = ShownList(record.history)
        self.n_iter_ = len(record.history)


def _with_one_label(y: Any, found: list[list[Any]]) -> tuple[list[Any], list[list[Any]]]:
    """Return y and the predicted labels, without the positions at which y does not have exactly one label."""
    if isinstance(y, list) and len(y) == len(found):
        y = [[None] * len(own) if labels is None else labels for labels, own in zip(y, found, strict=True)]
    true = label_lists(y)
    several = (set, frozenset, list, tuple)
    known = [[not (label is None or isinstance(label, several)) for label in labels] for labels in true]
    fits = list(map(len, true)) == list(map(len, found))  # if not, the metric raises the error
    if not fits or all(map(all, known)):
        return list(true), found
    pairs = list(zip(true, found, known, strict=True))
    return [list(compress(a, mask)) for a, _, mask in pairs], [
        list(compress(b, mask)) for _, b, mask in pairs
    ]
