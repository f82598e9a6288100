"""Train a CRF on labelled sequences, tag new ones, and see how well it does."""

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.metrics import segment_scores, sequence_accuracy

# Tokens and labels: lists of lists of strings. Any other labelled sequences would do.
tokens, labels = addresses(1500, random_state=0)

# What the model sees of each token: a list of attributes. Dicts work, too.
X = [token_features(address) for address in tokens]
X_train, y_train = X[:1000], labels[:1000]
X_test, y_test = X[1000:], labels[1000:]

model = CRF(c1=0.05, c2=0.05)
model.fit(X_train, y_train)

y_pred = model.predict(X_test)
print(segment_scores(y_test, y_pred))
print(f"addresses right   {100 * sequence_accuracy(y_test, y_pred):25.2f}")

new = ["Dr.", "Emily", "Foster,", "12", "Lakewood", "Ave", "Apt", "4,", "Brookfield,", "TX", "75201"]
(predicted,) = model.predict([token_features(new)])
print()
for token, label in zip(new, predicted, strict=True):
    print(f"{token:12} {label}")
