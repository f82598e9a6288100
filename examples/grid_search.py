"""Find c1 and c2 with scikit-learn's GridSearchCV, judged by the F1 of whole fields."""

from sklearn.model_selection import GridSearchCV, KFold

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.metrics import segment_f1_scorer

tokens, labels = addresses(450, random_state=0)
X = [token_features(address) for address in tokens]

search = GridSearchCV(
    CRF(),
    {"c1": [0.0, 0.1], "c2": [0.01, 0.1, 1.0]},
    scoring=segment_f1_scorer,
    cv=KFold(3),
)
search.fit(X[:300], labels[:300])

print("   c1    c2   segment F1 (cross-validated)")
for parameters, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    mark = "  <- best" if parameters == search.best_params_ else ""
    print(f"{parameters['c1']:5} {parameters['c2']:5}   {score:.3f}{mark}")
print(f"\nheld-out segment F1 of the best: {search.score(X[300:], labels[300:]):.3f}")
