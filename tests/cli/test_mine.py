"""``crfkit mine``, and models with rules in ``train``, ``tag`` and ``inspect``: the same as in Python."""

import csv
import inspect
import io
import json

import numpy as np
import pytest

from crfkit.cli.default_template import default_template
from crfkit.cli.main import parser
from crfkit.cli.rule_options import USE_DEFAULTS, USES
from crfkit.io.columns import read_columns
from crfkit.mining import AssociationMiner, Rules
from crfkit.mining import associations as associations_module
from crfkit.models.linear.crf import CRF

from .conftest import as_text, sentences


@pytest.fixture(scope="module")
def place(folder, tmp_path_factory):
    """Write rules.crfkit, and a model for each use."""
    from crfkit.cli import main

    made = tmp_path_factory.mktemp("mine")
    train = str(folder / "train.txt")
    assert main(["mine", train, "-o", str(made / "rules.crfkit"), "-q", "--top", "0"]) == 0
    for use in USES:
        assert main(["train", train, "-m", str(made / f"{use}.crfkit"), "--associations", use, "-q"]) == 0
    return made


def in_python(folder, **settings) -> Rules:
    columns = read_columns(folder / "train.txt")
    miner = AssociationMiner(template=default_template(2), n_jobs=1, **settings)
    return miner.fit(columns.without(2), columns.column(2)).rules_


def as_set(rules: Rules) -> set[tuple[object, ...]]:
    return {(frozenset(rule.items), *rule[1:]) for rule in rules}


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {}),
        (["--min-support", 5, "--all"], {"min_support": 5, "important": False}),
        (["--max-support", 4, "--minimal"], {"max_support": 4, "minimal": True}),
        (["--lengths", 3, "--min-confidence", 0.9], {"lengths": (3, 3), "min_confidence": 0.9}),
        (["--lengths", "1-2", "--items", "U0", "--items", "U1"], {"lengths": (1, 2), "items": ("U0", "U1")}),
    ],
)  # fmt: skip
def test_the_same_as_in_python(run, folder, tmp_path, options, settings):
    ran = run.ok("mine", folder / "train.txt", "-o", tmp_path / "r.crfkit", *options)
    rules = in_python(folder, **settings)
    assert len(rules)
    assert as_set(Rules.load(tmp_path / "r.crfkit")) == as_set(rules)
    assert f"{len(rules):,} rules from {rules.n_positions:,} positions in " in ran.err
    assert f"written to {tmp_path / 'r.crfkit'}" in ran.err


def test_the_listing(run, folder):
    ran = run("mine", folder / "train.txt", "--columns", "word,pos", "--top", 3, "-q")
    assert (ran.code, ran.err) == (0, "")
    head, *lines, last = ran.out.splitlines()
    assert head.split() == ["support", "confidence", "singly", "rule"]
    assert len(lines) == 6  # each rule, and an example
    assert "word[-2]=the & pos[-2]=DT & pos[0]=VB → B-VP" in lines[0]
    assert "[was]" in lines[1]
    assert last == f"… and {len(in_python(folder)) - 3:,} more"
    plain = run("mine", folder / "train.txt", "--top", 2, "--examples", 0, "-q").out.splitlines()
    assert len(plain) == 4
    assert "x[0,1]=VB" in plain[1]
    assert run("mine", folder / "train.txt", "--top", 0, "-q").out == ""


def test_order_and_filters(run, place):
    rules = Rules.load(place / "rules.crfkit")
    for by in ("support", "coverage", "margin", "length", "significance", "confidence"):
        ran = run("mine", place / "rules.crfkit", "--sort", by, "--json", "-", "-q")
        found = [tuple(record["items"]) for record in json.loads(ran.out)]
        assert found == [rule.items for rule in rules.sorted(by)], by
    assert "log10 p" in run("mine", place / "rules.crfkit", "--sort", "significance").out
    some = json.loads(
        run("mine", place / "rules.crfkit", "--label", "B-PP", "--item", "x[0,1]=IN", "--json", "-").out
    )
    assert len(some) == len(rules.where(label="B-PP", item="U102:IN")) > 0
    again = run("mine", place / "rules.crfkit", "--label", "B-PP", "--item", "U102:IN", "--json", "-")
    assert json.loads(again.out) == some


