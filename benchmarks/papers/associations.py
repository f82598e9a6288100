"""Rare-but-important associations on CoNLL-2000: base, features, weighted, constraints, votes, second order.

    python benchmarks/papers/associations.py choose --cache cv.json  # cross-validates on the training file
    python benchmarks/papers/associations.py test --cache cv.json    # one look at the test file
    python benchmarks/papers/associations.py beyond --cache cv.json  # other ways to choose rules

Every setting (regularisation, supports, value function) is chosen by the segment F1 of a cross-validation on
the training file; results are kept in the cache, so that an interrupted run goes on. The numbers beside ours
are those of the paper (FlexCRFs, the same templates; ../shared/methods/associations.md restates them).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tables import provenance, publish, seconds, table
from tasks import data_directory

from crfkit import CRF
from crfkit.data import Columns, Encoded, Vocabulary
from crfkit.exceptions import ConvergenceWarning
from crfkit.features import Template
from crfkit.io import read_columns
from crfkit.metrics import bootstrap_difference, mcnemar, segment_f1
from crfkit.mining import AssociationMiner, Rules

TEMPLATES = Path(__file__).resolve().parents[1]  # chunking.template and chunking_rich.template
SINGLE = "u[01][0-4]:"  # the words and tags among the attributes of the latter
PAPER = {"base": 93.12, "features": 93.27, "weighted": 93.39, "constraints": 92.94, "second order": 93.92}
VALUES: dict[str, Callable[[Any], Any]] = {
    "0.3": lambda support: np.full(len(support), 0.3),
    "(1 - 1/s) / 2": lambda support: (1 - 1 / support) / 2,
}
Setting = dict[str, Any]  # of the CRF; "value" and those of the miner below "rules"; "rich": more templates


def grid() -> dict[str, list[Setting]]:
    """The settings among which cross-validation chooses, by configuration."""
    strengths = (0.05, 0.1, 0.25)
    votes = {"use": "votes", "important": False}
    return {
        "base": [{"c2": c2} for c2 in (0.03, *strengths)],
        "features": [
            {"c2": c2, "rules": {"use": "features", "min_support": n}} for c2 in (0.1, 0.25) for n in (2, 5)
        ],
        "weighted": [
            *(
                {"c2": c2, "rules": {"use": "weighted", "max_support": n}}  # usupp - supp + 2
                for c2, n in ((0.1, 3), (0.1, 20), (1.0, 3))
            ),
            *({"c2": 0.1, "rules": {"use": "weighted"}, "value": name} for name in VALUES),
        ],
        "constraints": [
            {"c2": 0.1, "rules": {"use": "constraints", "min_support": n}} for n in (20, 100, 500)
        ],
        "votes": [
            *({"c2": 0.1, "rules": {**votes, "loudness": loudness}} for loudness in (0.03, 0.1, 0.3)),
            *({"c2": c2, "rules": {**votes, "loudness": 0.1}} for c2 in (0.05, 0.25)),
            {"c2": 0.1, "rules": {**votes, "loudness": 0.1, "important": True}},
        ],
        "second order": [{"c2": c2, "order": 2} for c2 in (0.1, 0.25)],
        "second order, votes": [
            {"c2": c2, "order": 2, "rules": {**votes, "loudness": 0.1}} for c2 in (0.1, 0.25)
        ],
        "more templates": [{"c2": c2, "rich": True} for c2 in (0.05, 0.1)],
        "more templates, votes": [
            {"c2": c2, "rich": True, "rules": {**votes, "loudness": 0.1, "items": SINGLE}} for c2 in strengths
        ],
        "more templates, second order": [{"c2": 0.1, "order": 2, "rich": True}],
        "more templates, second order, votes": [
            {"c2": 0.1, "order": 2, "rich": True, "rules": {**votes, "loudness": 0.1, "items": SINGLE}}
        ],
    }


def beyond() -> dict[str, Setting]:
    """Other choices of rules, used as features, at the strength that suits the base."""
    plain: Setting = {"c2": 0.1}
    features = {"use": "features"}
    return {
        "no rules": plain,
        "important": {**plain, "rules": features},
        "all, not only important": {**plain, "rules": {**features, "important": False}},
        "minimal": {**plain, "rules": {**features, "minimal": True}},
        "minimal, all": {**plain, "rules": {**features, "minimal": True, "important": False}},
        "most significant 50,000": {**plain, "rules": features, "choose": "significance"},
        "right where the base errs": {**plain, "rules": {**features, "important": False}, "choose": "errors"},
        "largest gradient 50,000": {**plain, "rules": features, "choose": "gradient"},
    }


def fit(setting: Setting, X: Columns, y: list[list[str]]) -> CRF:
    """The model of a setting."""
    setting = dict(setting)
    rules, value, choose, rich = (setting.pop(name, None) for name in ("rules", "value", "choose", "rich"))
    template = template_of(rich)
    miner = None
    if rules is not None:
        miner = AssociationMiner(**miner_settings(rules), value=None if value is None else VALUES[value])
        if choose is not None:
            miner.set_params(rules=CHOICES[choose](miner, template, X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return CRF(template=template, associations=miner, **setting).fit(X, y)


def template_of(rich: bool | None) -> Template:
    """The 19 templates, or more of them."""
    return Template.read(TEMPLATES / ("chunking_rich.template" if rich else "chunking.template"))


def miner_settings(rules: dict[str, Any]) -> dict[str, Any]:
    """As the miner takes them: items are named by a pattern."""
    return {k: re.compile(v) if k == "items" else v for k, v in rules.items()}


def most_significant(
    miner: AssociationMiner, template: Template, X: Columns, y: Any, n: int = 50_000
) -> Rules:
    """The rules least probable by chance."""
    return miner.set_params(template=template).fit(X, y).rules_.sorted("significance")[:n]


def right_where_wrong(miner: AssociationMiner, template: Template, X: Columns, y: Any) -> Rules:
    """Rules that are right at two or more positions where a cross-validated base is wrong."""
    predicted: list[Any] = [None] * len(y)
    for train, held in folds(len(y), 4):
        model = CRF(template=template, c2=0.1).fit(X.subset(train), [y[i] for i in train])
        for i, labels in zip(held, model.predict(X.subset(held)), strict=True):
            predicted[i] = labels
    rules = miner.set_params(template=template).fit(X, y, y_pred=predicted).rules_
    return rules[rules.fixes >= 2]


def largest_gradient(
    miner: AssociationMiner, template: Template, X: Columns, y: Any, n: int = 50_000
) -> Rules:
    """The rules whose features would change the trained base's likelihood fastest."""
    from crfkit.data.labels import encode_labels
    from crfkit.features.index import build_index
    from crfkit.models.linear.continuation import transfer
    from crfkit.objectives.linear_likelihood import LinearLikelihood

    base = CRF(template=template, c2=0.1).fit(X, y).tagger_
    vocabulary = Vocabulary()
    sequences = template.encode(X, vocabulary, grow=True)
    X = Encoded(sequences, vocabulary)
    with_rules = miner.set_params(template=template).fit(X, y).transform(X)
    labels = encode_labels(y, base.classes, sequences.offsets)
    index = build_index(with_rules.sequences, labels, len(base.classes))
    objective = LinearLikelihood(with_rules.sequences, labels, index, n_threads=2)
    start = transfer(base, with_rules.vocabulary, base.classes, index)
    slope = objective.weights(objective(objective.parameters(start)).gradient)[-index.sizes[-1] :]
    rules, own = miner.rules_, miner.associations_.attributes
    features = np.searchsorted(index.state_keys(), own.astype(np.int64) * len(base.classes) + rules.labels)
    return rules[np.argsort(-np.abs(slope[features]), kind="stable")[:n]]


