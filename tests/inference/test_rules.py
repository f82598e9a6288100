"""Constraints from rules, against a plain reading of each rule."""

from itertools import product

import numpy as np
import pytest
from refusals import refuses

from crfkit.inference import Lattice, constrain, rule_constraints, scheme_constraints, viterbi

NAMES = ["O", "B-NP", "I-NP", "B-PP", "I-PP"]


def permitted(constraints):
    return {(NAMES[a], NAMES[b]) for a, b in np.argwhere(constraints.transitions)}


EVERY = set(product(NAMES, NAMES))


@pytest.mark.parametrize(
    ("rules", "forbidden"),
    [
        ({}, set()),
        ({"forbid": [("I-NP", "B-PP")]}, {("I-NP", "B-PP")}),
        ({"forbid": [("O", "I-*")]}, {("O", "I-NP"), ("O", "I-PP")}),
        ({"forbid": [("*-PP", "?-NP")]}, set(product(["B-PP", "I-PP"], ["B-NP", "I-NP"]))),
        ({"forbid": [(["O", "B-PP"], ["I-NP"])]}, {("O", "I-NP"), ("B-PP", "I-NP")}),
        (
            {"forbid": [("*", "I-NP")], "allow": [("B-NP", "I-NP"), ("I-NP", "I-NP")]},
            {(a, "I-NP") for a in NAMES if not a.endswith("NP")},
        ),
        (
            {"only_after": {"I-NP": ["B-NP", "I-NP"]}},
            {(a, "I-NP") for a in NAMES if not a.endswith("NP")},
        ),
        ({"only_before": {"B-PP": "I-PP"}}, {("B-PP", b) for b in NAMES if b != "I-PP"}),
        ({"forbid": [("*", "*")], "allow": [("O", "O")]}, EVERY - {("O", "O")}),
    ],
)
def test_pairs(rules, forbidden):
    assert permitted(rule_constraints(NAMES, **rules)) == EVERY - forbidden


def test_first_and_last():
    rules = rule_constraints(NAMES, starts=["O", "B-*"], ends="*-NP")
    assert rules.starts.tolist() == [True, True, False, True, False]
    assert rules.ends.tolist() == [False, True, True, False, False]
    rules = rule_constraints(NAMES, only_after={"I-*": ["B-*", "I-*"]}, only_before={"B-PP": "I-PP"})
    assert rules.starts.tolist() == [True, True, False, True, False]
    assert rules.ends.tolist() == [True, True, True, False, True]


def test_rules_can_spell_a_scheme():
    rules = rule_constraints(NAMES, only_after={f"I-{t}": [f"B-{t}", f"I-{t}"] for t in ("NP", "PP")})
    scheme = scheme_constraints(NAMES, "IOB2")
    np.testing.assert_array_equal(rules.transitions, scheme.transitions)
    np.testing.assert_array_equal(rules.starts, scheme.starts)
    np.testing.assert_array_equal(rules.ends, scheme.ends)


def test_three_in_a_row():
    rules = rule_constraints(NAMES, forbid=[("O", "*", "O")], allow=[("O", "O", "O")])
    assert rules.transitions.all()
    node = np.random.default_rng(0).normal(size=(70, 5))
    lattice = Lattice(node, np.zeros((5, 5)), [0, 30, 70], edge2=np.zeros((5, 5, 5)))
    free, ruled = viterbi(lattice).labels, viterbi(constrain(lattice, rules)).labels
    around = [(labels[:-2] == 0) & (labels[1:-1] != 0) & (labels[2:] == 0) for labels in (free, ruled)]
    assert around[0][:28].any() or around[0][30:].any()
    assert not around[1][:28].any()
    assert not around[1][30:].any()
    assert rule_constraints(NAMES).transitions2 is None


def test_a_label_is_itself_before_it_is_a_pattern():
    names = ["*", "[ab]", "a"]
    rules = rule_constraints(names, starts="*", ends="[ab]")
    assert rules.starts.tolist() == [True, False, False]
    assert rules.ends.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("names", "rules", "message"),
    [
        (
            NAMES,
            {"forbid": [("O", "I-NPP")]},
            r"forbid \('O', 'I-NPP'\): none of the 5 labels matches.*'I-NP'",
        ),
        (NAMES, {"starts": "X-*"}, r"starts: none of the 5 labels matches 'X-\*'"),
        (NAMES, {"forbid": [("O",)]}, r"forbid must list pairs .*got \('O',\)"),
        (NAMES, {"forbid": ["OB"]}, "forbid must list pairs .*got 'OB'"),
        (NAMES, {"allow": [("O", 3)]}, r"allow \('O', 3\): a label or pattern must be a string, got 3"),
        (
            NAMES,
            {"only_after": {"I-NP": [None]}},
            "only_after: a label or pattern must be a string, got None",
        ),
        ([0, 1], {}, "need labels that are strings, got int 0"),
    ],
)
def test_errors(names, rules, message):
    refuses(message, rule_constraints, names, **rules)