def test_bounds_on_a_file_of_rules(run, place, tmp_path):
    rules = Rules.load(place / "rules.crfkit")
    options = ["--min-support", 5, "--max-support", 20, "--lengths", "3-3", "--items", "U1"]
    run.ok("mine", place / "rules.crfkit", *options, "-o", tmp_path / "few.crfkit", "--top", 1)
    kept = [
        rule
        for rule in rules
        if 5 <= rule.support <= 20 and len(rule.items) == 3 and all(i.startswith("U1") for i in rule.items)
    ]
    assert 0 < len(kept) < len(rules)
    assert list(Rules.load(tmp_path / "few.crfkit")) == kept


def test_tables_and_pages(run, folder, place, tmp_path):
    paths = [tmp_path / f"r.{kind}" for kind in ("csv", "json", "html")]
    options = [str(x) for path in paths for x in (f"--{path.suffix[1:]}", path)]
    run.ok("mine", place / "rules.crfkit", folder / "train.txt", *options, "--top", 0, "-q")
    rules = Rules.load(place / "rules.crfkit")
    rows = list(csv.DictReader(io.StringIO(paths[0].read_text(encoding="utf-8"))))
    records = json.loads(paths[1].read_text(encoding="utf-8"))
    assert len(rows) == len(records) == len(rules)
    assert int(rows[0]["support"]) == records[0]["support"] == rules.support.max()
    page = paths[2].read_text(encoding="utf-8")
    assert page.count("<tr") == len(rules) + 1
    assert "Rules of rules.crfkit, train.txt" in page
    assert "<mark>was</mark>" in page
    run("mine", place / "rules.crfkit", "--html", paths[2], "--html-rules", 5, "-q")
    assert paths[2].read_text(encoding="utf-8").count("<tr") == 6
    to_stdout = run("mine", place / "rules.crfkit", "--csv", "-", "-q")
    assert to_stdout.out == paths[0].read_text(encoding="utf-8")


def test_other_data(run, folder):
    """Several files, a table with a header, standard input."""
    both = run.ok("mine", folder / "train.txt", folder / "test.txt", "--top", 2, "-q")
    assert both.out.count("[") > 2  # with examples
    table = "word,pos,chunk\n" + as_text(sentences(60), separator=",")
    named = run.ok("mine", "-", "--format", "csv", "--top", 1, "-q", stdin=table)
    assert "word[-2]=the & pos[-2]=DT & pos[0]=VB → B-VP" in named.out


def test_ready_made_attributes(run, tmp_path):
    lines = ["yes\ta\tb", "no\ta\tc", "", "yes\tb\ta", "no\tc", ""]
    lines += ["no\ta", "no\ta", "no\tb", ""] * 3
    (tmp_path / "d.txt").write_text("\n".join(lines), encoding="utf-8")
    ran = run.ok("mine", tmp_path / "d.txt", "--format", "crfsuite", "--columns", "word", "-q")
    assert ran.out.splitlines()[1].endswith("a & b → yes")


def test_comparison(run, folder, place):
    ran = run("mine", folder / "train.txt", "--compare", folder / "test.txt", "--top", 0, "-q", "--c2", 0.5)
    assert ran.code == 0, ran.err
    head, *rows = [line.split() for line in ran.out.splitlines()]
    assert head == ["use", "rules", "features", "seconds", "F1", "p"]
    assert [row[0] for row in rows] == ["none", *USES]
    assert int(rows[1][1]) == len(in_python(folder))
    assert int(rows[3][1]) == len(in_python(folder, min_support=20))
    assert int(rows[4][1].replace(",", "")) == len(in_python(folder, important=False))
    given = run("mine", place / "rules.crfkit", folder / "train.txt", "--compare", folder / "test.txt", "-q")
    assert given.code == 0, given.err
    assert "votes" not in given.out  # on their own training data the rules vote too well
    assert "\nconstraints" in given.out


@pytest.mark.parametrize("use", USES)
def test_train_and_tag(run, folder, place, use):
    columns, test = read_columns(folder / "train.txt"), read_columns(folder / "test.txt")
    miner = AssociationMiner(use=use, n_jobs=1, **USE_DEFAULTS[use])
    crf = CRF(template=default_template(2), associations=miner).fit(columns.without(2), columns.column(2))
    model = CRF.load(place / f"{use}.crfkit")
    assert as_set(model.rules_) == as_set(crf.rules_)
    assert model.tagger_.associations.use == use
    tagged = run("tag", place / f"{use}.crfkit", folder / "words.txt", "--label-only", "-q")
    labels = [line.split("\n") for line in tagged.out.strip().split("\n\n")]
    assert labels == crf.predict(test.without(2))
    for options in (["--marginals"], ["--why"], ["--nbest", 2], ["--posterior"], ["--score"]):
        run.ok("tag", place / f"{use}.crfkit", folder / "words.txt", "-q", *options)
    legal = run("tag", place / f"{use}.crfkit", folder / "words.txt", "--label-only", "--legal", "IOB2", "-q")
    assert legal.code == 0
    assert "\nO\nI-" not in legal.out


