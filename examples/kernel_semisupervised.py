"""Learn from 5 labelled and 100 unlabelled sequences: a graph over all points carries the labels along.

Two spiral arms around a core that both share. Five sequences of 20 points say little about the arms; the
unlabelled points show where they run. A kernel from their nearest-neighbour graph lets labels vary along the
arms but little, and the chain tells which arm a point of the core belongs to.
"""

from crfkit import KernelCRF
from crfkit.datasets import galaxy
from crfkit.kernels import GraphKernel

X, y = galaxy(205, 20, random_state=1)
X_unlabeled = X[5:105]  # 2,000 points whose labels nobody looks at
X_new, y_new = X[105:], y[105:]  # 100 sequences that come later

few = KernelCRF(n_cliques=50, gamma=2.0, reg=0.1).fit(X[:5], y[:5])
print(f"5 labelled sequences, RBF kernel               error {1 - few.score(X_new, y_new):.3f}")

graph = GraphKernel(n_neighbors=8, n_eigenvectors=60)
model = KernelCRF(kernel=None, graph=graph, n_cliques=50, reg=0.1)
model.fit(X[:5], y[:5], X_unlabeled=X_unlabeled)
print(f"the same and 100 unlabelled ones, graph kernel  error {1 - model.score(X_new, y_new):.3f}")

many = KernelCRF(n_cliques=50, gamma=2.0, reg=0.1, per_round=5).fit(X[:105], y[:105])
print(f"all 105 labelled, RBF kernel                    error {1 - many.score(X_new, y_new):.3f}")

print("\nThe first points the graph kernel chose to compare others with:")
for clique in model.cliques_[:5]:
    print(f"  {clique}")
