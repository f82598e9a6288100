"""Rules for readers: names of items, examples, the plain-text table, the page."""

import re

import pytest
from html_page import Page
from refusals import refuses

from crfkit.data.columns import Columns
from crfkit.exceptions import InputError
from crfkit.features.template import Template
from crfkit.mining import AssociationMiner, ItemNames, find_examples, rules_html, rules_text

TEMPLATE = Template.parse("U0:%x[-1,0]\nU1:%x[0,0]\nU2:%x[0,1]\nU3:%x[0,0]/%x[0,1]\nB")
# "that" is a determiner except after "so": all its single items vote for B-NP.
SENTENCES = [
    [("so", "RB", "O"), ("that", "DT", "B-SBAR"), ("dogs", "NN", "B-NP"), ("bark", "VB", "B-VP")],
    [("so", "RB", "O"), ("that", "DT", "B-SBAR"), ("cats", "NN", "B-NP"), ("sleep", "VB", "B-VP")],
    [("he", "PP", "B-NP"), ("likes", "VB", "B-VP"), ("that", "DT", "B-NP"), ("dog", "NN", "I-NP")],
    [("that", "DT", "B-NP"), ("idea", "NN", "I-NP")],
    [("that", "DT", "B-NP"), ("dog", "NN", "I-NP"), ("barks", "VB", "B-VP")],
    [("she", "PP", "B-NP"), ("saw", "VB", "B-VP"), ("that", "DT", "B-NP"), ("cat", "NN", "I-NP")],
    [("that", "DT", "B-NP"), ("cat", "NN", "I-NP")],
    [("that", "DT", "B-NP"), ("house", "NN", "I-NP")],
]


@pytest.fixture(scope="module")
def mined():
    columns = Columns.from_rows(SENTENCES)
    x, y = columns.without(2), columns.column(2)
    return AssociationMiner(template=TEMPLATE, n_jobs=1).fit(x, y).rules_.sorted("margin"), x, y


def test_names_of_items():
    names = ItemNames(TEMPLATE)
    assert str(names("U0:the")) == "x[-1,0]=the"
    assert names("U1:=") == ("x[0,0]", "=", "=")
    assert str(names("U0:_B-1")) == "x[-1,0]=(start)"
    assert str(names("U1:_B-1")) == "x[0,0]=_B-1"  # a cell inside the sentence
    assert str(names("U3:a/b")) == "U3:a/b"  # two cells: unchanged
    assert str(ItemNames(TEMPLATE, ["word", "pos"])("U2:NN")) == "pos[0]=NN"
    far = ItemNames(Template.parse("u:1:%x[2,0]\nu:2:%x[-9,0]"))
    assert str(far("u:1:_x+2")) == "x[2,0]=(end+1)"
    assert str(far("u:2:_x-#")) == "x[-9,0]=(start-#)"
    telling = Template.parse("u:before=%x[-1,0]\nu:w=%x[0,0]")
    assert str(ItemNames(telling)("u:before=the")) == "u:before=the"
    assert str(ItemNames(telling, ["w"])("u:before=the")) == "w[-1]=the"
    assert [str(i) for i in ItemNames(telling).of_rule(["u:w=a", "u:before=b"])] == ["u:before=b", "u:w=a"]
    for plain in ("bias", "w[-1]=the", "=", ":", "http://x", "a=", ""):
        assert str(ItemNames()(plain)) == plain
    assert ItemNames()("w[-1]==") == ("w[-1]", "=", "=")
    # Two lines with one name: the cell is ambiguous.
    assert str(ItemNames(Template.parse("U:%x[0,0]\nU:%x[1,0]"))("U:a")) == "U:a"


def test_the_table(mined):
    rules = mined[0]
    lines = rules_text(rules, 1, names=ItemNames(TEMPLATE, ["word", "pos"])).split("\n")
    assert re.split(" {2,}", lines[0].strip()) == ["support", "confidence", "singly", "rule"]
    rule = rules[0]
    numbers = [str(rule.support), "100%", f"{rule.rival} by {rule.margin}"]
    assert re.split(" {2,}", lines[1].strip())[:3] == numbers
    assert "word[-1]=so & word[0]=that" in rules_text(rules, 99, names=ItemNames(TEMPLATE, ["word", "pos"]))
    assert len(lines) == 2
    assert lines[1][lines[0].index("rule") :] == "word[-1]=so & word[0]=that & pos[0]=DT → B-SBAR"
    assert rules_text(rules, 0).count("\n") == 0
    found = rules_text(rules, 2, more={"weight": [1.25, -0.5], "n": [1000, 2]})
    assert "+1.25" in found
    assert "-0.50" in found
    assert "1,000" in found
    with pytest.raises(InputError, match="weight: expected one for each of the 2 rules, got 1"):
        rules_text(rules, 2, more={"weight": [1.0]})