def test_why_names_the_rule(run, folder, place):
    found = run("tag", place / "weighted.crfkit", folder / "words.txt", "--why", 20, "-q").out
    assert " & U" in found
    assert " → B-VP +" in found
    votes = run("tag", place / "votes.crfkit", folder / "words.txt", "--why", 20, "-q").out
    assert "rules for B-NP: " in votes


def test_forced_labels_give_way(run, place):
    """The user's constraints and known labels take precedence over rules."""
    model = place / "constraints.crfkit"
    sentence = "the DT _\ndog NN _\nsees VB _\nthe DT _\ncat NN _\n. . _\n"
    free = run("tag", model, "--known-column", 2, "--label-only", "-q", stdin=sentence)
    assert free.out.split() == ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "O"]
    assert CRF.load(model).tagger_.encode([[("the", "DT"), ("dog", "NN"), ("sees", "VB")]]).hints is not None
    known = run(
        "tag", model, "--known-column", 2, "--label-only", "-q", stdin=sentence.replace("VB _", "VB O")
    )
    assert known.out.split()[2] == "O"
    forbidden = run.ok(
        "tag", model, "--known-column", 2, "--label-only", "-q", "--forbid", "*>B-VP", stdin=sentence
    )
    assert "B-VP" not in forbidden.out


def test_train_with_a_file_of_rules(run, folder, place, tmp_path):
    model, train, rules = tmp_path / "m.crfkit", folder / "train.txt", place / "rules.crfkit"
    ran = run.ok("train", train, "-m", model, "--associations", "features", "--rules", rules)
    table = Rules.load(rules)
    assert f"rules        {len(table):,} as features" in ran.err
    mined, given = CRF.load(place / "features.crfkit"), CRF.load(model)
    assert given.state_features_ == pytest.approx(mined.state_features_, abs=1e-3)
    # the rules of a model work as well
    other = run(
        "train", train, "-m", model, "--associations", "weighted", "--rules", place / "features.crfkit"
    )
    assert f"rules        {len(table):,} as weighted features" in other.err
    # constraints use only well supported rules, and say so
    ran = run("train", train, "-m", model, "--associations", "constraints", "--rules", rules)
    frequent = int((table.support >= 20).sum())
    assert f"{frequent:,} of its {len(table):,} rules have a support of 20 or more" in ran.err
    assert len(CRF.load(model).rules_) == frequent
    ran = run(
        *("train", train, "-m", model, "--associations", "constraints", "--rules", rules, "--rule-support", 5)
    )
    assert len(CRF.load(model).rules_) == int((table.support >= 5).sum())
    ran = run("train", train, "-m", model, "--associations", "votes", "--rules", rules)
    assert "trust them too much" in ran.err
    # in data with few of the items, few rules can hold
    small = tmp_path / "small.txt"
    small.write_text(as_text(sentences(3)), encoding="utf-8")
    ran = run("train", small, "-m", model, "--associations", "features", "--rules", rules)
    assert f" of {len(table):,} as features" in ran.err


def test_training_bounds(run, folder, tmp_path):
    options = ["--rule-support", 4, "--rule-lengths", "2-2", "--rule-items", "U1", "--rule-confidence", 0.9]
    run.ok("train", folder / "train.txt", "-m", tmp_path / "m", "--associations", "features", *options)
    rules = in_python(folder, min_support=4, lengths=(2, 2), items="U1", min_confidence=0.9)
    assert as_set(CRF.load(tmp_path / "m").rules_) == as_set(rules)


def test_going_on(run, folder, place, tmp_path):
    model = tmp_path / "m.crfkit"
    ran = run.ok("train", folder / "test.txt", "-m", model, "--continue", place / "features.crfkit")
    assert len(CRF.load(model).rules_) == len(Rules.load(place / "rules.crfkit"))
    ran = run(
        *("train", folder / "train.txt", "-m", model, "--start", place / "features.crfkit"),
        *("--associations", "features"),
    )
    assert ran.code == 0, ran.err
    run.ok("train", folder / "train.txt", "-m", model, "--associations", "features", "--c1", 1, "-q")
    assert 0 < len(CRF.load(model).rules_) < len(Rules.load(place / "rules.crfkit"))
    none = run.ok("train", folder / "train.txt", "-m", model, "--associations", "features", "--c1", 30, "-q")
    assert "no rule has a weight" in none.err


