"""A user-defined potential: a small network in NumPy with a hand-written backward pass."""

import numpy as np

from crfkit.inference import Lattice


class NumPyNetwork:
    """The network of examples/torch_potential.py: embeddings, a hidden layer over three tokens, pairs."""

    def __init__(self, n_attributes, n_labels, width):
        D, L = width, n_labels
        self.shapes = [(L, L), (n_attributes, D), (D, 3 * D), (D,), (L, D), (L,)]
        self.n_parameters = sum(int(np.prod(shape)) for shape in self.shapes)

    def parts(self, w):
        cuts = np.cumsum([np.prod(shape) for shape in self.shapes])[:-1].astype(int)
        return [part.reshape(shape) for part, shape in zip(np.split(w, cuts), self.shapes, strict=True)]

    def scores(self, batch, w, *, n_jobs=None):
        pairs, embed, hidden, bias, out, out_bias = self.parts(w)
        rows = np.repeat(np.arange(batch.n_positions), np.diff(batch.indptr))
        own = np.zeros((batch.n_positions, embed.shape[1]))
        np.add.at(own, rows, embed[batch.indices])
        first = batch.first[:, None]
        near = [
            np.where(first, 0, np.roll(own, 1, 0)),
            own,
            np.where(np.roll(first, -1, 0), 0, np.roll(own, -1, 0)),
        ]
        self.seen, self.rows, self.w = np.hstack(near), rows, w
        self.layer = np.tanh(self.seen @ hidden.T + bias)
        return Lattice(self.layer @ out.T + out_bias, pairs, batch.offsets)

    def backward(self, batch, d_scores):
        _, embed, hidden, _, out, _ = self.parts(self.w)
        inner = (d_scores.node @ out) * (1 - self.layer**2)
        before, own, after = np.split(inner @ hidden, 3, axis=1)
        first = batch.first[:, None]
        own += np.roll(np.where(first, 0, before), -1, 0) + np.roll(
            np.where(np.roll(first, -1, 0), 0, after), 1, 0
        )
        d_embed = np.zeros_like(embed)
        np.add.at(d_embed, batch.indices, own[self.rows])
        parts = [
            d_scores.edge,
            d_embed,
            inner.T @ self.seen,
            inner.sum(axis=0),
            d_scores.node.T @ self.layer,
            d_scores.node.sum(axis=0),
        ]
        return np.concatenate([part.ravel() for part in parts])
