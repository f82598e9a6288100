"""The penalised negative log likelihood of a linear CRF, as the optimisers want it.

    f(w) = -Σ_i weight_i · log p(y_i | x_i; w) + c2 · ‖w - w₀‖²

to which the optimiser adds c1 · ‖w - w₀‖₁.

w₀ = 0, except where training continues from an earlier model. With ``permitted`` label pairs p(y | x) is
a distribution over the permitted paths alone. The value, the gradient and the features that
share a parameter are native: native/linear/linear_objective.h.
"""

from __future__ import annotations

import copy

import numpy as np

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.exceptions import InputError
from crfkit.features.index import FeatureIndex
from crfkit.inference.permitted_pairs import PermittedPairs
from crfkit.optim.problem import Evaluation, dot
from crfkit.potentials.linear import LinearWeights

_POSITIONS_PER_THREAD = 2000  # below this, starting a thread costs more than it saves
_MOST_LABELS = 1 << 15
_MOST_LABELS_IN_PAIRS = 1 << 13
_LARGEST_VALUE = 1e15  # of an attribute: scores are summed in single precision


class LinearLikelihood:
    """The objective as a function of the P parameters that the data can tell apart."""

    def __init__(
        self,
        sequences: Sequences,
        labels: Labels,
        index: FeatureIndex,
        *,
        c2: float,
        n_threads: int,
        weights: FloatArray | None = None,  # [N] one a sequence
        class_weights: FloatArray | None = None,  # [L]
        centre: LinearWeights | None = None,  # w₀
        permitted: PermittedPairs | None = None,  # the paths that Z sums over
        as_given: bool = False,  # one parameter a feature, in their order, whether it occurs or not
    ) -> None:
        _check_values(sequences)
        if permitted is not None:
            permitted.require(labels, sequences.offsets, index.n_labels)
        if index.n_labels > _MOST_LABELS:
            raise InputError(f"at most {_MOST_LABELS} labels are possible, got {index.n_labels}")
        if index.pair_indptr is not None and index.n_labels > _MOST_LABELS_IN_PAIRS:
            raise InputError(
                f"attributes on label pairs need at most {_MOST_LABELS_IN_PAIRS} labels, got {index.n_labels}"
            )
        self._index = index
        self._c2 = c2
        self._n_sequences = sequences.n_sequences
        self.n_threads = max(1, min(n_threads, sequences.n_positions // _POSITIONS_PER_THREAD))
        self._native = _native.LinearObjective(
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
            None if index.edges2 is None else index.edges2.ravel().view(np.uint8),
            index.pair_indptr,
            index.pair_ids,
            None if permitted is None else permitted.kinds,
            None if permitted is None else permitted.tables.ravel().view(np.uint8),
            index.n_labels,
            self.n_threads,
            as_given,
        )
        self._centre = None if centre is None else self.parameters(centre)
        self._kept = centre

    @property
    def n_parameters(self) -> int:
        """P."""
        return self._native.n_parameters

    def show(self, positions: int) -> None:
        """Only the first positions count from now on; the sequence they end in is cut off.

        What grows is laid out once and shown bit by bit. With ``as_given`` nothing depends on what is not
        shown.
        """
        self._native.show(positions)

    def l1(self, c1: float) -> FloatArray | None:
        """The weight of each parameter in c1 · ‖w‖₁ [P]; None where c1 is 0."""
        if c1 == 0:
            return None
        scale = np.empty(self.n_parameters)
        self._native.penalty_scale(scale)
        return c1 * scale

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        """At parameters w₀ + x."""
        gradient = np.empty_like(x)
        hessian = np.empty_like(x) if diagonal else None
        loss = self._native.evaluate(self.whole(x), gradient, None, hessian)
        gradient += 2 * self._c2 * x
        if hessian is not None:
            hessian += 2 * self._c2
        return Evaluation(loss + self._c2 * dot(x, x), gradient, hessian)

    def with_penalty(self, c2: float) -> LinearLikelihood:
        """The same with another c2; both share the data in the core."""
        other = copy.copy(self)
        other._c2 = c2
        return other

    @property
    def native(self) -> _native.LinearObjective:
        """The objective in the core, for constraints over the same data and parameters."""
        return self._native

    def whole(self, x: FloatArray) -> FloatArray:
        """The parameters themselves, w₀ + x."""
        return x if self._centre is None else x + self._centre

    @property
    def continues(self) -> bool:
        """Whether w₀ comes from an earlier model."""
        return self._centre is not None

    @property
    def n_examples(self) -> int:
        """N, for stochastic steps."""
        return self._n_sequences

    def begin(self, x: FloatArray) -> None:
        """Stochastic steps start at x. (They know no w₀.)"""
        self._native.begin_steps(x)

    def steps(self, examples: IdArray, step: float, t: float) -> float:
        """One step an example, of size step / (1 + step·t·2·c2/N), t counting on; the loss on the way."""
        return self._native.run_steps(examples, step, self._c2, t)

    def end(self) -> FloatArray:
        """Where the steps have led."""
        x = np.empty(self.n_parameters)
        self._native.end_steps(x)
        return x

    def parameters(self, weights: LinearWeights) -> FloatArray:
        """Feature weights as parameters [P]; scores on the data stay what they are."""
        theta = np.empty(self.n_parameters)
        edge2 = None if weights.edge2 is None else weights.edge2.ravel()
        self._native.from_features(weights.state, weights.edge.ravel(), edge2, weights.pair, theta)
        return theta

    def weights(self, x: FloatArray) -> LinearWeights:
        """Feature weights of the parameters w₀ + x. Features that do not occur in the data keep w₀'s."""
        L = self._index.n_labels
        state = np.empty(len(self._index.state_labels))
        edge = np.zeros(L * L)
        edge2 = None if self._index.edges2 is None else np.zeros(L**3)
        pair = None if self._index.pair_ids is None else np.empty(len(self._index.pair_ids))
        self._native.to_features(x, state, edge, edge2, pair)
        kept = self._kept
        if kept is not None:
            state += kept.state
            edge += kept.edge.ravel()
            if edge2 is not None and kept.edge2 is not None:
                edge2 += kept.edge2.ravel()
            if pair is not None and kept.pair is not None:
                pair += kept.pair
        return LinearWeights(
            state, edge.reshape(L, L), None if edge2 is None else edge2.reshape(L, L, L), pair
        )


def _check_values(sequences: Sequences) -> None:
    if sequences.values is None or not len(sequences.values):
        return
    worst = int(np.abs(sequences.values).argmax())
    if abs(sequences.values[worst]) > _LARGEST_VALUE:
        position = int(np.searchsorted(sequences.indptr, worst, side="right")) - 1
        sequence = int(np.searchsorted(sequences.offsets, position, side="right")) - 1
        raise InputError(
            f"sequence {sequence}, position {position - sequences.offsets[sequence]}: the value "
            f"{sequences.values[worst]:g} is too large to train on (at most {_LARGEST_VALUE:g}); "
            "scale this feature"
        )
