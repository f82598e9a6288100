"""``crfkit inspect`` for a linear-chain CRF: its size, training, weights and rules."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from crfkit.cli.loading import data_record
from crfkit.cli.messages import ending, penalties_in_words
from crfkit.cli.model_rules import ModelRules
from crfkit.cli.rule_options import use_in_words
from crfkit.cli.tables import fact_lines, file_size, matrix, pad, screen_width, shorten, width_of
from crfkit.exceptions import InputError
from crfkit.models.linear.facts import Facts, Feature
from crfkit.models.linear.tagger import LinearTagger
from crfkit.models.training_record import PenaltyRecord

OPTIONS = ("attribute", "rules", "template")

_SUGGESTIONS = 10


class _Asked(NamedTuple):
    """The contents that the options ask for."""

    facts: Facts
    overview: bool
    labels: list[int]  # indices of the labels whose strongest weights to show
    top: int  # number of weights per label
    attributes: dict[str, list[Feature]]
    rules: ModelRules | None


def _asked(arguments: argparse.Namespace, tagger: LinearTagger, header: dict[str, Any]) -> _Asked:
    facts = Facts(tagger)
    label = None if arguments.label is None else facts.labels.index(arguments.label)
    by_attribute, by_rules = arguments.attribute is not None, arguments.rules is not None
    shows_top = not by_attribute and (arguments.top is not None or (label is not None and not by_rules))
    places = list(range(len(facts.labels))) if label is None else [label]
    top = arguments.top or 10
    return _Asked(
        facts,
        not (shows_top or arguments.transitions or by_attribute or arguments.template or by_rules),
        places if shows_top else [],
        top,
        _attributes(facts, arguments.attribute, label, top) if by_attribute else {},
        ModelRules(facts, data_record(header), arguments.rules, arguments.label) if by_rules else None,
    )


def dump(
    arguments: argparse.Namespace, tagger: LinearTagger, header: dict[str, Any]
) -> Iterator[tuple[str, ...]]:
    """Yield all weights other than 0: attribute, previous label or #, label, weight."""
    for *names, weight in Facts(tagger).all_features():
        yield (*names, repr(weight))


def sections(arguments: argparse.Namespace, tagger: LinearTagger, header: dict[str, Any]) -> list[list[str]]:
    """Return the requested sections as lines of text."""
    asked = _asked(arguments, tagger, header)
    facts = asked.facts
    shown = []
    if asked.overview:
        shown += [_show_summary(arguments.model, facts, header), _show_overview(facts)]
    if arguments.template:
        shown.append(_template_lines(facts))
    shown += [_show_top(facts, place, asked.top) for place in asked.labels]
    if arguments.transitions:
        shown.append(_show_transitions(facts))
    if asked.rules is not None:
        shown.append(asked.rules.lines())
    return shown + [_show_attribute(name, features) for name, features in asked.attributes.items()]


def to_json(arguments: argparse.Namespace, tagger: LinearTagger, header: dict[str, Any]) -> dict[str, Any]:
    """Return the requested sections as JSON values, with all digits."""
    asked = _asked(arguments, tagger, header)
    facts = asked.facts
    result = _summary(arguments.model, facts, header) if asked.overview else {}
    if asked.labels:
        result["features"] = {
            facts.labels[place]: _top_json(facts, place, asked.top) for place in asked.labels
        }
    if arguments.transitions or asked.overview:
        result["transitions"] = [
            {"labels": list(labels), "weight": weight} for labels, weight in facts.transitions()
        ]
    if arguments.attribute is not None:
        result["attributes"] = {
            name: [f.to_json() for f in found] for name, found in asked.attributes.items()
        }
    if asked.rules is not None:
        result["rules"] = asked.rules.to_json()
    if arguments.template or asked.overview:
        result["template"] = None if tagger.template is None else tagger.template.text
        result["extractor"] = None if tagger.extraction is None else tagger.extraction.written
    return result


def _attributes(facts: Facts, name: str, label: int | None, n: int) -> dict[str, list[Feature]]:
    """Return the features of an attribute; for ``name*`` those of the n strongest with that prefix."""
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
    how = "begin with it"
    if not places:
        folded = prefix.casefold()
        places = [a for a, known in enumerate(names) if folded in known.casefold()]
        how = "contain it"
    if not places:
        raise InputError(
            f"the model has no attribute like {name!r}; some of its attributes: {_some(names, range(5))}"
        )
    raise InputError(
        f"the model has no attribute {name!r}; {len(places):,} {how}: {_some(names, places[:_SUGGESTIONS])}"
        + (", …" if len(places) > _SUGGESTIONS else "")
    )


