"""
Trees, round by round
=====================

A machine reports temperature and a status word, with gaps. Every round adds one small tree per label;
accuracy on other shifts rises and then stays.
"""

import random

import matplotlib.pyplot as plt

from crfkit import TreeCRF

chance = random.Random(0)


def shift(n=40):
    state, rows, states = "fine", [], []
    for _ in range(n):
        if chance.random() < 0.12:
            state = chance.choice(["fine", "worn", "broken"])
        heat = {"fine": 40, "worn": 48, "broken": 43}[state] + chance.gauss(0, 4)
        code = chance.choice(["ok", "E7", "E9"]) if state == "broken" else "ok"
        row = {"temperature": heat, "status": code}
        rows.append({name: value if chance.random() > 0.3 else None for name, value in row.items()})
        states.append(state)
    return rows, states


X, y = zip(*(shift() for _ in range(90)), strict=True)
model = TreeCRF(window=5, n_iterations=60, n_jobs=1).fit(X[:60], y[:60])


def accuracy(found, true):
    right = [a == b for f, t in zip(found, true, strict=True) for a, b in zip(f, t, strict=True)]
    return 100 * sum(right) / len(right)


fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for part, name in ((slice(0, 60), "training shifts"), (slice(60, 90), "other shifts")):
    ax.plot([accuracy(found, y[part]) for found in model.staged_predict(X[part])], label=name)
ax.set(xlabel="rounds", ylabel="minutes right, %")
ax.legend()
plt.show()
