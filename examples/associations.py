"""Mine rules, read ten telling ones, train with them, and see what they change in single addresses."""

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.metrics import segment_f1
from crfkit.mining import AssociationMiner

tokens, labels = addresses(1300, random_state=0)
X = [token_features(address) for address in tokens]
train, test = slice(0, 300), slice(300, None)
items = ("word=", "shape=", "-1:", "+1:")  # what a rule may look at: a word, its shape, its neighbours

miner = AssociationMiner(items=items, n_jobs=1).fit(X[train], labels[train])
print(f"{len(miner.rules_):,} rules that their items singly would not make, ten of the best supported:\n")
seen = set()
for rule in miner.rules_.sorted("support"):
    if rule.label not in seen and len(seen) < 10:
        seen.add(rule.label)
        print(f"  {' and '.join(rule.items)}: always {rule.label}, {rule.support} times")
        print(f"      (singly: {rule.rival}, by {rule.margin} votes)")

plain = CRF(c2=0.1, n_jobs=1).fit(X[train], labels[train])
votes = AssociationMiner(items=items, important=False, use="votes", n_jobs=1)
helped = CRF(c2=0.1, associations=votes, n_jobs=1).fit(X[train], labels[train])
before, after = plain.predict(X[test]), helped.predict(X[test])
print(f"\nF1 without rules {segment_f1(labels[test], before):.3f}, with their votes", end=" ")
print(f"{segment_f1(labels[test], after):.3f}. What they changed, for example:\n")
shown = 0
for address, true, old, new in zip(tokens[test], labels[test], before, after, strict=True):
    places = [t for t in range(len(true)) if old[t] != new[t]]
    if len(places) == 1 and shown < 4:
        (t,) = places
        shown += 1
        verdict = "right now" if new[t] == true[t] else "wrong now" if old[t] == true[t] else "wrong still"
        print(f"  {' '.join(address[:t])} [{address[t]}] {' '.join(address[t + 1 :])}")
        print(f"      {old[t]} became {new[t]}: {verdict}")