def _some(names: list[str], places: Any) -> str:
    return ", ".join(repr(names[a]) for a in places if a < len(names))


def _summary(path: str, facts: Facts, header: dict[str, Any]) -> dict[str, Any]:
    """Return the overview as JSON values."""
    penalties = PenaltyRecord.from_header(header)
    return {
        "model": path,
        "order": facts.tagger.index.order,
        "labels": facts.labels,
        "counts": facts.counts(),
        "training": _training(header),
        "penalties": None if penalties is None else {"c2": penalties.c2, "groups": penalties.groups},
        "data": data_record(header),
        "associations": None
        if facts.tagger.associations is None
        else {"rules": len(facts.tagger.associations.rules), "use": facts.tagger.associations.use},
    }


def _show_summary(path: str, facts: Facts, header: dict[str, Any]) -> list[str]:
    counts = facts.counts()
    n_labels = counts["labels"]
    rows = [
        ("labels", f"{n_labels:,}", ""),
        ("attributes", f"{counts['attributes']:,}", ""),
        ("state features", f"{counts['state_features']:,}", "an attribute and a label"),
        ("pair features", f"{counts['pair_features']:,}", "an attribute, the previous label and a label"),
        ("transitions", f"{counts['transition_features']:,}", f"of {n_labels**2:,} possible"),
        ("trigrams", f"{counts['trigram_features']:,}", f"of {n_labels**3:,} possible"),
        (
            "longer n-grams",
            f"{counts['longer_features']:,}",
            f"of up to {facts.tagger.index.order + 1} labels",
        ),
        ("weights not 0", f"{counts['nonzero_weights']:,}", ""),
    ]
    optional = ("pair features", "trigrams", "longer n-grams")
    rows = [row for row in rows if row[1] != "0" or row[0] not in optional]
    lines = [f"{path}: linear-chain CRF of order {facts.tagger.index.order}{file_size(path)}"]
    lines += fact_lines(rows)
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
        lines.append(f"  {'training':15}{training['iterations']:>11,}  iterations, {end}")
        lines.append(f"  {'objective':15}{training['objective']:>11,.2f}  {given}")
    found = PenaltyRecord.from_header(header)
    if found is not None:
        words = penalties_in_words((header.get("params") or {}).get("c1"), found.c2, found.groups)
        lines.append(f"  {'penalties':15}{len(found.groups):>11,}  {words}")
    return lines


def _training(header: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the model file records about its training; None if it has no such record."""
    parameters, history = header.get("params"), header.get("history")
    objective = header.get("objective")
    if not isinstance(parameters, dict) or not isinstance(history, list) or not isinstance(objective, float):
        return None
    if not all(isinstance(record, dict) for record in history):
        return None
    return {
        "parameters": parameters,
        "objective": objective,
        "converged": bool(header.get("converged")),
        "iterations": len(history),
    }


def _tells(name: str, value: Any) -> bool:
    """Return whether the overview should show this training parameter."""
    return (
        value not in (None, False)
        and not name.startswith("associations__")
        and name not in ("verbose", "n_jobs", "warm_start", "patience", "template", "penalty_folds")
    )


def _show_overview(facts: Facts) -> list[str]:
    """Return one line per label with its strongest attributes, and the most and least likely transitions."""
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
    return lines if len(lines) > 1 else [f"{facts.labels[label]}: all weights are 0"]


def _top_json(facts: Facts, label: int, n: int) -> dict[str, Any]:
    supporting, opposing = facts.strongest(label, n)
    return {"positive": [f.to_json() for f in supporting], "negative": [f.to_json() for f in opposing]}


def _show_transitions(facts: Facts) -> list[str]:
    """Return the matrix of transition weights; in order 2 also the twenty strongest label triples."""
    mask, weights = facts.tagger.index.edges, facts.tagger.weights.edge
    cells = [
        [f"{weights[k, j]:.2f}" if mask[k, j] else "." for j in range(len(facts.labels))]
        for k in range(len(facts.labels))
    ]
    lines = list(matrix("from \\ to", facts.labels, facts.labels, cells))
    three = [(labels, weight) for labels, weight in facts.transitions() if len(labels) == 3]
    if three:
        three.sort(key=lambda item: -abs(item[1]))
        lines += ["", "strongest label triples"]
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
    template, extraction = facts.tagger.template, facts.tagger.extraction
    if extraction is not None:
        return [extraction.written]
    if template is None:
        raise InputError("the model has no template: it was trained on ready-made attributes")
    return template.text.rstrip("\n").split("\n")
