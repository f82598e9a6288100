"""Second guesses and probabilities: how sure is the model, and what else could it be?"""

import numpy as np

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features

tokens, labels = addresses(800, random_state=0)
X = [token_features(address) for address in tokens]
model = CRF(c1=0.05, c2=0.05).fit(X, labels)

address = ["Florence", "Jackson", "14", "Madison", "Lincoln", "68508"]
x = token_features(address)

print("The three most probable labellings of the whole address:\n")
for path, probability in model.predict_nbest([x], 3)[0]:
    print(f"  {100 * probability:5.1f} %  {' '.join(path)}")

print("\nEach token by itself:\n")
for token, probabilities in zip(address, model.predict_marginals([x])[0], strict=True):
    best = sorted(probabilities, key=probabilities.__getitem__, reverse=True)[:3]
    print(f"  {token:10}", "   ".join(f"{label} {100 * probabilities[label]:.1f} %" for label in best))

# The best path need not go through the best label of every token: these are different questions.
(viterbi,) = model.predict([x])
(posterior,) = model.predict_posterior([x])
print("\nbest labelling as a whole: ", " ".join(viterbi))
print("best label of each token:  ", " ".join(posterior))

# As arrays [T, L], columns in the order of model.classes_: quick to work with.
(array,) = model.predict_marginals([x], as_arrays=True)
entropy = -np.sum(array * np.log(np.maximum(array, 1e-300)), axis=1)
print("least certain token:       ", address[int(entropy.argmax())])
