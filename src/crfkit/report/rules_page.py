"""Association rules as an HTML page.

A box filters rules by their text, a list by their label, and a click on an item or a label by that. Without
scripts it is a plain table.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from crfkit.mining.examples import Example
from crfkit.mining.item_names import ItemNames
from crfkit.mining.listing import check_beside, number, percent
from crfkit.mining.rules import Rule, Rules
from crfkit.report.frame import render, write_page
from crfkit.report.label_colours import PALETTE, ColouredLabel, LabelColours

# Names of the columns, and whether they hold numbers.
HEADS = (
    *(("rule", False), ("label", False), ("support", True)),
    *(("confidence", True), ("singly", False), ("by", True)),
)


def rules_html(
    rules: Rules,
    path: str | os.PathLike[str] | None = None,
    *,
    n: int = 1000,
    title: str = "Association rules",
    names: ItemNames | None = None,
    examples: Sequence[Sequence[Example]] | None = None,
    more: Mapping[str, Sequence[Any]] | None = None,
) -> str:
    """Return the first n rules as an HTML page, which is also written to ``path`` if one is given.

    Parameters
    ----------
    rules, n : the rules, in order (``rules.sorted``), and how many of them to show.
    path : a file, written atomically; ``-`` is standard output.
    title : of the page.
    names : names of items (:class:`~crfkit.mining.item_names.ItemNames`).
    examples : for each rule the places to show, as ``find_examples`` returns them.
    more : further columns: a name, and for each rule a number or a text.
    """
    shown, names = rules[: max(n, 0)], names or ItemNames()
    check_beside(shown, examples, more)
    further = [*(["fixes"] if rules.fixes is not None else []), *(more or {})]
    page = render(
        "rules.html",
        title=title,
        summary=_summary(rules, shown),
        with_fixes=rules.fixes is not None,
        with_examples=examples is not None,
        labels=_labels(shown),
        heads=[*HEADS, *((name, True) for name in further)],
        rows=rule_rows(shown, names, examples, more),
        **PALETTE,
    )
    if path is not None:
        write_page(page, path)
    return page


class _Place(NamedTuple):
    """An example of a rule: the words around a position."""

    before: str
    word: str
    after: str
    odd: str | None  # the true label, if the rule is wrong here


class RuleRow(NamedTuple):
    """A rule in the table."""

    label: ColouredLabel
    pieces: list[tuple[str, str]]  # where an item is, and what it is
    examples: list[_Place]
    rival: ColouredLabel | None
    numbers: list[tuple[str, float | None]]  # cells as text, and the number to sort by


def rule_rows(
    rules: Rules,
    names: ItemNames,
    examples: Sequence[Sequence[Example]] | None = None,
    more: Mapping[str, Sequence[Any]] | None = None,
) -> list[RuleRow]:
    """Return the rows of a table of rules."""
    colours, further = LabelColours(rules.classes), list((more or {}).values())
    return [
        _row(rule, names, colours, () if examples is None else examples[r], [column[r] for column in further])
        for r, rule in enumerate(rules)
    ]


def _row(
    rule: Rule, names: ItemNames, colours: LabelColours, examples: Sequence[Example], more: Sequence[Any]
) -> RuleRow:
    outvoted = rule.rival is not None and rule.margin >= 0
    by = rule.margin if outvoted else -1
    numbers: list[tuple[str, float | None]] = [
        (f"{rule.support:,}", rule.support),
        (percent(rule.confidence), rule.confidence),
        (format(by, ",") if outvoted else "", by),
    ]
    if rule.fixes is not None:
        numbers.append((f"{rule.fixes:,}", rule.fixes))
    numbers += [(number(value), None if isinstance(value, str) else float(value)) for value in more]
    return RuleRow(
        colours(rule.label),
        [(item.where + item.sign, item.what) for item in names.of_rule(rule.items)],
        [_place(rule, example) for example in examples],
        colours(rule.rival) if outvoted else None,
        numbers,
    )


def _place(rule: Rule, example: Example) -> _Place:
    before = ("" if example.starts else "… ") + "".join(f"{word} " for word in example.before)
    after = "".join(f" {word}" for word in example.after) + ("" if example.ends else " …")
    wrong = example.label is not None and example.label != rule.label
    return _Place(before, example.word, after, str(example.label) if wrong else None)


def _labels(shown: Rules) -> list[tuple[str, str]]:
    """Return the labels of the rules, and the number of rules of each."""
    counts = Counter(str(shown.classes[place]) for place in shown.labels.tolist())
    return [(name, f"{counts[name]:,}") for name in sorted(counts)]


def _summary(rules: Rules, shown: Rules) -> str:
    found = f"{len(rules):,} rules from {rules.n_positions:,} positions"
    return found if len(shown) == len(rules) else f"{found}; the first {len(shown):,} are here"
