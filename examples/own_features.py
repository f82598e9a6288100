"""Describe tokens in your own words with the feature builder, look at the result, and train with it."""

from sklearn.pipeline import make_pipeline

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import Features, bias, first, last, token
from crfkit.metrics import segment_scores

tokens, labels = addresses(1500, random_state=0)

word = token()
bare = word.lower().map(lambda w: w.strip(".,;"), "bare").named("bare")
features = Features(
    bias(),
    first(),
    last(),
    word,
    bare.window(-2, 2),
    bare.ngrams(2, -1, 1),
    word.short_shape().window(-1, 1),
    bare.prefixes(1, 3),
    bare.suffixes(1, 4),
    word.matches(r"\d+,?", "number").window(-1, 1),
    bare.member(["street", "st", "road", "rd", "avenue", "ave", "lane"], "road").window(-1, 1),
    bare.member(["new york", "los angeles", "são paulo", "den haag"], "city", bio=True),
)
print(features.explain(["42", "Main", "St.,", "New", "York"]))

model = make_pipeline(features, CRF(c1=0.05, c2=0.05))
model.fit(tokens[:1000], labels[:1000])
print()
print(segment_scores(labels[1000:], model.predict(tokens[1000:])))
