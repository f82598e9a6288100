"""What learns from the labels: a linear-chain CRF that is fitted anew on everything labelled so far.

Without an earlier model, each fit starts from the weights of the fit before. An earlier model, whose training
data is not at hand, is continued on everything labelled so far: its weights are held as firmly as its data
held them (``models/linear/partial_training.py``). Each time it is the earlier model that is continued. To
continue the continued model with every few sentences is worse: what one step loses, the next cannot regain.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from crfkit.annotate.tag_set import Label
from crfkit.arrays import FloatArray
from crfkit.data.columns import Columns
from crfkit.exceptions import InputError, NoPathError
from crfkit.inference import Constraints, entropy, scheme_constraints
from crfkit.models.linear.crf import CRF
from crfkit.models.linear.tagger import LinearTagger

C2 = 0.1  # that of CRF: the model is trained after every answer, so nothing is searched


class Proposal(NamedTuple):
    """The labels that a model proposes for a sentence, and their probabilities."""

    labels: list[str]
    probabilities: list[float]


class Learner:
    """Fits models. ``scheme`` is that of the labels (None: plain): proposals are legal in it."""

    def __init__(self, crf: CRF, scheme: str | None) -> None:
        self._earlier: LinearTagger | None = getattr(crf, "tagger_", None)
        self._scheme = scheme
        self._crf: CRF = copy.copy(crf)
        warm = self._earlier is None
        self._crf.set_params(c2=C2, tol=1e-4, algorithm="auto", verbose=False, warm_start=warm)
        self._newest = None if self._earlier is None else self._with_constraints(self._earlier)

    @property
    def has_model(self) -> bool:
        """Whether there is a model, given or fitted."""
        return self._newest is not None

    @property
    def model(self) -> CRF:
        """The estimator with the newest model."""
        return self._crf

    def fit(self, x: Columns, y: Sequence[Sequence[Label]]) -> bool:
        """Fit on everything labelled so far; return whether there was anything to learn from."""
        some = [i for i, labels in enumerate(y) if any(label is not None for label in labels)]
        if not some:
            return False
        crf = copy.copy(self._crf)
        if len(some) < len(y):
            x, y = x.subset(some), [y[i] for i in some]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of few data, which is as it should be
            if self._earlier is None:
                crf.fit(x, y)
            else:
                crf.tagger_ = self._earlier
                crf.partial_fit(x, y)
        self._crf, self._newest = crf, self._with_constraints(crf.tagger_)
        return True

    def uncertainty(self, x: Columns) -> FloatArray:
        """Return the entropy of the distribution over the labellings of each sentence [N], in nats."""
        tagger, _ = self._fitted()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a sentence may have no known attribute
            found = [entropy(piece.lattice, n_jobs=tagger.n_jobs) for piece in tagger.pieces(x)]
        return np.maximum(np.concatenate(found), 0.0) if found else np.zeros(0)

    def propose(self, x: Columns) -> Proposal:
        """Return the labels of the only sentence of ``x``."""
        tagger, legal = self._fitted()
        try:
            decoded = tagger.decode(tagger.scored_under(x, legal).lattice, with_marginals=True)
        except NoPathError:  # for example, one token in IOBES, while no S- was labelled so far
            decoded = tagger.decode(tagger.scored(x).lattice, with_marginals=True)
        if decoded.marginals is None:
            raise InputError("the model gives no probabilities")
        sure = decoded.marginals[np.arange(len(decoded.labels)), decoded.labels]
        return Proposal([str(tagger.classes[label]) for label in decoded.labels], sure.tolist())

    def _fitted(self) -> tuple[LinearTagger, Constraints | None]:
        if self._newest is None:
            raise InputError("there is no model yet: label a few sentences first")
        return self._newest

    def _with_constraints(self, tagger: LinearTagger) -> tuple[LinearTagger, Constraints | None]:
        """Return a model with the constraints that make proposals legal; None if it has no legal labels."""
        if self._scheme is None:
            return tagger, None
        try:
            return tagger, scheme_constraints(tagger.classes, self._scheme, unusable="forbid")
        except InputError:  # for example, only I-PER was labelled so far
            return tagger, None


def new_model(extractor: Any, n_jobs: int | None) -> CRF:
    """Return an estimator that has learnt nothing yet; ``extractor`` makes attributes of rows."""
    return CRF(extractor=extractor, n_jobs=n_jobs)