CHOICES = {"significance": most_significant, "errors": right_where_wrong, "gradient": largest_gradient}


def folds(n: int, k: int) -> list[tuple[list[int], list[int]]]:
    """Training and held-out sequences of each part."""
    part = np.random.default_rng(0).permutation(n) % k
    return [(np.flatnonzero(part != i).tolist(), np.flatnonzero(part == i).tolist()) for i in range(k)]


class Checker:
    """Cross-validation with a memory."""

    def __init__(self, X: Columns, y: list[list[str]], n_folds: int, cache: Path | None) -> None:
        self.X, self.y, self.n_folds, self.cache = X, y, n_folds, cache
        self.known: dict[str, list[float]] = {}
        if cache is not None and cache.exists():
            self.known = json.loads(cache.read_text())

    def f1(self, setting: Setting) -> float:
        """Mean segment F1 over the parts, in percent."""
        key = f"{len(self.y)} sentences, {self.n_folds} parts: {json.dumps(setting, sort_keys=True)}"
        if key not in self.known:
            scores = []
            for train, held in folds(len(self.y), self.n_folds):
                model = fit(setting, self.X.subset(train), [self.y[i] for i in train])
                found = model.predict(self.X.subset(held))
                scores.append(100 * segment_f1([self.y[i] for i in held], found))
            self.known[key] = scores
            if self.cache is not None:
                self.cache.write_text(json.dumps(self.known, indent=1))
        sys.stderr.write(f"{np.mean(self.known[key]):.3f}  {json.dumps(setting)}\n")
        return float(np.mean(self.known[key]))