def test_inspect(run, place):
    shown = run("inspect", place / "weighted.crfkit")
    assert "association rules, used as weighted features; --rules 20 lists the strongest" in shown.out
    assert "associations__" not in shown.out
    summary = json.loads(run("inspect", place / "votes.crfkit", "--json").out)
    assert summary["associations"]["use"] == "votes"
    crf = CRF.load(place / "features.crfkit")
    weights = crf.state_features_
    records = json.loads(run("inspect", place / "features.crfkit", "--rules", 7, "--json").out)["rules"]
    assert len(records) == 7
    for record in records:
        name = " & ".join(record["items"]) + f" → {record['label']}"
        assert record["weight"] == pytest.approx(weights[name, record["label"]])
    ranked = [abs(record["weight"]) for record in records]
    of_rules = [abs(w) for (name, _), w in weights.items() if " → " in name]
    assert ranked == pytest.approx(sorted(of_rules, reverse=True)[:7])
    lines = run("inspect", place / "features.crfkit", "--rules", 4, "--label", "B-VP").out.splitlines()
    assert "weight" in lines[0]
    assert len(lines) == 6
    assert all(line.endswith("→ B-VP") for line in lines[1:5])
    heavy = json.loads(run("inspect", place / "weighted.crfkit", "--rules", 9, "--json").out)["rules"]
    say = [abs(record["weight"] * record["value"]) for record in heavy]
    assert say == sorted(say, reverse=True)
    frequent = run("inspect", place / "constraints.crfkit", "--rules", 1).out
    assert str(int(CRF.load(place / "constraints.crfkit").rules_.support.max())) in frequent


def test_no_rules_in_the_model(run, folder):
    run.fails(1, "has no association rules", "inspect", folder / "model.crfkit", "--rules", 3)
    run.fails(1, "a model without rules", "mine", folder / "model.crfkit")


OTHER = "U000:%x[0,0]\nU001:%x[-1,0]\nB\n"


