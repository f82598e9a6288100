"""A small neural network as the source of scores: crfkit does the rest (needs PyTorch).

A potential is anything that gives scores for a batch at a vector w, and takes a gradient by the scores back
to one by w. Here the attributes of a token are embedded and summed, a hidden layer sees the token and its two
neighbours, and a table scores pairs of labels. Likelihood, gradient, decoding and L-BFGS are crfkit's.
"""

import numpy as np
import torch

from crfkit import CRF
from crfkit.data.labels import decode_labels
from crfkit.data.sequences import Sequences
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.features.inputs import encode_input
from crfkit.features.labelled import read_labelled
from crfkit.inference import Lattice, ScoreGradient, viterbi
from crfkit.metrics import token_accuracy
from crfkit.objectives.likelihood import Likelihood
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.optim.penalised import Penalised


class Network(torch.nn.Module):
    """Scores of labels [ΣT, L] from the attributes of tokens; scores of label pairs [L, L]."""

    def __init__(self, n_attributes: int, n_labels: int, width: int = 16) -> None:
        super().__init__()
        self.embed = torch.nn.EmbeddingBag(n_attributes, width, mode="sum")
        torch.nn.init.normal_(self.embed.weight, std=0.1)
        self.hidden = torch.nn.Linear(3 * width, width)
        self.out = torch.nn.Linear(width, n_labels)
        self.pairs = torch.nn.Parameter(torch.zeros(n_labels, n_labels))

    def forward(self, batch: Sequences) -> tuple[torch.Tensor, torch.Tensor]:
        own = self.embed(torch.from_numpy(batch.indices), torch.from_numpy(batch.indptr[:-1]))
        first = torch.from_numpy(batch.first)[:, None]  # neighbours across the border are 0
        before, after = own.roll(1, 0) * ~first, own.roll(-1, 0) * ~first.roll(-1, 0)
        return self.out(torch.tanh(self.hidden(torch.cat([before, own, after], 1)))), self.pairs


class TorchPotential:
    """A network as a parametric potential."""

    def __init__(self, network: torch.nn.Module) -> None:
        self.network = network.double()
        self.parameters = list(network.parameters())
        self.n_parameters = sum(p.numel() for p in self.parameters)

    def start(self) -> np.ndarray:
        return torch.nn.utils.parameters_to_vector(self.parameters).detach().numpy()

    def scores(self, batch: Sequences, w: np.ndarray, *, n_jobs: int | None = None) -> Lattice:
        torch.nn.utils.vector_to_parameters(torch.from_numpy(w), self.parameters)
        self.node, self.edge = self.network(batch)
        return Lattice(self.node.detach().numpy(), self.edge.detach().numpy(), batch.offsets)

    def backward(self, batch: Sequences, d_scores: ScoreGradient) -> np.ndarray:
        by = [torch.from_numpy(d_scores.node), torch.from_numpy(d_scores.edge)]
        gradients = torch.autograd.grad([self.node, self.edge], self.parameters, by)
        return torch.nn.utils.parameters_to_vector(gradients).numpy()


if __name__ == "__main__":
    torch.manual_seed(0)
    tokens, y = addresses(400, random_state=0)
    X = [token_features(address, window=0) for address in tokens]
    data = read_labelled(X[:300], y[:300])
    potential = TorchPotential(Network(len(data.vocabulary), len(data.classes)))
    objective = Penalised(Likelihood(potential, data.sequences, data.labels), l2=0.01)
    found = minimize_lbfgs(objective, potential.start(), max_iterations=40)
    print(
        f"{potential.n_parameters:,} parameters, {found.iterations} iterations: objective {found.value:.1f}"
    )

    new = encode_input(X[300:], data.vocabulary, None, grow=False)
    labels = decode_labels(viterbi(potential.scores(new, found.x)).labels, new.offsets, data.classes)
    print(f"accuracy on 100 new addresses       {token_accuracy(y[300:], labels):.3f}")
    print(f"a linear CRF on the same attributes {CRF().fit(X[:300], y[:300]).score(X[300:], y[300:]):.3f}")