def words(setting: Setting) -> str:
    """A setting, short."""
    rules = setting.get("rules", {})
    said = [f"c2 {setting['c2']:g}"]
    said += [f"{name} {rules[name]}" for name in sorted(rules) if name not in ("use", "items")]
    return ", ".join([*said, *([f"value {setting['value']}"] if "value" in setting else [])])


def choose(checker: Checker) -> tuple[str, dict[str, Setting]]:
    """The best setting of each configuration, and a table of all."""
    chosen, rows = {}, []
    for name, settings in grid().items():
        scores = [checker.f1(setting) for setting in settings]
        best = int(np.argmax(scores))
        chosen[name] = settings[best]
        rows += [
            [name, words(setting), f"{score:.2f}", "chosen" if i == best else ""]
            for i, (setting, score) in enumerate(zip(settings, scores, strict=True))
        ]
    return table(["configuration", "setting", "F1, cross-validated", ""], rows), chosen


def test(checker: Checker, X_test: Columns, y_test: list[list[str]]) -> str:
    """Each configuration with its chosen setting, trained on the whole training file."""
    text, chosen = choose(checker)
    rows = []
    base: list[list[str]] = []
    for name, setting in chosen.items():
        began = time.perf_counter()
        model = fit(setting, checker.X, checker.y)
        spent = time.perf_counter() - began
        mining, n_rules = None, 0
        if "rules" in setting:
            n_rules = len(model.rules_)
            mining = mining_seconds(setting, checker.X, checker.y)
        found = model.predict(X_test)
        base = base or found
        score = 100 * segment_f1(y_test, found)
        tests = ["", ""]
        if name != "base":
            difference = bootstrap_difference(y_test, found, base, segment_f1, n=2000, random_state=0)
            tests = [f"{difference.p_value:.3g}", f"{mcnemar(y_test, base, found).p_value:.3g}"]
        rows.append(
            [
                name,
                words(setting),
                f"{n_rules:,}" if n_rules else "",
                f"{model.tagger_.index.n_features:,}",
                seconds(mining) if mining is not None else "",
                seconds(spent),
                f"{score:.2f}",
                f"{score - 100 * segment_f1(y_test, base):+.2f}",
                *tests,
                f"{PAPER[name]:.2f}" if name in PAPER else "",
            ]
        )
    header = ["configuration", "setting", "rules", "features", "mining once", "mining and training", "F1"]
    header += ["against base", "p (bootstrap)", "p (McNemar)", "paper"]
    return f"{text}\n\n{table(header, rows)}"


def mining_seconds(setting: Setting, X: Columns, y: list[list[str]]) -> float:
    """How long the rules alone take, from attributes to table."""
    template = template_of(setting.get("rich"))
    miner = AssociationMiner(**miner_settings(setting["rules"]))
    began = time.perf_counter()
    sequences, labels, vocabulary, classes = miner.set_params(template=template).read(X, y)
    miner.find(sequences, labels, vocabulary, classes, template)
    return time.perf_counter() - began


def compare_choices(checker: Checker) -> str:
    """Ways to choose rules, by cross-validation alone."""
    base = checker.f1(beyond()["no rules"])
    rows = []
    for name, setting in beyond().items():
        model = fit(setting, checker.X, checker.y)
        n = len(model.rules_) if "rules" in setting else 0
        score = checker.f1(setting)
        rows.append(
            [name, f"{n:,}", f"{model.tagger_.index.n_features:,}", f"{score:.2f}", f"{score - base:+.2f}"]
        )
    return table(["rules as features", "rules", "features", "F1, cross-validated", "against none"], rows)


def main() -> None:
    """Chooses, tests, or tries other ways."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["choose", "test", "beyond"])
    parser.add_argument("--folds", type=int, default=3, help="parts of the cross-validation (default 3)")
    parser.add_argument("--cache", type=Path, help="a file that keeps what cross-validation found")
    parser.add_argument("--quick", action="store_true", help="30 sentences and two parts, to try the script")
    parser.add_argument("--markdown", type=Path, help="write the table here as well")
    options = parser.parse_args()
    directory = data_directory("conll2000")
    n = 30 if options.quick else None
    train, held = (read_columns(directory / f"{name}.txt")[:n] for name in ("train", "test"))
    checker = Checker(train.without(2), train.column(2), 2 if options.quick else options.folds, options.cache)
    if options.part == "choose":
        text = choose(checker)[0]
    elif options.part == "beyond":
        text = compare_choices(checker)
    else:
        text = test(checker, held.without(2), held.column(2))
    publish(f"{text}\n\n{provenance('benchmarks/papers/associations.py')}", options.markdown)


if __name__ == "__main__":
    main()
