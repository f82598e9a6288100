"""The miner as a transformer, and the use of rules in a model."""

import pickle
import re

import numpy as np
import pytest
from mined_data import all_rules, random_data, window_sentences
from refusals import refuses, unreadable
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from crfkit import CRF
from crfkit.data import Columns
from crfkit.exceptions import InputError, InputWarning
from crfkit.inference import Constraints
from crfkit.io.model_file import read_model, write_model
from crfkit.mining import AssociationMiner, Rules, compare_uses
from crfkit.selection import GradientSelector

X, Y = window_sentences()  # words and tags in a window, with labels
USES = ("features", "weighted", "constraints", "votes")
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nU3:%x[-1,1]/%x[0,1]\nB\n"


def settings(use):
    """Return parameters with which this use finds something in small data."""
    return {"use": use, "important": False, "min_support": 3 if use == "constraints" else 2, "folds": 4}


@pytest.mark.parametrize("use", USES)
def test_a_pipeline_is_the_model_with_associations(use):
    miner = AssociationMiner(**settings(use))
    inside = CRF(c2=0.1, associations=miner).fit(X[:60], Y[:60])
    pipeline = Pipeline([("mine", miner), ("tag", CRF(c2=0.1))]).fit(X[:60], Y[:60])
    assert pipeline.predict(X[60:]) == inside.predict(X[60:])
    assert list(inside.rules_) == list(pipeline["mine"].rules_)


