"""Training under validation constraints on a small problem that is easily overfitted.

Twenty games in a dishonest casino, and hundreds of attributes of the rolls around: more than the games can
contradict. Plain training learns them by heart.
"""

from crfkit import CRF, ConstrainedCRF
from crfkit.datasets import casino


def attributes(rolls: list[int]) -> list[list[str]]:
    """The rolls up to three away, the pairs and the threes of neighbours among them."""
    padded = [0, 0, 0, *rolls, 0, 0, 0]
    return [
        [f"{k}+{n}={padded[t + k : t + k + n]}" for n in (1, 2, 3) for k in range(8 - n)]
        for t in range(len(rolls))
    ]


rolls, dice = casino(320, 30, random_state=0)
X = [attributes(game) for game in rolls]
train, test = slice(20), slice(20, None)

models = {
    "plain": CRF(c2=0.0),
    "L2, σ² = 100": CRF(c2=0.005),
    "constrained": ConstrainedCRF(),  # plain training satisfies the constraints: they change nothing
    "constrained, largest c2": ConstrainedCRF(c2="largest"),
    "constrained, c2 = 10": ConstrainedCRF(c2=10.0),
    "L2, c2 = 10": CRF(c2=10.0),  # rolls are random: errors on known games are right
}
print("                           training      test")
for name, model in models.items():
    model.fit(X[train], dice[train])
    print(f"{name:24} {model.score(X[train], dice[train]):10.3f} {model.score(X[test], dice[test]):9.3f}")

searched = models["constrained, c2 = 10"]
print(f"\nThe search with c2 = 10: {'feasible' if searched.feasible_ else 'NOT feasible'} at the end")
print("step   objective   temperature   violations (tau = 0.01)     penalties")
for record in searched.outer_history_:
    violations = "  ".join(f"{h:7.4f}" for h in record["violations"])
    penalties = "  ".join(f"{p:5.2f}" for p in record["penalties"])
    print(
        f"{record['step']:4} {record['objective']:11.3f} {record['temperature']:13.4f}   "
        f"{violations}   {penalties}"
    )
