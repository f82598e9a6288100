"""A second oracle, for lattices too large to enumerate: log-space recursions over pairs of labels in NumPy.

States are label pairs, for chains of either order.
"""

from dataclasses import dataclass

import numpy as np

from crfkit.inference import Lattice


def logsumexp(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    top = np.maximum(values.max(axis=axis, keepdims=True), -1e300)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - top).sum(axis=axis)) + (
            top.item() if axis is None else top.squeeze(axis)
        )


@dataclass
class Reference:
    log_z: float
    node: np.ndarray  # [T, L]
    pair: np.ndarray  # [T, L, L]
    triple: np.ndarray  # [L, L, L] summed over positions


def reference(lattice: Lattice, sequence: int = 0) -> Reference:
    begin, stop = lattice.offsets[sequence], lattice.offsets[sequence + 1]
    length, n_labels = int(stop - begin), lattice.n_labels

    def edge_at(t: int) -> np.ndarray:  # [L, L]
        return lattice.edge[begin + t] if lattice.edge.ndim == 3 else lattice.edge

    def step(t: int) -> np.ndarray:  # [L(j), L(k), L(l)] scores of the step into position t >= 2
        scores = np.zeros((n_labels,) * 3) + edge_at(t) + psi[t]
        if lattice.edge2 is not None:
            scores += lattice.edge2[begin + t] if lattice.edge2.ndim == 4 else lattice.edge2
        return scores

    psi = lattice.node[begin:stop].copy()
    if lattice.start is not None:
        psi[0] += lattice.start
    if lattice.end is not None:
        psi[-1] += lattice.end
    if length == 1:
        log_z = float(logsumexp(psi[0]))
        zeros = np.zeros((n_labels,) * 3)
        return Reference(log_z, np.exp(psi - log_z), zeros[:1], zeros)

    alpha = [np.full((n_labels, n_labels), -np.inf), psi[0][:, None] + edge_at(1) + psi[1]]
    shift = [0.0]  # alpha[t] is shifted so that its maximum is 0
    for t in range(1, length):
        if t >= 2:
            alpha.append(logsumexp(alpha[t - 1][:, :, None] + step(t), axis=0))
        shift.append(float(alpha[t].max()))
        alpha[t] = alpha[t] - shift[t]
    log_z = float(np.sum(np.array(shift, dtype=np.longdouble)) + logsumexp(alpha[-1]))

    pair = np.zeros((length, n_labels, n_labels))
    node = np.zeros((length, n_labels))
    triple = np.zeros((n_labels,) * 3)
    beta = np.zeros((n_labels, n_labels))
    for t in range(length - 1, 0, -1):
        together = alpha[t] + beta
        pair[t] = np.exp(together - logsumexp(together))
        node[t] = pair[t].sum(axis=0)
        if t >= 2:
            onward = step(t) + beta
            joint = alpha[t - 1][:, :, None] + onward
            triple += np.exp(joint - logsumexp(joint))
            beta = logsumexp(onward, axis=2)
            beta -= beta.max()
    node[0] = pair[1].sum(axis=1)
    return Reference(log_z, node, pair, triple)