@pytest.mark.parametrize("use", USES)
def test_models_with_rules_are_saved_loaded_and_pickled(use, tmp_path):
    crf = CRF(c2=0.1, associations=AssociationMiner(**settings(use))).fit(X, Y)
    expected = crf.predict_marginals(X, as_arrays=True)
    crf.save(tmp_path / "model")
    loaded = CRF.load(tmp_path / "model")
    for other in (loaded, pickle.loads(pickle.dumps(crf))):
        for a, b in zip(other.predict_marginals(X, as_arrays=True), expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
        assert list(other.rules_) == list(crf.rules_)
    assert crf.explain(X[:1])[0][0].label == crf.predict(X[:1])[0][0]
    refuses("association rules", crf.save_crfsuite, tmp_path / "model.crfsuite")


def test_an_attribute_of_a_rule_is_there_where_its_items_are():
    miner = AssociationMiner(min_confidence=0.7).fit(X, Y)
    encoded = miner.transform(X)
    names = encoded.vocabulary.strings()
    t = 0
    for sentence in X:
        for items in sentence:
            sequences = encoded.sequences
            found = {names[a] for a in sequences.indices[sequences.indptr[t] : sequences.indptr[t + 1]]}
            expected = {str(rule) for rule in miner.rules_ if set(rule.items) <= set(items)}
            assert found == expected | set(items)
            t += 1


def test_features_are_for_the_label_of_the_rule_alone():
    crf = CRF(associations=AssociationMiner(min_confidence=0.6, important=False)).fit(X, Y)
    own = {str(rule): rule.label for rule in crf.rules_}
    assert any(rule.confidence < 1 for rule in crf.rules_)
    scored = [(attribute, label) for attribute, label in crf.state_features_ if attribute in own]
    assert scored
    assert all(label == own[attribute] for attribute, label in scored)


def test_the_rarer_the_louder():
    miner = AssociationMiner(use="weighted", important=False).fit(X, Y)
    highest = miner.rules_.support.max()
    np.testing.assert_array_equal(miner.associations_.values, highest - miner.rules_.support + 2)
    miner = AssociationMiner(use="weighted", max_support=25, important=False).fit(X, Y)
    np.testing.assert_array_equal(miner.associations_.values, 25 - miner.rules_.support + 2)
    assert 10 < miner.rules_.support.max() <= 25 < highest
    miner.set_params(value=lambda support: 1 / support).fit(X, Y)
    np.testing.assert_allclose(miner.associations_.values, 1 / miner.rules_.support)
    sequences = miner.transform(X).sequences
    assert set(np.unique(sequences.values)) <= {1.0, *(1 / miner.rules_.support)}
    refuses("as many finite numbers", miner.set_params(value=lambda support: 1.0).fit, X, Y)


def test_constraints_take_the_longest_rule_then_the_best_supported():
    miner = AssociationMiner(use="constraints", important=False, min_support=3, lengths=(1, 3)).fit(X, Y)
    encoded = miner.transform(X)
    classes = miner.rules_.classes
    rules = list(miner.rules_)
    forced = iter(encoded.hints.forced.tolist())
    for sentence in X:
        for items in sentence:
            holding = [rule for rule in rules if set(rule.items) <= set(items)]
            label = next(forced)
            if not holding:
                assert label == -1
                continue
            length = max(len(rule.items) for rule in holding)
            longest = [rule for rule in holding if len(rule.items) == length]
            best = max(rule.support for rule in longest)
            assert classes[label] in {rule.label for rule in longest if rule.support == best}


def test_forced_labels_win_over_the_model_and_yield_to_constraints():
    X = [[["a", "b"], ["c"]], [["a"], ["b", "c"]]] * 4
    y = [["X", "Y"], ["Y", "Y"]] * 4
    other_labels = [["Y", "X"], ["X", "X"]] * 4
    rules = AssociationMiner(important=False, min_support=4).fit(X, other_labels).rules_.where(label="Y")
    assert [str(rule) for rule in rules] == ["a & b → Y"]
    crf = CRF(associations=AssociationMiner(rules=rules, use="constraints")).fit(X, y)
    assert CRF().fit(X, y).predict([[["a", "b"]]]) == [["X"]]
    assert crf.predict([[["a", "b"]]]) == [["Y"]]
    assert crf.predict([[["a", "b"]]], known=[["X"]]) == [["X"]]
    x_first = Constraints(starts=np.array([True, False]))
    assert crf.predict([[["a", "b"]], [["c"], ["a", "b"]]], constraints=x_first) == [["X"], ["X", "Y"]]


def test_votes_of_training_data_come_from_rules_mined_without_it():
    X, y = random_data(8, n_sequences=40)
    X = [[[{"i0": "x=1", "i1": "x=2"}.get(item, item) for item in items] for items in xs] for xs in X]
    miner = AssociationMiner(use="votes", important=False, folds=40, loudness=0.5, min_confidence=0.6)
    learned = miner.fit_transform(X, y)
    names = learned.vocabulary.strings()
    sequences = learned.sequences
    t = 0
    for i, sentence in enumerate(X):
        others = [k for k in range(len(X)) if k != i]
        rules = {
            key: value
            for key, value in all_rules([X[k] for k in others], [y[k] for k in others]).items()
            if value[0] >= 2 and value[0] / value[1] >= 0.6
        }
        for items in sentence:
            row = slice(sequences.indptr[t], sequences.indptr[t + 1])
            found = dict(
                zip([names[a] for a in sequences.indices[row]], sequences.values[row].tolist(), strict=True)
            )
            for label in ("L0", "L1", "L2"):
                holding = [v for (lhs, other), v in rules.items() if other == label and lhs <= set(items)]
                strongest = max((np.log2(v[0]) for v in holding), default=0.0)
                assert found.get(f"rules for {label}: strongest", 0.0) == pytest.approx(0.5 * strongest)
                for p in (2, 3):
                    n = sum(len(lhs) == p for lhs, other in rules if other == label and lhs <= set(items))
                    assert found.get(f"rules for {label}: {p} items", 0.0) == pytest.approx(0.5 * np.log1p(n))
                n = sum(
                    "x=1" in lhs or "x=2" in lhs
                    for lhs, other in rules
                    if other == label and lhs <= set(items)
                )
                assert found.get(f"rules for {label}: with x", 0.0) == pytest.approx(0.5 * np.log1p(n))
            t += 1


def test_columns_go_through_the_template():
    columns = Columns.from_rows([[[items[0][2:], items[1][2:]] for items in sentence] for sentence in X])
    crf = CRF(template=TEMPLATE, associations=AssociationMiner(important=False)).fit(columns, Y)
    items = {item[:3] for rule in crf.rules_ for item in rule.items}
    assert items == {"U0:", "U1:", "U2:"}  # the lines with one cell
    pipeline = Pipeline([("mine", AssociationMiner(template=TEMPLATE, important=False)), ("tag", CRF())])
    assert pipeline.fit(columns, Y).predict(columns) == crf.predict(columns)
    ambiguous = CRF(template="U%x[0,0]\nU%x[0,0]/%x[0,1]\nB\n", associations=AssociationMiner())
    refuses("not all from one cell", ambiguous.fit, columns, Y)


@pytest.mark.parametrize("items", ["w", ("w=", "w-1"), re.compile(r"^w"), lambda name: name.startswith("w")])
def test_which_attributes_are_items(items):
    rules = AssociationMiner(items=items, important=False).fit(X, Y).rules_
    assert {item[0] for rule in rules for item in rule.items} == {"w"}


def test_rules_that_are_right_where_a_model_is_wrong():
    predicted = [["O"] * len(labels) for labels in Y]
    miner = AssociationMiner(important=False).fit(X, Y, y_pred=predicted)
    assert len(miner.rules_)
    for rule in miner.rules_:
        n = sum(
            set(rule.items) <= set(items) and label == rule.label and label != "O"
            for xs, ys in zip(X, Y, strict=True)
            for items, label in zip(xs, ys, strict=True)
        )
        assert rule.fixes == n > 0


def test_grid_search_over_the_miner():
    search = GridSearchCV(
        CRF(associations=AssociationMiner(important=False)),
        {"associations__min_support": [2, 4], "associations__use": ["features", "constraints"]},
        cv=2,
    ).fit(X, Y)
    assert search.best_score_ > 0.5
    assert clone(search.best_estimator_).associations.important is False


def test_going_on_with_new_data_keeps_the_rules():
    crf = CRF(associations=AssociationMiner(important=False)).fit(X[:40], Y[:40])
    before = list(crf.rules_)
    crf.partial_fit(X[40:], Y[40:])
    assert list(crf.rules_) == before
    assert len(crf.predict(X)) == len(X)


def test_a_sparse_model_keeps_the_rules_that_have_a_weight():
    dense = CRF(c1=0.0, c2=0.1, associations=AssociationMiner(important=False)).fit(X, Y)
    sparse = CRF(c1=2.0, c2=0.0, associations=AssociationMiner(important=False)).fit(X, Y)
    assert 0 < len(sparse.rules_) < len(dense.rules_)
    weights = sparse.state_features_
    assert all((str(rule), rule.label) in weights for rule in sparse.rules_)
    assert sparse.score(X, Y) > 0.9


@pytest.mark.filterwarnings("ignore:the model never predicts")  # too few features for that
@pytest.mark.parametrize("use", USES)
def test_a_dev_set_sees_the_rules(use):
    crf = CRF(associations=AssociationMiner(**settings(use)))
    crf.fit(X[:50], Y[:50], X_dev=X[50:], y_dev=Y[50:])
    assert max(record["dev_accuracy"] for record in crf.history_) == pytest.approx(crf.score(X[50:], Y[50:]))


def test_one_table_compares_the_uses():
    results = compare_uses(
        CRF(c2=0.1),
        AssociationMiner(important=False, folds=4),
        X[:50],
        Y[:50],
        X[50:],
        Y[50:],
        settings={"constraints": {"min_support": 4}},
        score=lambda true, found: float(np.mean([a == b for a, b in zip(true, found, strict=True)])),
    )
    assert [result.use for result in results] == ["none", *USES]
    assert results[0].n_rules == 0
    assert results[0].p_value is None
    assert results[1].n_features > results[0].n_features
    assert results[1].n_rules == results[2].n_rules > results[3].n_rules
    refuses("'magic'", compare_uses, CRF(), AssociationMiner(), X, Y, X, Y, uses=["magic"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"min_support": 0}, "min_support must be a whole number of at least 1"),
        ({"min_confidence": 0}, "min_confidence must be a number above 0 and up to 1"),
        ({"min_confidence": 1.5}, "above 0 and up to 1"),
        ({"max_support": 1}, "max_support=1 must be at least min_support=2"),
        ({"lengths": (3, 2)}, "lengths must be two whole numbers"),
        ({"use": "magic"}, "use must be one of"),
        ({"use": "constraints", "min_confidence": 0.9}, "always right"),
        ({"items": "zzz"}, "no position has an item"),
        ({"items": 3}, "items must be None, a prefix"),
        ({"folds": 1}, "folds must be a whole number of at least 2"),
        ({"loudness": 0}, "loudness must be a number above 0"),
        ({"rules": [1]}, "rules must be None or crfkit.mining.Rules"),
    ],
)
def test_bad_parameters(wrong, message):
    refuses(message, AssociationMiner(**wrong).fit_transform, X, Y)