@pytest.mark.parametrize(
    ("extra", "code", "message"),
    [
        (["--min-support", 0], 2, "0 is less than 1"),
        (["--min-support", 9999], 1, "no rules in 527 positions"),
        (["--min-support", 5, "--max-support", 3], 2, "--max-support 3 is below --min-support 5"),
        (["--min-confidence", 0], 2, "expected a number above 0 and up to 1, got 0"),
        (["--min-confidence", 1.5], 2, "expected a number above 0 and up to 1, got 1.5"),
        (["--lengths", "3-2"], 2, "expected a range such as 2-3"),
        (["--lengths", "two"], 2, "range of lengths, such as 2-3"),
        (["--items", "nothing"], 1, "no position has an item"),
        (["--label", "B-XX"], 1, "label 'B-XX' is not among the 5 known ones"),
        (["--label", "I-NP", "--item", "x[0,1]=."], 1, "no rule has the item"),
        (["--item", "nothing"], 1, "no rule has the item 'nothing'; items look like x["),
        (["--sort", "fixes", "--top", 1, "--csv", "-"], 1, "have no fixes"),
        (["--csv", "-", "--json", "-"], 2, "only one of"),
        (["--html", "nowhere/r.html"], 1, "there is no directory"),
        (["--compare", "nowhere"], 1, "nowhere: No such file"),
    ],
)  # fmt: skip
def test_wrong_usage(run, folder, tmp_path, monkeypatch, extra, code, message):
    monkeypatch.chdir(tmp_path)
    run.fails(code, message, "mine", folder / "train.txt", "-o", tmp_path / "r.crfkit", *extra)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("extra", "code", "message"),
    [
        (["--rules", "RULES"], 2, "--rules needs --associations"),
        (["--rule-support", 3], 2, "--rule-support needs --associations"),
        (["--associations", "features", "--rules", "TRAIN"], 1, "expected association rules"),
        (["--associations", "features", "--rules", "nowhere"], 1, "nowhere: No such file"),
        (["--associations", "features", "--rules", "RULES", "-t", "OTHER"], 1, "mined with another template"),
        (["--associations", "features", "--rules", "RULES", "--rule-lengths", "2-2"], 2, "with --rules: "),
        (["--associations", "features", "--rules", "RULES", "--rule-support", 999], 1, "none of its"),
        (["--associations", "features", "--rule-support", 9999], 1, "no rules in 527 tokens"),
        (["--associations", "features", "--rule-confidence", 2], 2, "number above 0 and up to 1, got 2"),
        (["--associations", "constraints", "--rule-confidence", 0.9], 2, "need rules with confidence 1"),
        (["--associations", "features", "--continue", "MODEL"], 2, "cannot be combined with --continue"),
        (["--associations", "votes", "--features", "few.json"], 2, "cannot be combined with --associations"),
        (["--associations", "everything"], 2, "invalid choice"),
    ],
)  # fmt: skip
def test_wrong_training(run, folder, place, tmp_path, extra, code, message):
    (tmp_path / "other").write_text(OTHER, encoding="utf-8")
    files = {
        "RULES": place / "rules.crfkit",
        "TRAIN": folder / "train.txt",
        "MODEL": folder / "model.crfkit",
        "OTHER": tmp_path / "other",
    }
    ran = run("train", folder / "train.txt", "-m", tmp_path / "m", *(files.get(x, x) for x in extra))
    assert (ran.code, message in ran.err) == (code, True), ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_damaged_files(run, folder, place, tmp_path):
    content = (place / "rules.crfkit").read_bytes()
    bad = tmp_path / "bad.crfkit"
    for broken in (content[: len(content) // 2], content[:-200] + b"\xff" * 200, content[:70]):
        bad.write_bytes(broken)
        for command in (["mine", bad], ["train", folder / "train.txt", "-m", tmp_path / "m", "--rules", bad]):
            ran = run(*command, *(["--associations", "features"] if command[0] == "train" else []))
            assert ran.code == 1
            assert "bad.crfkit" in ran.err
    rules = Rules.load(place / "rules.crfkit")
    for record in ({"template": 3}, {"template": {"text": "U0:%x["}}, {"columns": [1]}):
        rules.save(bad, record=record)
        run.fails(1, "bad.crfkit: ", "mine", bad)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.crfkit"]


def test_what_is_read_is_not_overwritten(run, folder, place):
    rules = place / "rules.crfkit"
    assert "-o needs a file, not standard output" in run("mine", rules, "-o", "-").err
    assert "would overwrite" in run("mine", rules, "-o", rules).err
    assert "would overwrite" in run("mine", rules, folder / "train.txt", "--csv", folder / "train.txt").err
    train = ("train", folder / "train.txt", "--associations", "features", "--rules", rules)
    assert "would overwrite" in run(*train, "-m", rules).err
    assert "only work when mining" in run("mine", rules, "--minimal").err
    assert "--compare needs DATA" in run("mine", rules, "--compare", folder / "test.txt").err
    for command in ("inspect", "tag"):
        assert "got 'association rules'" in run(command, rules).err


def test_other_words_than_the_rules_know(run, place, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("x Y A\nz Y B\n", encoding="utf-8")
    ran = run.ok("mine", place / "rules.crfkit", other, "--top", 2)
    assert "no listed rule occurs in the data" in ran.err


def test_defaults_are_the_miners():
    parameters = inspect.signature(AssociationMiner.__init__).parameters
    arguments = vars(parser(["mine"]).parse_args(["mine", "x"]))
    assert {"min_support", "max_support", "min_confidence", "lengths", "items", "minimal"} <= set(arguments)
    assert all(arguments[name] in (None, False) for name in parameters if name in arguments)
    assert associations_module.USES == USES
    help_text = parser(["mine"]).parse_args
    with pytest.raises(SystemExit):
        help_text(["mine", "--help"])


def test_a_stop_leaves_nothing(run, folder, tmp_path, monkeypatch):
    import crfkit.mining.miner as module

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "mine_rules", stop)
    ran = run("mine", folder / "train.txt", "-o", tmp_path / "r.crfkit")
    assert ran.code == 130
    assert list(tmp_path.iterdir()) == []


def test_rule_weights_where_there_are_none(place):
    from crfkit.models.linear.facts import Facts

    assert Facts(CRF.load(place / "votes.crfkit").tagger_).rule_weights() is None
    weights = Facts(CRF.load(place / "features.crfkit").tagger_).rule_weights()
    assert np.count_nonzero(weights) > 0


def test_tag_under_rules(run, folder, place):
    model, rules, data = folder / "model.crfkit", place / "rules.crfkit", folder / "test.txt"
    result = run("tag", model, data, "--rules", rules, "--label-only", "-q")
    crf = CRF.load(model)
    expected = crf.under(Rules.load(rules)).predict(read_columns(data).without(2))
    assert [line.split() for line in result.out.split("\n\n") if line.strip()] == expected
    assert "already has rules" in run("tag", place / "votes.crfkit", data, "--rules", rules).err
