"""The negative log likelihood of a linear CRF, fused in the core: scores, chain and gradient in one pass.

    f(w) = -Σ_i weight_i · log p(y_i | x_i; w)

It computes the same value and gradient as ``objectives/likelihood.py``, but faster, as a function of the P
parameters that the data can distinguish: features that occur at the same positions share one parameter. With
``permitted`` label pairs, p(y | x) is a distribution over the permitted paths only. Layout, value and
gradient are native: native/linear/linear_objective.h.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import BoolArray, FloatArray, IdArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.data.training_data import check_label_count
from crfkit.exceptions import InputError
from crfkit.features.index import FeatureIndex
from crfkit.inference.permitted_pairs import PermittedPairs
from crfkit.objectives.linear_function import LinearFunction
from crfkit.objectives.units import AttributeSizes, by_feature
from crfkit.objectives.validation_sets import NativeSets, Spans
from crfkit.optim.online import Mistakes, UpdateRule
from crfkit.optim.problem import Evaluation, State, dot

_POSITIONS_PER_THREAD = 2000  # below this, starting a thread costs more than it saves
_MOST_LABELS_IN_PAIRS = 1 << 13
_NEIGHBOURS = 1 << 10  # sequences that are read together from disk
_SHUFFLED = 1 << 14  # sequences
_LARGEST_VALUE = 1e15  # largest attribute value: scores are summed in single precision


class LeftOut(NamedTuple):
    """Labels that Z does not sum over, and a linear function of the weights in place of their share of it."""

    likely: npt.NDArray[np.uint8]  # [ΣT, (L + 7) // 8] bits: the other labels
    slope: FloatArray  # by each feature's weight
    constant: float


class LinearLikelihood(LinearFunction):
    """The likelihood as a function of the P parameters that the data can distinguish."""

    def __init__(
        self,
        sequences: Sequences,
        labels: Labels,
        index: FeatureIndex,
        *,
        n_threads: int,
        weights: FloatArray | None = None,  # [N] of the sequences
        class_weights: FloatArray | None = None,  # [L]
        permitted: PermittedPairs | None = None,  # the paths that Z sums over
        c2: float = 0.0,  # the L2 penalty it will get, by which stochastic steps measure the variables
        as_given: bool = False,  # one parameter per feature, even if it does not occur
        apart: bool = False,  # the same, measured in units of the data
        left_out: LeftOut | None = None,  # labels that Z does not sum over
    ) -> None:
        check_values(sequences)
        if permitted is not None:
            permitted.require(labels, sequences.offsets, index.n_labels)
        check_label_count(index.n_labels)
        if index.has_pairs and index.n_labels > _MOST_LABELS_IN_PAIRS:
            raise InputError(
                f"attributes on label pairs need at most {_MOST_LABELS_IN_PAIRS} labels, got {index.n_labels}"
            )
        self._index = index
        self._has_class_weights = class_weights is not None
        # The parameters of growing data must not depend on what is not shown.
        self._sizes = None if as_given else AttributeSizes(sequences)
        self.n_examples = sequences.n_sequences  # N
        self.n_threads = max(1, min(n_threads, sequences.n_positions // _POSITIONS_PER_THREAD))
        blocks = min(self.n_threads, max(1, sequences.n_sequences))
        nodes = index.n_labels + int(index.edges.sum()) + len(index.ngrams)
        if left_out is None and not _native.ngrams_cost_less(index.n_labels, index.order, nodes):
            _check_memory(index, blocks)
        self._native = partial(
            _native.LinearObjective,
            sequences.offsets,
            sequences.indptr,
            sequences.indices,
            sequences.values,
            index.state_indptr,
            index.state_labels,
            labels.ids,
            None if labels.allowed is None else labels.allowed.view(np.uint8),
            weights,
            None if class_weights is None else np.log(class_weights).astype(np.float32),
            index.edges.ravel().view(np.uint8),
            index.ngrams,
            index.pair_indptr if index.has_pairs else None,
            index.pair_ids if index.has_pairs else None,
            None if permitted is None else permitted.kinds,
            None if permitted is None else permitted.tables.ravel().view(np.uint8),
            None if self._sizes is None else self._sizes.units(c2),
            None if left_out is None else left_out.likely,
            index.n_labels,
            self.n_threads,
            as_given or apart,
            sequences.home or "",
        )
        self.native = self._native()
        if self.native.in_tables:
            _check_memory(index, blocks)
        self._slope = None if left_out is None else self.parameters(left_out.slope)
        self._constant = 0.0 if left_out is None else left_out.constant
        self._near = sequences.home is not None

    def in_tables(self, what: str) -> _native.LinearObjective:
        """Return the core's objective with tables of all transitions, which ``what`` needs."""
        if self.native.in_tables:
            return self.native
        if self._index.order > 2:
            raise InputError(f"{what} needs order 1 or 2, got {self._index.order}")
        _check_memory(self._index, 1)
        return self._native(tables=True)

    @property
    def n_parameters(self) -> int:
        return self.native.n_parameters

    @property
    def done(self) -> float:
        """The share of the present pass over the data that is done, 0 .. 1; other threads may ask."""
        return self.native.done

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        """Return value, gradient and, if requested, an estimate of the Hessian's diagonal."""
        gradient = np.empty_like(x)
        hessian = np.empty_like(x) if diagonal else None
        loss = self.native.evaluate(x, gradient, None, hessian)
        if self._slope is not None:
            loss += self._constant + dot(self._slope, x)
            gradient += self._slope
        return Evaluation(loss, gradient, hessian)

    def part(self, examples: IdArray, free: BoolArray | None = None) -> LinearPart:
        """Return the likelihood of these sequences alone, as a function of the same parameters.

        Parameters that are not ``free`` [P] have the gradient 0: an optimiser that starts with 0 keeps them.
        """
        return LinearPart(self, np.ascontiguousarray(examples, np.int32), free)

    def units(self, c2: float) -> FloatArray | None:
        """Return the units [P] in which an optimiser should measure x under this penalty; None: all 1."""
        units = None if self._sizes is None else self._sizes.units(c2)
        if units is None:
            return None
        # The features of a parameter have one unit.
        return self.parameters(by_feature(units, self._index)) / self.roots()

    def validation_sets(self, spans: Spans, margin: float) -> NativeSets:
        return NativeSets(self.in_tables("training under validation constraints"), spans, margin)

    def roots(self) -> FloatArray:
        """Return √k of each parameter [P], where k features share it: their weights are x / √k."""
        roots = np.empty(self.n_parameters)
        self.native.penalty_scale(roots)
        return roots

    def show(self, positions: int) -> None:
        """Use only the first ``positions`` from now on; the sequence in which they end is cut off.

        The growing data is laid out once; each call evaluates a prefix of it. With ``as_given`` the
        parameters do not depend on the data that is not shown.
        """
        self.native.show(positions)

    def parameters(self, w: FloatArray) -> FloatArray:
        """Return the parameters [P] of feature weights; they give the same scores on the data."""
        theta = np.empty(self.n_parameters)
        self.native.from_features(w, theta)
        return theta

    def weights(self, x: FloatArray) -> FloatArray:
        """Return the feature weights of parameters, in the order of ``FeatureIndex.sizes``."""
        w = np.zeros(sum(self._index.sizes))
        self.native.to_features(x, w)
        return w

    # ---- steps on single sequences

    def order(self, random: np.random.Generator) -> IdArray:
        """Return the sequences in the random order of an epoch [N].

        From disk, single sequences would cost one access each. So groups of neighbours are taken in random
        order, and the sequences of a few groups at a time are shuffled.
        """
        if not self._near:
            return random.permutation(self.n_examples).astype(np.int32)
        groups = random.permutation(-(-self.n_examples // _NEIGHBOURS))
        found: IdArray = (groups[:, None] * _NEIGHBOURS + np.arange(_NEIGHBOURS)).ravel().astype(np.int32)
        found = found[found < self.n_examples]
        for start in range(0, self.n_examples, _SHUFFLED):
            random.shuffle(found[start : start + _SHUFFLED])
        return found

    def begin(self, x: FloatArray) -> None:
        self.native.begin_steps(x)

    def steps(self, examples: IdArray, step: float, t: float, l2: float) -> float:
        return self.native.run_steps(examples, step, l2, t)

    def end(self) -> FloatArray:
        x = np.empty(self.n_parameters)
        self.native.end_steps(x)
        return x

    # ---- learning from mistakes

    def learner(self, x: FloatArray, rule: UpdateRule) -> MistakeLearner:
        if self._has_class_weights:
            raise InputError(
                "class_weight works with the likelihood only: use algorithm='auto', or sample_weight instead"
            )
        return MistakeLearner(
            _native.MistakeLearner(self.in_tables("learning from mistakes"), x, **asdict(rule)),
            self.n_parameters,
        )


@dataclass(frozen=True)
class LinearPart:
    """The likelihood of some of the sequences, as a function of the parameters of all of them."""

    whole: LinearLikelihood
    examples: IdArray  # their numbers
    free: BoolArray | None  # [P] None: all

    @property
    def n_threads(self) -> int:
        return self.whole.n_threads

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        """Return value, gradient and, if requested, an estimate of the Hessian's diagonal."""
        gradient = np.empty_like(x)
        hessian = np.empty_like(x) if diagonal else None
        loss = self.whole.native.evaluate(x, gradient, self.examples, hessian)
        if self.free is not None:
            gradient *= self.free
        return Evaluation(loss, gradient, hessian)


@dataclass(frozen=True)
class MistakeLearner:
    """Parameters that learn from wrongly decoded sequences: native/online/mistake_learner.h."""

    native: _native.MistakeLearner
    n_parameters: int

    def run(self, examples: IdArray) -> Mistakes:
        return Mistakes(*self.native.run(examples))

    def skip(self, n: int) -> None:
        self.native.skip(n)

    def point(self) -> FloatArray:
        x = np.empty(self.n_parameters)
        self.native.store(x)
        return x

    def state(self) -> State:
        numbers = np.empty(self.native.state_size)
        return {"turn": self.native.state(numbers), "numbers": numbers}

    def restore(self, state: State) -> None:
        self.native.restore(state["numbers"], state["turn"])


def _check_memory(index: FeatureIndex, n_threads: int) -> None:
    """Raise if tables of transitions and of label pairs need more memory than the machine has.

    Everything else grows with the data and its features alone: long sequences are computed in pieces.
    """
    L, order = index.n_labels, index.order
    rows = L**order * ((L + 7) // 8 * 8)  # entries of a table of transitions, padded
    shared = 56 * rows  # weights, observed and expected transitions; exponentials in two precisions
    own = 16 * rows + (40 * L * L if index.has_pairs else 0)  # of a thread: sums, and scores of a position
    needed, memory = shared + n_threads * own, physical_memory()
    if memory is None or needed <= memory:
        return
    advice = "order=1 or " if order == 2 else "no edge_attributes or " if index.has_pairs else ""
    fewer = f", or n_jobs=1, which needs {(shared + own) / 1e9:.3g} GB" if n_threads > 1 else ""
    raise InputError(
        f"training with {L:,} labels{' in order 2' if order == 2 else ''} on {n_threads} threads needs "
        f"{needed / 1e9:.3g} GB for tables of transitions, but this machine has {memory / 1e9:.3g} GB: use "
        f"{advice}fewer labels{fewer}"
    )


def physical_memory() -> int | None:
    """Return the bytes of memory that the machine has; None if it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def check_values(sequences: Sequences) -> None:
    """Raise if the value of an attribute is too large to train on."""
    if sequences.values is None:
        return
    for part in sequences.entry_pieces():
        values = sequences.values[part]
        worst = int(np.abs(values).argmax())
        if abs(values[worst]) <= _LARGEST_VALUE:
            continue
        t = int(np.searchsorted(sequences.indptr, part.start + worst, side="right")) - 1
        sequence, position = sequences.place(t)
        raise InputError(
            f"sequence {sequence}, position {position}: the value {values[worst]:g} is too large to train on "
            f"(at most {_LARGEST_VALUE:g}); scale this feature"
        )