def test_bad_data():
    refuses("needs labels", AssociationMiner().fit, X, None)
    refuses("no position has an item", AssociationMiner().fit, [[[], []]], [["a", "b"]])
    refuses("every label in y is None", AssociationMiner().fit, [[["a"]]], [[None]])
    refuses("attributes with names", AssociationMiner().fit, [np.ones((2, 3))], [["a", "b"]])
    rules = AssociationMiner(important=False).fit(X, Y).rules_
    other = [[["x1", "x2"], ["x1"]]]
    with pytest.raises(InputError, match="were the rules mined with another template"):
        CRF(associations=AssociationMiner(rules=rules)).fit(other, [["B", "O"]])


def test_a_damaged_model_file_is_told(tmp_path):
    CRF(associations=AssociationMiner(important=False)).fit(X, Y).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    for name, wrong in [
        ("rules.attributes", arrays["rules.attributes"] + 10**6),
        ("rules.labels", arrays["rules.labels"] + 50),
        ("rules.attributes", arrays["rules.attributes"][:-1]),
        ("rules.support", arrays["rules.support"] * 0),
    ]:
        write_model(tmp_path / "bad", header, {**arrays, name: wrong})
        unreadable("fit together", CRF.load, tmp_path / "bad")
    record = header["associations"]
    for wrong in (
        {"use": "magic"},
        {**record, "kinds": 5},
        {**record, "use": "votes"},
        {**record, "loudness": "a"},
    ):
        write_model(tmp_path / "bad", {**header, "associations": wrong}, arrays)
        unreadable("malformed", CRF.load, tmp_path / "bad")


