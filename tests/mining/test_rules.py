"""The table of rules: sorted, cut, saved, written out."""

import csv
import json

import numpy as np
import pytest
from mined_data import encoded, random_data
from refusals import refuses, unreadable

from crfkit import _native
from crfkit.data.sequences import offsets_of
from crfkit.io.model_file import read_model, write_model
from crfkit.mining import Rules, mine_rules


@pytest.fixture
def rules():
    """Return some hundred rules."""
    return mine_rules(*encoded(*random_data(5)), min_confidence=0.5, important=False)


def test_rules_are_a_sequence(rules):
    assert len(list(rules)) == len(rules) > 20
    assert rules[-1] == list(rules)[-1]
    assert [rule.label for rule in rules[2:5]] == [rules[i].label for i in (2, 3, 4)]
    assert list(rules[rules.support > 3]) == [rule for rule in rules if rule.support > 3]
    assert list(rules.rows()) == list(rules)
    assert rules.names() == [str(rule) for rule in rules]
    with pytest.raises(IndexError):
        rules[len(rules)]


@pytest.mark.parametrize("by", ["support", "confidence", "coverage", "margin", "length"])
def test_sorting(rules, by):
    column = {"margin": rules.margins, "length": rules.lengths}.get(by)
    column = getattr(rules, by) if column is None else column
    np.testing.assert_array_equal(np.sort(column)[::-1], _column(rules.sorted(by), by))
    np.testing.assert_array_equal(np.sort(column), _column(rules.sorted(by, ascending=True), by))


def _column(rules, by):
    return {"margin": rules.margins, "length": rules.lengths}.get(by, getattr(rules, by, None))


def test_significance_is_fishers_exact_test(rules):
    from scipy.stats import fisher_exact

    n = rules.n_positions
    for r in range(0, len(rules), 7):
        support, coverage = int(rules.support[r]), int(rules.coverage[r])
        with_label = int(rules.class_counts[rules.labels[r]])
        table = [
            [support, coverage - support],
            [with_label - support, n - coverage - with_label + support],
        ]
        expected = fisher_exact(table, alternative="greater").pvalue
        assert np.exp(rules.log_p[r]) == pytest.approx(expected, rel=1e-6)
    log_p = rules.sorted("significance").log_p
    assert (np.diff(log_p) >= 0).all()


def test_rules_for_a_label_or_with_an_item(rules):
    assert {rule.label for rule in rules.where(label="L1")} == {"L1"}
    assert all("i2" in rule.items for rule in rules.where(item="i2"))
    assert len(rules.where(item="i2")) == sum("i2" in rule.items for rule in rules)
    refuses("'L9' is not among the 3 known", rules.where, label="L9")
    refuses("no rule has the item 'i99'", rules.where, item="i99")
    refuses("sorted by one of support", rules.sorted, "beauty")
    refuses("y_pred", rules.sorted, "fixes")


def test_saved_rules_are_the_same(rules, tmp_path):
    rules[3:].save(tmp_path / "some.rules")
    loaded = Rules.load(tmp_path / "some.rules")
    assert list(loaded) == list(rules[3:])
    np.testing.assert_array_equal(loaded.log_p, rules[3:].log_p)


def test_a_damaged_file_is_told(rules, tmp_path):
    path = tmp_path / "some.rules"
    rules.save(path)
    header, arrays = read_model(path)
    for name, wrong in [
        ("labels", np.full(len(rules), 99, np.int32)),
        ("items", arrays["items"] + 1000),
        ("first", arrays["first"][:-1]),
        ("support", -arrays["support"]),
        ("coverage", arrays["coverage"] * 0),
        ("margins", arrays["margins"].astype(np.float64)),
    ]:
        write_model(tmp_path / "bad.rules", header, {**arrays, name: wrong.astype(wrong.dtype)})
        unreadable("do not fit together", Rules.load, tmp_path / "bad.rules")
    write_model(tmp_path / "other", {"model": "something"}, {})
    unreadable("expected association rules", Rules.load, tmp_path / "other")


def test_csv_json_and_frames(rules, tmp_path):
    rules.to_csv(tmp_path / "rules.csv")
    with open(tmp_path / "rules.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["items"] for row in rows] == [" & ".join(rule.items) for rule in rules]
    assert [int(row["support"]) for row in rows] == rules.support.tolist()
    rules.to_json(tmp_path / "rules.json")
    with open(tmp_path / "rules.json", encoding="utf-8") as file:
        records = json.load(file)
    assert [tuple(record["items"]) for record in records] == [rule.items for rule in rules]
    assert set(records[0]) == {"items", "label", "support", "confidence", "rival", "margin"}
    frame = pytest.importorskip("pandas") and rules.to_frame()
    assert frame["support"].tolist() == rules.support.tolist()


def test_no_rules_at_all(tmp_path):
    none = mine_rules(*encoded(*random_data(5)), min_support=1000)
    assert len(none) == 0
    assert none.names() == []
    none.save(tmp_path / "none.rules")
    assert len(Rules.load(tmp_path / "none.rules").sorted("significance")) == 0
    none.to_csv(tmp_path / "none.csv")
    none.to_json(tmp_path / "none.json")
    assert json.loads((tmp_path / "none.json").read_text()) == []


def test_a_rule_longer_than_the_stack_is_deep():
    """The matcher called itself once per item of a rule: 200,000 items ended the process."""
    n = 200_000
    first = np.array([0, n, n + 2, 2 * n - 1], np.int64)
    items = np.concatenate([np.arange(n), [5, 9], np.arange(n - 3)]).astype(np.int32)
    items[-1] = n  # the last rule has an item that the position lacks
    matcher = _native.RuleMatcher(first, items, n + 1)
    indptr, rules = matcher.match(np.array([0, n], np.int64), np.arange(n, dtype=np.int32), 1)
    assert (indptr.tolist(), rules.tolist()) == ([0, 2], [0, 1])


def test_matching_is_that_of_subsets():
    r = np.random.default_rng(4)
    sets = [sorted(r.choice(12, size=r.integers(1, 5), replace=False).tolist()) for _ in range(300)]
    positions = [sorted(r.choice(12, size=r.integers(0, 9), replace=False).tolist()) for _ in range(200)]

    def joined(rows):
        return offsets_of([*map(len, rows)]), np.array([i for row in rows for i in row], np.int32)

    indptr, rules = _native.RuleMatcher(*joined(sets), 12).match(*joined(positions), 2)
    for t, position in enumerate(positions):
        expected = [i for i, items in enumerate(sets) if set(items) <= set(position)]
        assert rules[indptr[t] : indptr[t + 1]].tolist() == expected
