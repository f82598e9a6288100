"""Potentials that are boosted trees: text, numbers, bools and missing values as they are.

A made-up machine reports temperature, a status word and whether its door is open, minute by minute. It wears
out in stretches; a third of the readings are lost. The trees find the conditions by themselves, and a missing
reading is a reading: nothing is filled in. (Needs LightGBM: pip install 'crfkit[trees]'.)
"""

import random

from crfkit import TreeCRF

chance = random.Random(0)


def shift(n_minutes: int) -> tuple[list[dict], list[str]]:
    """One shift: readings and the machine's true state."""
    state, items, labels = "fine", [], []
    for _ in range(n_minutes):
        if chance.random() < 0.12:
            state = chance.choice(["fine", "worn", "broken"])
        door = chance.random() < 0.3
        heat = {"fine": 40, "worn": 48, "broken": 43}[state] - 6 * door + chance.gauss(0, 4)
        word = {"fine": "ok", "worn": "ok", "broken": chance.choice(["ok", "E7", "E9"])}[state]
        reading = {"temperature": round(heat, 1), "status": word, "door": door}
        items.append({name: value if chance.random() > 0.33 else None for name, value in reading.items()})
        labels.append(state)
    return items, labels


def shifts(n: int) -> tuple[list[list[dict]], list[list[str]]]:
    pairs = [shift(40) for _ in range(n)]
    return [items for items, _ in pairs], [labels for _, labels in pairs]


X, y = shifts(60)
X_test, y_test = shifts(30)
print("a minute of the data:", X[0][0])

model = TreeCRF(window=5, n_iterations=80, early_stopping=3, random_state=0, n_jobs=1).fit(X, y)
print(f"{model.n_iter_} rounds, chosen by three folds; test accuracy {model.score(X_test, y_test):.3f}")

print("what the trees ask for:")
ranked = sorted(zip(model.feature_importances_, model.feature_names_, strict=True), reverse=True)
for share, name in ranked[:4]:
    print(f"  {name:16} {share:.2f}")

print("conjunctions that speak for 'broken':")
for found in [one for one in model.conjunctions(40, label="broken") if one.value > 0][:3]:
    print(f"  {found.value:+.2f}  {' & '.join(found.conditions)}")

accuracies = []
for labels in model.staged_predict(X_test):
    right = [a == b for t, p in zip(y_test, labels, strict=True) for a, b in zip(t, p, strict=True)]
    accuracies.append(sum(right) / len(right))
print("test accuracy after rounds 1, 10, last:", *(f"{accuracies[k]:.3f}" for k in (0, 9, -1)))
