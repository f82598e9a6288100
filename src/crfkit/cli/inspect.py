"""``crfkit inspect``: what is in a model, for reading or as JSON."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from crfkit.cli.loading import data_record, load_model
from crfkit.cli.messages import UsageError, ending
from crfkit.cli.options import whole
from crfkit.cli.rule_options import use_in_words
from crfkit.cli.tables import matrix, pad, screen_width, shorten, width_of
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crfkit.cli.model_rules import ModelRules
    from crfkit.models.linear.facts import Facts, Feature
    from crfkit.models.linear.tagger import LinearTagger

USAGE = "MODEL [options]"

DESCRIPTION = """\
Shows what is in a model: how many features, how it was trained, and which
attributes and transitions carry the weight. Reads models of other tools too."""

EXAMPLES = """\
examples:
  crfkit inspect chunks.crfkit                         an overview
  crfkit inspect chunks.crfkit --top 20 --label B-NP   for and against B-NP
  crfkit inspect chunks.crfkit --transitions           label after label
  crfkit inspect chunks.crfkit --rules 20              of --associations
  crfkit inspect chunks.crfkit --attribute U02:the     one attribute
  crfkit inspect chunks.crfkit --attribute 'U02:Th*'   the strongest such ones
  crfkit inspect old.crfsuite --dump > weights.tsv     every weight there is"""

_SUGGESTIONS = 10
# Who shows models that are not linear: modules with run(arguments, tagger, header).
INSPECTORS = {"kernel CRF": "crfkit.cli.inspect_kernel", "tree CRF": "crfkit.cli.inspect_trees"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``inspect``."""
    parser.add_argument("model", metavar="MODEL", help="a model of crfkit, CRFsuite, Wapiti or CRF++")
    what = parser.add_argument_group("what to show (default: an overview)")
    what.add_argument(
        "--top", type=whole(1), metavar="N", help="the N largest and N smallest weights of each label"
    )
    what.add_argument("--label", metavar="L", help="of this label only (10 of each unless --top says more)")
    what.add_argument("--transitions", action="store_true", help="the table of transition weights")
    what.add_argument(
        "--attribute",
        metavar="NAME",
        help="the weights of one attribute, or of those that begin with 'NAME*'",
    )
    what.add_argument(
        "--rules",
        type=whole(1),
        metavar="N",
        help="the N strongest association rules, with their weights where they have some",
    )
    what.add_argument("--template", action="store_true", help="the template, as it was given in training")
    what.add_argument(
        "--dump",
        action="store_true",
        help="every weight but 0, a line each: attribute, previous label or #, label, weight, between tabs",
    )
    shape = parser.add_argument_group("how to show it")
    shape.add_argument("--json", action="store_true", help="as JSON, with all digits")


def run(arguments: argparse.Namespace) -> int:
    """Load the model and print what was asked for."""
    if arguments.dump and arguments.json:
        raise UsageError("--dump is a format of its own: leave out --json")
    tagger, header = load_model(arguments.model)
    from crfkit.models.linear.tagger import LinearTagger

    if not isinstance(tagger, LinearTagger):
        shown: int = import_module(INSPECTORS[header["model"]]).run(arguments, tagger, header)
        return shown
    return _run_linear(arguments, tagger, header)


def _run_linear(arguments: argparse.Namespace, tagger: LinearTagger, header: dict[str, Any]) -> int:
    from crfkit.models.linear.facts import Facts

    facts = Facts(tagger)
    if arguments.dump:
        for *names, weight in facts.all_features():
            print(*names, repr(weight), sep="\t")
        return 0
    label = None if arguments.label is None else _label_place(facts, arguments.label)
    top = arguments.top or 10
    shown = {
        "top": arguments.attribute is None
        and (arguments.top is not None or (label is not None and arguments.rules is None)),
        "transitions": arguments.transitions,
        "attribute": arguments.attribute is not None,
        "template": arguments.template,
        "rules": arguments.rules is not None,
    }
    shown["overview"] = not any(shown.values())
    attributes = _attributes(facts, arguments.attribute, label, top) if shown["attribute"] else {}
    places = range(len(facts.labels)) if label is None else [label]
    rules = _rules(facts, header, arguments.rules, arguments.label) if shown["rules"] else None
    if arguments.json:
        _print_json(arguments.model, facts, header, shown, places, top, attributes, rules)
        return 0
    sections = []
    if shown["overview"]:
        sections += [_show_summary(arguments.model, facts, header), _show_overview(facts)]
    if shown["template"]:
        sections.append(_template_lines(facts))
    if shown["top"]:
        sections += [_show_top(facts, place, top) for place in places]
    if shown["transitions"]:
        sections.append(_show_transitions(facts))
    if rules is not None:
        sections.append(rules.lines())
    sections += [_show_attribute(name, features) for name, features in attributes.items()]
    print("\n\n".join("\n".join(lines) for lines in sections if lines))
    return 0