def test_rules_from_a_file_in_place_of_mining(tmp_path):
    mined = CRF(associations=AssociationMiner(important=False)).fit(X, Y)
    mined.rules_.save(tmp_path / "some.rules")
    rules = Rules.load(tmp_path / "some.rules")
    given = CRF(associations=AssociationMiner(rules=rules)).fit(X, Y)
    assert given.predict(X) == mined.predict(X)
    assert [str(rule) for rule in given.rules_] == [str(rule) for rule in mined.rules_]


@pytest.mark.parametrize("use", USES)
def test_no_rules_are_a_warning_and_a_plain_model(use):
    with pytest.warns(InputWarning, match="no rules"):
        crf = CRF(associations=AssociationMiner(min_support=10**6, use=use)).fit(X, Y)
    assert crf.predict(X) == CRF().fit(X, Y).predict(X)


@pytest.mark.parametrize("use", USES)
def test_rules_of_other_labels_are_renumbered_and_saved(use, tmp_path):
    rules = AssociationMiner(important=False).fit(X, Y).rules_  # labels B, I, O
    renamed = [[{"B": "A", "I": "I", "O": "Z"}[label] for label in labels] for labels in Y]
    with pytest.warns(InputWarning, match="rules cannot hold anywhere"):
        crf = CRF(associations=AssociationMiner(rules=rules, use=use)).fit(X, renamed)
    assert {rule.label for rule in crf.rules_} == {"I"}
    assert {rule.rival for rule in crf.rules_} <= {"I", None}
    crf.save(tmp_path / "model")
    loaded = CRF.load(tmp_path / "model")
    assert loaded.predict(X) == crf.predict(X)
    assert list(loaded.rules_) == list(crf.rules_)


