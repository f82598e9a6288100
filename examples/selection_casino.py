"""Choose features one by one, and hear why: the first ten picks of the gradient in a dishonest casino.

A fair die ("real") is now and then swapped for a loaded one ("fake"), which shows six half of the time. Each
roll has its face and the word of two faces that begins with it as attributes: 88 candidates in all, of which
three tell nearly everything.
"""

import warnings

from crfkit import CRF
from crfkit.datasets import casino
from crfkit.selection import GradientSelector


def attributes(rolls):
    texts = ["".join(map(str, sequence)) for sequence in rolls]
    return [[[text[t], text[t : t + 2]] for t in range(len(text) - 1)] + [[text[-1]]] for text in texts]


def aloud(feature, weight, fell):
    """What a pick says, in words."""
    if feature.attribute is None:
        what = f"{feature.labels[0]} is followed by {feature.labels[1]}"
    else:
        what = f"the {feature.labels[0]} die shows {' then '.join(feature.attribute)}"
    often = "more" if weight > 0 else "less"
    return (
        f"{what} {often} often than thought ({feature.score:,.0f} times); the objective falls by {fell:,.1f}"
    )


# The first few features cannot tell the dice apart, and training says so.
warnings.filterwarnings("ignore", message="the model never predicts")

X, y = casino(50, 200, random_state=0)
X_test, y_test = casino(50, 200, random_state=1)
X, X_test = attributes(X), attributes(X_test)

selector = GradientSelector(10, c2=0.0).fit(X, y)
objective = [record["objective"] for record in selector.path_]
for i, (feature, weight) in enumerate(zip(selector.selected_, selector.weights_, strict=True)):
    crf = CRF(c2=0.1, features=selector.selected_[: i + 1]).fit(X, y)
    print(f"{i + 1:2}. {feature!s:14} {100 * crf.score(X_test, y_test):.2f} % of the dice guessed")
    print(f"    {aloud(feature, weight, objective[i] - objective[i + 1])}")

# The BIC stops where a feature no longer pays for itself, without held-out data.
few = GradientSelector(c2=0.0).fit(X, y).selected_
small, large = CRF(c2=0.1, features=few).fit(X, y), CRF(c2=0.1).fit(X, y)
print(f"\nall {large.tagger_.index.n_features} features: {100 * large.score(X_test, y_test):.2f} %")
print(f"these {len(few)} alone:   {100 * small.score(X_test, y_test):.2f} %: {', '.join(map(str, few))}")