def _print_json(
    path: str,
    facts: Facts,
    header: dict[str, Any],
    shown: dict[str, bool],
    places: Iterable[int],
    top: int,
    attributes: dict[str, list[Feature]],
    rules: ModelRules | None,
) -> None:
    """The same sections as the text has, with all digits."""
    import json

    result = _summary(path, facts, header) if shown["overview"] else {}
    if shown["top"]:
        result["features"] = {facts.labels[place]: _top_json(facts, place, top) for place in places}
    if shown["transitions"] or shown["overview"]:
        result["transitions"] = [
            {"labels": list(labels), "weight": weight} for labels, weight in facts.transitions()
        ]
    if shown["attribute"]:
        result["attributes"] = {name: [f.to_json() for f in found] for name, found in attributes.items()}
    if rules is not None:
        result["rules"] = rules.to_json()
    if shown["template"] or shown["overview"]:
        template = facts.tagger.template
        result["template"] = None if template is None else template.text
    json.dump(result, sys.stdout, ensure_ascii=False, indent=2)
    print()


def _rules(facts: Facts, header: dict[str, Any], n: int, label: str | None) -> ModelRules:
    from crfkit.cli.model_rules import ModelRules

    return ModelRules(facts, data_record(header), n, label)


def _label_place(facts: Facts, label: str) -> int:
    if label not in facts.labels:
        raise InputError(f"the model has no label {label!r}; it has {', '.join(facts.labels)}")
    return facts.labels.index(label)


def _attributes(facts: Facts, name: str, label: int | None, n: int) -> dict[str, list[Feature]]:
    """The features of the attribute, or with ``name*`` of the n strongest that begin so."""
    vocabulary = facts.tagger.vocabulary

    def features(a: int) -> list[Feature]:
        return [f for f in facts.of_attribute(a) if label is None or f.label == facts.labels[label]]

    if name in vocabulary:
        return {name: features(int(vocabulary.lookup([name])[0]))}
    names = vocabulary.strings()
    prefix = name.removesuffix("*")
    places = [a for a, known in enumerate(names) if known.startswith(prefix)]
    if name.endswith("*") and places:
        loudness = facts.loudness()
        places.sort(key=lambda a: -loudness[a])
        return {names[a]: features(a) for a in places[:n]}
    how = "begin with that"
    if not places:
        folded = prefix.casefold()
        places = [a for a, known in enumerate(names) if folded in known.casefold()]
        how = "have that in them"
    if not places:
        raise InputError(
            f"the model has no attribute {name!r}, and none like it; some it has: {_some(names, range(5))}"
        )
    raise InputError(
        f"the model has no attribute {name!r}; {len(places):,} {how}: {_some(names, places[:_SUGGESTIONS])}"
        + (", …" if len(places) > _SUGGESTIONS else "")
    )


def _some(names: list[str], places: Any) -> str:
    return ", ".join(repr(names[a]) for a in places if a < len(names))


def _summary(path: str, facts: Facts, header: dict[str, Any]) -> dict[str, Any]:
    """The overview as JSON values."""
    return {
        "model": path,
        "order": facts.tagger.index.order,
        "labels": facts.labels,
        "counts": facts.counts(),
        "training": _training(header),
        "data": data_record(header),
        "associations": None
        if facts.tagger.associations is None
        else {"rules": len(facts.tagger.associations.rules), "use": facts.tagger.associations.use},
    }


def _show_summary(path: str, facts: Facts, header: dict[str, Any]) -> list[str]:
    counts = facts.counts()
    n_labels = counts["labels"]
    size = "" if path == "-" else f", {os.path.getsize(path) / 1e6:,.1f} MB"
    rows = [
        ("labels", f"{n_labels:,}", ""),
        ("attributes", f"{counts['attributes']:,}", ""),
        ("state features", f"{counts['state_features']:,}", "an attribute and a label"),
        ("pair features", f"{counts['pair_features']:,}", "an attribute, the previous label and a label"),
        ("transitions", f"{counts['transition_features']:,}", f"of {n_labels**2:,} possible"),
        ("trigrams", f"{counts['trigram_features']:,}", f"of {n_labels**3:,} possible"),
        ("weights not 0", f"{counts['nonzero_weights']:,}", ""),
    ]
    optional = ("pair features", "trigrams")
    rows = [row for row in rows if row[1] != "0" or row[0] not in optional]
    lines = [f"{path}: linear-chain CRF of order {facts.tagger.index.order}{size}"]
    lines += [f"  {name:15}{number:>11}  {words}".rstrip() for name, number, words in rows]
    associations = facts.tagger.associations
    if associations is not None:
        how = f"association rules, used as {use_in_words(associations.use)}; --rules 20 lists the strongest"
        lines.append(f"  {'rules':15}{len(associations.rules):>11,}  {how}")
    template = facts.tagger.template
    if template is not None:
        n_lines = sum(bool(line.strip()) for line in template.text.splitlines())
        lines.append(f"  {'template':15}{n_lines:>11}  lines ({template.dialect}); --template shows them")
    training = _training(header)
    if training is not None:
        end = ending(header.get("history") or [], training["converged"])
        given = " ".join(f"{k}={v}" for k, v in training["parameters"].items() if _tells(k, v))
        spent = "" if training["seconds"] is None else f", {training['seconds']:.1f} s"
        lines.append(f"  {'training':15}{training['iterations']:>11,}  iterations{spent}, {end}")
        lines.append(f"  {'objective':15}{training['objective']:>11,.2f}  {given}")
    return lines


