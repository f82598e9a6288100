"""The tutorials of the two packages, rewritten, with only the import lines changed.

They use named entities; here it is phrase chunks (or postal addresses, if CoNLL-2000 is not available).
"""

from collections import Counter
from itertools import chain

import pytest
import scipy.stats
import sklearn
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV
from sklearn.preprocessing import LabelBinarizer

# import pycrfsuite
# import sklearn_crfsuite
# from sklearn_crfsuite import scorers
# from sklearn_crfsuite import metrics
from crfkit.compat import pycrfsuite, sklearn_crfsuite
from crfkit.compat.sklearn_crfsuite import metrics, scorers


def word2features(sent, i):
    """Return features of a word as strings, like the python-crfsuite notebook."""
    word, postag = sent[i][0], sent[i][1]
    features = [
        "bias",
        "word.lower=" + word.lower(),
        "word[-3:]=" + word[-3:],
        f"word.isupper={word.isupper()}",
        f"word.isdigit={word.isdigit()}",
        "postag=" + postag,
    ]
    if i > 0:
        features.extend(["-1:word.lower=" + sent[i - 1][0].lower(), "-1:postag=" + sent[i - 1][1]])
    else:
        features.append("BOS")
    if i < len(sent) - 1:
        features.extend(["+1:word.lower=" + sent[i + 1][0].lower(), "+1:postag=" + sent[i + 1][1]])
    else:
        features.append("EOS")
    return features


def word2dict(sent, i):
    """Return the same as a dict, like sklearn-crfsuite."""
    word, postag = sent[i][0], sent[i][1]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": postag,
        "postag[:2]": postag[:2],
    }
    if i > 0:
        features.update(
            {"-1:word.lower()": sent[i - 1][0].lower(), "-1:word.istitle()": sent[i - 1][0].istitle()}
        )
    else:
        features["BOS"] = True
    if i < len(sent) - 1:
        features.update({"+1:word.lower()": sent[i + 1][0].lower(), "+1:postag": sent[i + 1][1]})
    else:
        features["EOS"] = True
    return features


def sent2labels(sent):
    return [label for token, postag, label in sent]


def sent2tokens(sent):
    return [token for token, postag, label in sent]


def bio_classification_report(y_true, y_pred):
    """Return scores by label, without "O"."""
    lb = LabelBinarizer()
    y_true_combined = lb.fit_transform(list(chain.from_iterable(y_true)))
    y_pred_combined = lb.transform(list(chain.from_iterable(y_pred)))
    tagset = sorted(set(lb.classes_) - {"O"}, key=lambda tag: tag.split("-", 1)[::-1])
    class_indices = {cls: idx for idx, cls in enumerate(lb.classes_)}
    return sklearn.metrics.classification_report(
        y_true_combined,
        y_pred_combined,
        labels=[class_indices[cls] for cls in tagset],
        target_names=tagset,
        zero_division=0,
    )


def test_python_crfsuite_notebook(sentences, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    train_sents, test_sents = sentences
    X_train = [[word2features(s, i) for i in range(len(s))] for s in train_sents]
    y_train = [sent2labels(s) for s in train_sents]
    X_test = [[word2features(s, i) for i in range(len(s))] for s in test_sents]
    y_test = [sent2labels(s) for s in test_sents]

    trainer = pycrfsuite.Trainer(verbose=False)
    for xseq, yseq in zip(X_train, y_train, strict=True):
        trainer.append(xseq, yseq)
    trainer.set_params({"c1": 1.0, "c2": 1e-3, "max_iterations": 50, "feature.possible_transitions": True})
    assert "c1" in trainer.params()
    trainer.train("chunks.crfsuite")
    assert trainer.logparser.last_iteration["loss"] > 0
    print(len(trainer.logparser.iterations), trainer.logparser.iterations[-1])

    tagger = pycrfsuite.Tagger()
    tagger.open("chunks.crfsuite")
    example_sent = test_sents[0]
    print(" ".join(sent2tokens(example_sent)), end="\n\n")
    print("Predicted:", " ".join(tagger.tag(X_test[0])))
    print("Correct:  ", " ".join(sent2labels(example_sent)))

    y_pred = [tagger.tag(xseq) for xseq in X_test]
    seen = set(chain.from_iterable(y_test))
    y_pred = [[label if label in seen else "O" for label in labels] for labels in y_pred]
    if "O" in seen:
        print(bio_classification_report(y_test, y_pred))
    assert metrics.flat_accuracy_score(y_test, y_pred) > 0.6

    info = tagger.info()

    def print_transitions(trans_features):
        for (label_from, label_to), weight in trans_features:
            print(f"{label_from:6} -> {label_to:7} {weight:0.6f}")

    print("Top likely transitions:")
    print_transitions(Counter(info.transitions).most_common(15))
    print("\nTop unlikely transitions:")
    print_transitions(Counter(info.transitions).most_common()[-15:])

    def print_state_features(state_features):
        for (attr, label), weight in state_features:
            print(f"{weight:0.6f} {label:6} {attr}")

    print("Top positive:")
    print_state_features(Counter(info.state_features).most_common(20))
    print("\nTop negative:")
    print_state_features(Counter(info.state_features).most_common()[-20:])
    out = capsys.readouterr().out
    assert out.count(" -> ") == 30
    best = Counter(info.state_features).most_common(1)[0]
    assert f"{best[1]:0.6f}" in out


@pytest.fixture(scope="module")
def dicts(sentences):
    parts = []
    for part in sentences:
        parts.append([[word2dict(s, i) for i in range(len(s))] for s in part])
        parts.append([sent2labels(s) for s in part])
    return parts


def test_sklearn_crfsuite_tutorial(dicts):
    X_train, y_train, X_test, y_test = dicts
    crf = sklearn_crfsuite.CRF(
        algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True
    )
    crf.fit(X_train, y_train)
    labels = list(crf.classes_)
    if "O" in labels:
        labels.remove("O")
    y_pred = crf.predict(X_test)
    score = metrics.flat_f1_score(y_test, y_pred, average="weighted", labels=labels, zero_division=0)
    assert score > 0.6
    sorted_labels = sorted(labels, key=lambda name: (name[1:], name[0]))
    report = metrics.flat_classification_report(
        y_test, y_pred, labels=sorted_labels, digits=3, zero_division=0
    )
    assert all(label in report for label in labels)
    assert len(Counter(crf.transition_features_).most_common(20)) == 20
    assert len(Counter(crf.state_features_).most_common(30)) == 30


def test_sklearn_crfsuite_randomised_search(dicts):
    X_train, y_train, X_test, y_test = (part[:60] for part in dicts)
    labels = sorted(set(chain.from_iterable(y_train)) - {"O"})
    crf = sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=100, all_possible_transitions=True)
    params_space = {"c1": scipy.stats.expon(scale=0.5), "c2": scipy.stats.expon(scale=0.05)}
    f1_scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels, zero_division=0)
    rs = RandomizedSearchCV(crf, params_space, cv=3, n_iter=4, scoring=f1_scorer, random_state=0)
    rs.fit(X_train, y_train)
    print("best params:", rs.best_params_)
    print("best CV score:", rs.best_score_)
    print(f"model size: {rs.best_estimator_.size_ / 1000000:0.2f}M")
    assert set(rs.best_params_) == {"c1", "c2"}
    assert len(rs.cv_results_["param_c1"]) == 4
    crf = rs.best_estimator_
    assert metrics.flat_accuracy_score(y_test, crf.predict(X_test)) > 0.5
    assert scorers.flat_accuracy(crf, X_test, y_test) == pytest.approx(crf.score(X_test, y_test))