def test_narrow_terminals_and_colours(mined):
    rules, x, y = mined
    examples = find_examples(rules, x, y, template=TEMPLATE, n_jobs=1)
    wide = rules_text(rules, 5, examples=examples)
    narrow = rules_text(rules, 5, examples=examples, width=62)
    assert max(map(len, narrow.split("\n"))) <= 62 < max(map(len, wide.split("\n")))
    joined = re.sub("\n +(?=→|U)", " ", narrow)  # a long rule continues on the next line
    assert joined == wide
    coloured = rules_text(rules, 5, examples=examples, colour=True)
    assert "\x1b[1mB-SBAR\x1b[0m" in coloured
    stripped = re.sub("\x1b\\[[0-9]+m", "", coloured)
    assert stripped == re.sub(r"\[(that|dogs|cats|so)\]", r"\1", wide)


def test_examples_are_where_the_rule_holds(mined):
    rules, x, y = mined
    found = find_examples(rules, x, y, template=TEMPLATE, n=9, window=1, n_jobs=1)
    names = TEMPLATE.attributes
    for rule, examples in zip(rules, found, strict=True):
        holds = {
            (i, t)
            for i, rows in enumerate(SENTENCES)
            for t, attributes in enumerate(names([row[:2] for row in rows]))
            if set(rule.items) <= set(attributes)
        }
        places = {(e.sequence, e.position) for e in examples}
        assert places
        assert places <= holds
        for e in examples:
            rows = SENTENCES[e.sequence]
            assert (e.word, e.label) == (rows[e.position][0], rows[e.position][2])
            assert e.before == tuple(row[0] for row in rows[max(0, e.position - 1) : e.position])
            assert e.starts == (e.position <= 1)
            assert e.ends == (e.position + 1 >= len(rows) - 1)
        # the same words are not shown twice
        assert len({(e.before, e.word, e.after) for e in examples}) == len(examples)


def test_examples_where_a_rule_is_wrong():
    rows = [[("a", "X")], [("a", "X")], [("a", "Y")], [("b", "Y")]]
    columns = Columns.from_rows([[(w, w, label)] for [(w, label)] in rows])
    template = "U0:%x[0,0]\nU1:%x[0,1]"
    x, y = columns.without(2), columns.column(2)
    miner = AssociationMiner(min_confidence=0.5, important=False, template=template, n_jobs=1)
    rules = miner.fit(x, y).rules_
    assert [str(rule) for rule in rules] == ["U0:a & U1:a → X"]
    # all three look the same, so only one is shown
    assert [[e.label for e in found] for found in find_examples(rules, x, y, template=template)] == [["X"]]
    other = find_examples(rules, x[2:], y[2:], template=template)
    assert other[0][0].label == "Y"
    assert "(Y here)" in rules_text(rules, examples=other)
    assert "Y here" in rules_html(rules, examples=other)


def test_words_of_ready_made_attributes():
    X = [[["a", "b"], ["a", "c"]], [["b", "a"], ["c"]], [["a"], ["b"]]]
    y = [["yes", "no"], ["yes", "no"], ["no", "no"]]
    rules = AssociationMiner(important=False, n_jobs=1).fit(X, y).rules_[-1:]
    words = [["x", "y"], ["z", "y"], ["q", "q"]]
    (found,) = find_examples(rules, X, y, words=words, n_jobs=1)
    assert [(e.word, e.after) for e in found] == [("x", ("y",)), ("z", ("y",))]
    refuses("X has no column of words", find_examples, rules, X, y)
    refuses("got 2 lists for 3 sequences", find_examples, rules, X, y, words=words[:2])


def test_the_page(mined, tmp_path):
    rules, x, y = mined
    examples = find_examples(rules, x, y, template=TEMPLATE, n_jobs=1)
    text = rules_html(
        rules, tmp_path / "rules.html", title="So that", names=ItemNames(TEMPLATE), examples=examples
    )
    assert (tmp_path / "rules.html").read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["rules.html"]
    page = Page(text)
    assert page.tags.count("tr") == len(rules) + 1
    assert "x[-1,0]=so & x[0,0]=that" in page.words
    assert f"{len(rules)} rules from 25 positions" in page.words
    assert ("value", "B-SBAR") in page.attributes
    assert page.loads == []
    assert "http" not in text.replace("http-equiv", "")
    cut = rules_html(rules, n=1, more={"weight": [0.5] * len(rules)})
    assert "the first 1 are here" in Page(cut).words
    assert "+0.50" in cut


def test_everything_is_escaped():
    bad = "<script>alert('x')</script>&amp;\"{title}%s"
    X = [[[bad, "b"], [bad, "c"]], [["b", bad], ["c"]], [[bad], ["b"]]]
    y = [[bad, "no"], [bad, "no"], ["no", "no"]]
    rules = AssociationMiner(important=False, n_jobs=1).fit(X, y).rules_[-1:]
    examples = find_examples(rules, X, y, words=[[bad, bad]] * 3, n_jobs=1)
    text = rules_html(rules, title=bad, examples=examples, more={bad: [bad]})
    page = Page(text)
    assert page.tags.count("script") == 1
    assert page.words.count(bad) >= 6
    assert ("data-l", bad) in page.attributes