@pytest.mark.parametrize("use", USES)
def test_going_on_with_a_new_label(use, tmp_path):
    crf = CRF(associations=AssociationMiner(**settings(use))).fit(X[:60], Y[:60])
    before = [(rule.items, rule.label, rule.support) for rule in crf.rules_]
    new = [["A" if label == "O" else label for label in labels] for labels in Y[60:]]
    crf.partial_fit(X[60:], new)
    assert crf.classes_ == ["A", "B", "I", "O"]
    assert [(rule.items, rule.label, rule.support) for rule in crf.rules_] == before
    crf.save(tmp_path / "model")
    assert CRF.load(tmp_path / "model").predict(X) == crf.predict(X)


@pytest.mark.filterwarnings("ignore:.*copies of others")
def test_what_cannot_go_together():
    unsure = AssociationMiner(important=False, min_confidence=0.5).fit(X, Y).rules_
    with pytest.raises(InputError, match="always right, but some"):
        CRF(associations=AssociationMiner(rules=unsure, use="constraints")).fit(X, Y)
    chosen = GradientSelector(n_features=5).fit(X, Y).selected_
    with pytest.raises(InputError, match="cannot be combined with associations"):
        CRF(features=chosen, associations=AssociationMiner(important=False)).fit(X, Y)
    CRF(features=chosen, associations=AssociationMiner(use="constraints", important=False)).fit(X, Y)


@pytest.mark.filterwarnings("ignore:.*copies of others")
def test_rules_then_selection_then_a_model():
    pipeline = Pipeline(
        [
            ("mine", AssociationMiner(important=False)),
            ("select", GradientSelector(n_features=20, batch=5)),
            ("tag", CRF()),
        ]
    )
    assert pipeline.fit(X, Y).score(X, Y) > 0.9


@pytest.mark.parametrize("use", USES)
def test_second_order_and_other_questions(use):
    crf = CRF(order=2, associations=AssociationMiner(**settings(use))).fit(X, Y)
    best = crf.predict(X[:5])
    assert [paths[0][0] for paths in crf.predict_nbest(X[:5], 2)] == best
    assert [len(labels) for labels in crf.predict_posterior(X[:5])] == [len(labels) for labels in best]


@pytest.mark.filterwarnings("ignore:the model never predicts")  # too few features for that
def test_any_fitted_model_decodes_under_rules():
    rules = AssociationMiner(important=False, min_support=3).fit(X, Y).rules_
    plain = CRF(c2=1000.0).fit(X, Y)
    with_rules = CRF(c2=1000.0, associations=AssociationMiner(rules=rules, use="constraints")).fit(X, Y)
    assert plain.under(rules).predict(X) == with_rules.predict(X)
    assert plain.under(rules).predict(X) != plain.predict(X)
    refuses("already has rules", plain.under(rules).under, rules)
    unsure = AssociationMiner(important=False, min_confidence=0.5).fit(X, Y).rules_
    refuses("always right", plain.under, unsure)


def test_votes_need_two_sequences():
    with pytest.raises(InputError, match="at least two"):
        AssociationMiner(use="votes", important=False).fit_transform([[["a", "b"]] * 3], [["x"] * 3])


def test_a_pipeline_looks_the_names_up_anew_when_a_vocabulary_has_grown():
    miner = AssociationMiner(important=False).fit(X[:40], Y[:40])
    first = miner.transform(X)
    crf = CRF().fit(first, Y)
    before = crf.predict(first)
    assert crf.predict(miner.transform(X)) == before  # from the stored ids
    first.vocabulary.add(["a new name"])
    assert crf.predict(miner.transform(X)) == before
    assert CRF().fit(miner.transform(X), Y).predict(miner.transform(X)) == before
