"""Rules as a table in plain text: aligned numbers, the rule, and examples.

    support  confidence  singly        rule
         25        100%  I-NP by 852   word[-1]=that & pos[0]=DT → B-NP
                                       … so that [the] dog may …

"singly" is the label that the single items vote for, and by how many votes it beats the rule's own label.
``crfkit.report.rules_page`` makes an HTML page of the same table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from crfkit.exceptions import InputError
from crfkit.io.shown_table import ShownTable
from crfkit.io.text_width import pad, shorten, visible, width_of
from crfkit.mining.examples import Example
from crfkit.mining.item_names import ItemNames
from crfkit.mining.rules import Rule, Rules

_BOLD, _DIM, _END = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_LEAST = 30  # columns for the rule, also if the terminal is narrower


def rules_text(
    rules: Rules,
    n: int = 20,
    *,
    names: ItemNames | None = None,
    examples: Sequence[Sequence[Example]] | None = None,
    more: Mapping[str, Sequence[Any]] | None = None,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Return the first n rules as a table in plain text.

    Parameters
    ----------
    rules, n : the rules, in order (``rules.sorted``), and how many of them to show.
    names : names of items (:class:`~crfkit.mining.item_names.ItemNames`).
    examples : for each rule the places to show, as ``find_examples`` returns them.
    more : further columns before the rule: a name, and for each rule a number or a text.
    width : columns of the terminal; longer lines are broken or cut. None: no limit.
    colour : whether to use the escape codes of terminals.
    """
    shown, names = rules[: max(n, 0)], names or ItemNames()
    check_beside(shown, examples, more)
    table = [_numbers(rule, r, more) for r, rule in enumerate(shown)]
    head = ["support", "confidence", "singly", *(["fixes"] if rules.fixes is not None else []), *(more or {})]
    widths = [max(width_of(row[k]) for row in (head, *table)) for k in range(len(head))]
    left = sum(widths) + 2 * len(widths)
    room = None if width is None else max(_LEAST, width - left)
    on_screen = colour or width is not None  # no control characters of the data
    readable = visible if on_screen else str
    bold, dim = (_BOLD, _DIM) if colour else ("", "")
    end = _END if colour else ""
    lines = [dim + _row(head, widths) + "rule" + end]
    for r, (numbers, rule) in enumerate(zip(table, shown, strict=True)):
        items = [readable(str(item)) for item in names.of_rule(rule.items)]
        pieces = [*(f"{item} &" for item in items[:-1]), items[-1], f"→ {readable(str(rule.label))}"]
        first, *others = _wrapped(pieces, room)
        for k, line in enumerate((first, *others)):
            lhs, arrow, label = line.rpartition("→ ") if k == len(others) else (line, "", "")
            start = " " * left if k else _row(numbers, widths)
            lines.append(f"{start}{lhs}{arrow}{bold}{label}{end if arrow else ''}")
        for example in () if examples is None else examples[r]:
            sentence = _sentence(example, rule, room, colour)
            lines.append(" " * left + (visible(sentence, styled=colour) if on_screen else sentence))
    return "\n".join(lines)


def rules_table(rules: Rules, n: int = 20) -> ShownTable:
    """Return the first n rules as a table for a notebook."""
    fixes = ["fixes"] if rules.fixes is not None else []
    rows = [[str(rule), *_numbers(rule, r, None)] for r, rule in enumerate(rules[:n])]
    more = [f"… and {len(rules) - n:,} more"] if len(rules) > n else []
    head = [f"{len(rules):,} association rules", "support", "confidence", "singly", *fixes]
    return ShownTable(head, [rows], [*more, f"from {rules.n_positions:,} positions"])


def singly(rule: Rule) -> str:
    """Return the vote of the single items, as text."""
    if rule.rival is None or rule.margin < 0:
        return "the same"
    return f"{rule.rival} by {rule.margin:,}" if rule.margin else f"{rule.rival} as well"


def percent(share: float) -> str:
    """Format a share in percent, without trailing zeros, and as 100% only if it is exactly 1."""
    rounded = f"{100 * share:.1f}"
    if rounded == "100.0":
        return "100%" if share == 1 else ">99.9%"
    return rounded.removesuffix(".0") + "%"


def number(value: Any) -> str:
    """Format a whole number with commas, another number with a sign and two digits; keep text."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, Integral) else f"{float(value):+.2f}"


def check_beside(
    shown: Rules, examples: Sequence[Any] | None, more: Mapping[str, Sequence[Any]] | None
) -> None:
    """Raise unless examples and further columns have an entry for every rule."""
    for name, column in {"examples": examples, **(more or {})}.items():
        if column is not None and len(column) < len(shown):
            raise InputError(f"{name}: expected one for each of the {len(shown)} rules, got {len(column)}")


def _numbers(rule: Rule, r: int, more: Mapping[str, Sequence[Any]] | None) -> list[str]:
    fixes = [] if rule.fixes is None else [f"{rule.fixes:,}"]
    others = [number(column[r]) for column in (more or {}).values()]
    return [f"{rule.support:,}", percent(rule.confidence), singly(rule), *fixes, *others]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return a row with numbers aligned to the right, and words (the column "singly") to the left."""
    return "".join(pad(cell, widths[k], right=k != 2) + "  " for k, cell in enumerate(cells))


def _wrapped(pieces: Sequence[str], room: int | None) -> list[str]:
    """Join the pieces with blanks, in lines that fit into ``room``; a piece that is too wide is cut."""
    if room is None:
        return [" ".join(pieces)]
    lines = [shorten(pieces[0], room)]
    for piece in pieces[1:]:
        joined = f"{lines[-1]} {piece}"
        if width_of(joined) <= room:
            lines[-1] = joined
        else:
            lines.append(shorten(piece, room))
    return lines


def _sentence(example: Example, rule: Rule, room: int | None, colour: bool) -> str:
    """Return the words around a position that fit into ``room``; the position is bold, or in brackets."""
    before, after = list(example.before), list(example.after)
    marks = ["" if example.starts else "… ", "" if example.ends else " …"]
    odd = "" if example.label is None or example.label == rule.label else f"  ({example.label} here)"

    def pieces() -> tuple[str, str, str]:
        return marks[0] + "".join(w + " " for w in before), example.word, "".join(" " + w for w in after)

    def width() -> int:
        return sum(map(width_of, pieces())) + 2 + width_of(marks[1] + odd)

    while room is not None and width() > room and (before or after):
        side = 0 if len(before) >= len(after) else 1  # shorten the longer side
        (before if side == 0 else after).pop(0 if side == 0 else -1)
        marks[side] = ("… ", " …")[side]
    left, word, right = pieces()
    if not colour:
        return f"{left}[{word}]{right}{marks[1]}{odd}"
    return f"{_DIM}{left}{_END}{_BOLD}{word}{_END}{_DIM}{right}{marks[1]}{odd}{_END}"
