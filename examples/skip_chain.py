"""Skip-chains: the same name in two sentences of a document helps both (Sutton and McCallum, 2004).

Made-up announcements name a speaker twice: once after "Speaker", where it is easy, and once in a sentence
that could name a place as well. A chain sees each sentence alone. A skip-chain links equal capitalised words
of the document, so that what is known of one mention reaches the other.
"""

import random

from crfkit import GraphCRF, skip_chain
from crfkit.features import token_features

chance = random.Random(0)
BEGINNINGS, ENDINGS = ("Bal", "Cor", "Dun", "Hal", "Kes", "Lor", "Mor", "Tal"), ("ton", "ley", "ford", "mere")
NAMES = [beginning + ending for beginning in BEGINNINGS for ending in ENDINGS]


def announcement() -> tuple[list[list[str]], list[str]]:
    """Return the sentences of a document, and the labels of all its words."""
    speaker, place = chance.sample(NAMES, 2)
    shuffled = [(speaker, "PERSON"), (place, "PLACE")]
    chance.shuffle(shuffled)
    (first, first_label), (second, second_label) = shuffled
    sentences = [
        ["Speaker", ":", speaker],
        ["we", "meet", "in", place],
        ["then", first, "and", second, "again"],
    ]
    return sentences, ["O", "O", "PERSON", "O", "O", "O", "PLACE", "O", first_label, "O", second_label, "O"]


documents = [announcement() for _ in range(120)]
y = [labels for _, labels in documents]


def graphs(linked: bool):
    return [
        skip_chain(words, [token_features(s) for s in words], linked=lambda w: linked and w[0].isupper())
        for words, _ in documents
    ]


for name, X in (("chains", graphs(False)), ("skip-chains", graphs(True))):
    model = GraphCRF(c2=0.1).fit(X[:60], y[:60])
    print(f"{name:12} {X[60]}: {100 * model.score(X[60:], y[60:]):.1f} % of the words right")

hard = documents[60][0][2]
print("the hard sentence:", *hard)
decisions = model.explain(X[60:61])[0]
for word, decision in zip(hard, decisions[7:], strict=True):
    if decision.label != "O":
        print(f"  {word}: {decision}")