def _training(header: dict[str, Any]) -> dict[str, Any] | None:
    """What the model file says of its training; None where it says nothing of the kind."""
    parameters, history = header.get("params"), header.get("history")
    objective = header.get("objective")
    if not isinstance(parameters, dict) or not isinstance(history, list) or not isinstance(objective, float):
        return None
    last = history[-1].get("seconds") if history and isinstance(history[-1], dict) else None
    return {
        "parameters": parameters,
        "objective": objective,
        "converged": bool(header.get("converged")),
        "iterations": len(history),
        "seconds": last if isinstance(last, float) else None,
    }


def _tells(name: str, value: Any) -> bool:
    """Whether a parameter of training is worth a place in the overview."""
    return (
        value not in (None, False)
        and not name.startswith("associations__")
        and name
        not in (
            "verbose",
            "n_jobs",
            "warm_start",
            "patience",
            "template",
        )
    )


def _show_overview(facts: Facts) -> list[str]:
    """A line a label with its strongest attributes, and the most and least liked transitions."""
    limit = screen_width() or 100
    first = max(map(width_of, (*facts.labels, "unlikely")))
    lines = ["strongest attributes of each label"]
    for place, label in enumerate(facts.labels):
        strongest = [(str(feature), feature.weight) for feature in facts.strongest(place, 4)[0]]
        lines.append(_one_line(pad(label, first), strongest, limit))
    transitions = [(" → ".join(labels), weight) for labels, weight in facts.transitions()]
    if transitions:
        likely = [item for item in transitions[:6] if item[1] > 0]
        unlikely = [item for item in transitions[::-1][:6] if item[1] < 0]
        lines += ["", "transitions", _one_line(pad("likely", first), likely, limit)]
        lines.append(_one_line(pad("unlikely", first), unlikely, limit))
    return lines


def _one_line(name: str, weights: list[tuple[str, float]], limit: int) -> str:
    line = f"  {name}"
    for what, weight in weights:
        piece = f"  {what} {weight:+.2f}"
        if width_of(line + piece) > limit:
            break
        line += piece
    return line


def _show_top(facts: Facts, label: int, n: int) -> list[str]:
    supporting, opposing = facts.strongest(label, n)
    lines = [facts.labels[label]]
    lines += [f"  {feature.weight:+10.4f}  {feature}" for feature in (*supporting, *opposing[::-1])]
    return lines if len(lines) > 1 else [f"{facts.labels[label]}: no weights but 0"]


def _top_json(facts: Facts, label: int, n: int) -> dict[str, Any]:
    supporting, opposing = facts.strongest(label, n)
    return {"positive": [f.to_json() for f in supporting], "negative": [f.to_json() for f in opposing]}


def _show_transitions(facts: Facts) -> list[str]:
    """The matrix of label pairs, and in order 2 the twenty strongest of three labels in a row."""
    mask, weights = facts.tagger.index.edges, facts.tagger.weights.edge
    cells = [
        [f"{weights[k, j]:.2f}" if mask[k, j] else "." for j in range(len(facts.labels))]
        for k in range(len(facts.labels))
    ]
    lines = list(matrix("from \\ to", facts.labels, facts.labels, cells))
    three = [(labels, weight) for labels, weight in facts.transitions() if len(labels) == 3]
    if three:
        three.sort(key=lambda item: -abs(item[1]))
        lines += ["", "three labels in a row, the strongest"]
        lines += [f"  {weight:+10.4f}  {' → '.join(labels)}" for labels, weight in three[:20]]
    return lines


def _show_attribute(name: str, features: list[Feature]) -> list[str]:
    first = max((width_of(_target(feature)) for feature in features), default=0)
    lines = [shorten(name, screen_width() or 10**6)]
    lines += [f"  {pad(_target(feature), first)}  {feature.weight:+10.4f}" for feature in features]
    return lines if features else [f"{name}: no weights"]


def _target(feature: Feature) -> str:
    return feature.label if feature.before is None else f"{feature.before} → {feature.label}"


def _template_lines(facts: Facts) -> list[str]:
    template = facts.tagger.template
    if template is None:
        raise InputError("the model has no template: it was trained on ready-made attributes")
    return template.text.rstrip("\n").split("\n")
