"""Rules as an HTML page (``io/page.py``).

A box filters rules by their text, a list by their label, and a click on an item or a label by that. Without
scripts it is a plain table.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from crfkit.io.page import column_head, framed
from crfkit.io.writing import open_output
from crfkit.mining.examples import Example
from crfkit.mining.item_names import ItemNames
from crfkit.mining.listing import check_beside, number, percent
from crfkit.mining.rules import Rule, Rules

_COLUMNS = ("rule", "label", "support", "confidence", "singly", "by")
_NUMBERS = frozenset(("support", "confidence", "by"))
_GOLDEN = 137.5  # degrees: colours of neighbours in the list of types are far apart


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
    labels = _Labels(shown)
    rows = "\n".join(
        _row(
            rule,
            names,
            labels,
            () if examples is None else examples[r],
            [column[r] for column in (more or {}).values()],
        )
        for r, rule in enumerate(shown)
    )
    columns = [*(["fixes"] if rules.fixes is not None else []), *(more or {})]
    body = _BODY.format(
        summary=escape(_summary(rules, shown)),
        options=labels.options(),
        heads="".join(
            [column_head(name, number=name in _NUMBERS) for name in _COLUMNS]
            + [column_head(name, number=True) for name in columns]
        ),
        explained=_explained(examples is not None, rules.fixes is not None),
        rows=rows,
    )
    page = framed(title, body, style=_STYLE, script=_SCRIPT)
    if path is not None:
        with open_output(path) as file:
            file.write(page.encode("utf-8", "replace"))
    return page


class _Labels:
    """The labels of the rules shown: their colours, by type, and how many rules each has."""

    def __init__(self, shown: Rules) -> None:
        self._classes = [str(label) for label in shown.classes]
        self._counts = Counter(shown.labels.tolist())
        types = sorted({_type(label) for label in self._classes})
        self._hues = {kind: round(40 + i * _GOLDEN) % 360 for i, kind in enumerate(types)}

    def chip(self, label: Any) -> str:
        """Return the HTML of a label on its colour."""
        name = str(label)
        grey = " o" if name == "O" else ""
        return f'<span class="l{grey}" style="--h:{self._hues.get(_type(name), 0)}">{escape(name)}</span>'

    def options(self) -> str:
        found = sorted(self._counts, key=lambda place: self._classes[place])
        return "".join(
            f'<option value="{escape(self._classes[place])}">{escape(self._classes[place])} '
            f"({self._counts[place]:,})</option>"
            for place in found
        )


def _type(label: str) -> str:
    """Return the type of a label, ``NP`` of ``B-NP``; labels of one type have one colour."""
    head, dash, rest = label.partition("-")
    return rest if dash and len(head) == 1 and rest else label


def _summary(rules: Rules, shown: Rules) -> str:
    found = f"{len(rules):,} rules from {rules.n_positions:,} positions"
    return found if len(shown) == len(rules) else f"{found}; the first {len(shown):,} are here"


def _explained(with_examples: bool, with_fixes: bool) -> str:
    return "".join(
        (
            "A rule holds where all its items are observed; its label is then the one beside it. "
            "<b>Support</b>: positions with the items and that label. <b>Confidence</b>: their share of all "
            "positions with the items. <b>Singly</b>: the label that the items, each for itself, vote for "
            "instead, and <b>by</b> how many votes.",
            " <b>Fixes</b>: positions where the rule is right and a model was wrong." if with_fixes else "",
            " Below a rule stands where it was found." if with_examples else "",
        )
    )


def _row(
    rule: Rule, names: ItemNames, labels: _Labels, examples: Sequence[Example], more: Sequence[Any]
) -> str:
    items = ' <span class="a">&amp;</span> '.join(
        f'<span class="i"><span class="w">{escape(item.where + item.sign)}</span>{escape(item.what)}</span>'
        for item in names.of_rule(rule.items)
    )
    outvoted = rule.rival is not None and rule.margin >= 0
    by = rule.margin if outvoted else -1
    cells = [
        f'<td class="r"><div class="x">{items}</div>{"".join(map(_sentence(rule), examples))}</td>',
        f"<td>{labels.chip(rule.label)}</td>",
        f'<td class="n" data-v="{rule.support}">{rule.support:,}</td>',
        f'<td class="n" data-v="{rule.confidence!r}">{percent(rule.confidence)}</td>',
        f"<td>{labels.chip(rule.rival) if outvoted else '<i>the same</i>'}</td>",
        f'<td class="n" data-v="{by}">{format(by, ",") if outvoted else ""}</td>',
    ]
    if rule.fixes is not None:
        cells.append(f'<td class="n" data-v="{rule.fixes}">{rule.fixes:,}</td>')
    for value in more:
        sortable = "" if isinstance(value, str) else f' data-v="{float(value)!r}"'
        cells.append(f'<td class="n"{sortable}>{escape(number(value))}</td>')
    return f'<tr data-l="{escape(str(rule.label))}">{"".join(cells)}</tr>'


def _sentence(rule: Rule) -> Any:
    def shown(example: Example) -> str:
        before = ("" if example.starts else "… ") + "".join(word + " " for word in example.before)
        after = "".join(" " + word for word in example.after) + ("" if example.ends else " …")
        odd = ""
        if example.label is not None and example.label != rule.label:
            odd = f' <em title="here the rule is wrong">{escape(str(example.label))} here</em>'
        return f'<div class="e">{escape(before)}<mark>{escape(example.word)}</mark>{escape(after)}{odd}</div>'

    return shown


_STYLE = """
:root { --mark: #ffe58a; --ink: #1c1c1e; --chip: 88%; --text: 25%; --sat: 62%; }
@media (prefers-color-scheme: dark) {
  :root { --mark: #7a5d00; --ink: #fff; --chip: 24%; --text: 82%; --sat: 38%; } }
main { max-width: 78rem; }
.sum { margin: 0 0 .8rem; }
.how { max-width: 62rem; margin: 0 0 1rem; }
form { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin: 0 0 .8rem; }
input, select { font: inherit; color: inherit; background: var(--bg); border: 1px solid var(--line);
  border-radius: 6px; padding: .35rem .6rem; }
input { flex: 1 1 16rem; max-width: 32rem; }
form button { font: inherit; color: inherit; background: var(--head); border: 1px solid var(--line);
  border-radius: 6px; padding: .35rem .7rem; cursor: pointer; }
output { color: var(--dim); font-variant-numeric: tabular-nums; }
table { width: 100%; }
th { position: sticky; top: 0; z-index: 1; }
td { vertical-align: top; }
.r { width: 100%; min-width: 15rem; }
.i { font-weight: 600; white-space: pre-wrap; overflow-wrap: anywhere; cursor: pointer; }
.i .w { font-weight: 400; color: var(--dim); }
.a { color: var(--dim); }
.l { display: inline-block; padding: 0 .45em; border-radius: 5px; white-space: nowrap; cursor: pointer;
  font-weight: 600; background: hsl(var(--h) var(--sat) var(--chip));
  color: hsl(var(--h) var(--sat) var(--text)); }
.l.o { background: var(--line); color: var(--fg); }
.e { color: var(--dim); font-size: .92em; overflow-wrap: anywhere; }
.e mark { background: var(--mark); color: var(--ink); border-radius: 3px; padding: 0 .2em; }
i, em { color: var(--dim); white-space: nowrap; }
em { border: 1px solid var(--line); border-radius: 5px; padding: 0 .35em; font-style: normal; }
.none { padding: 2rem .6rem; color: var(--dim); }
@media (max-width: 40rem) { main { padding: 1rem .6rem; } td, th button { padding: .4rem .35rem; }
  .wide { overflow-x: auto; } }
@media print { form { display: none; } th { position: static; } }
"""

_SCRIPT = """
const table = document.querySelector("table"), body = table.tBodies[0], rows = [...body.rows];
const form = document.forms[0], text = form.elements.text, label = form.elements.label;
const count = form.querySelector("output"), none = document.querySelector(".none");
form.hidden = false;
const small = node => node.textContent.toLowerCase();
for (const row of rows) {
  row.words = small(row.querySelector(".x"));
  row.items = [...row.querySelectorAll(".i")].map(small);
}
function find() {
  // Words anywhere in the rule; in quotes, whole items.
  const all = (text.value.toLowerCase().match(/"[^"]+"|[^ ]+/g) || []).filter(word => word !== "&");
  const whole = all.filter(word => /^".+"$/.test(word)).map(word => word.slice(1, -1));
  const wanted = all.filter(word => !/^".+"$/.test(word));
  let n = 0;
  for (const row of rows) {
    row.hidden = !((!label.value || row.dataset.l === label.value) &&
                   wanted.every(word => row.words.includes(word)) &&
                   whole.every(item => row.items.includes(item)));
    n += !row.hidden;
  }
  count.textContent = n === rows.length ? n.toLocaleString("en") + " rules" :
    n.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " rules";
  none.hidden = n > 0;
}
body.addEventListener("click", event => {
  if (String(getSelection())) return;  // somebody is copying text
  const item = event.target.closest(".i"), chip = event.target.closest(".l");
  if (item) text.value = item.textContent.includes('"') ? item.textContent : `"${item.textContent}"`;
  else if (chip && chip.parentNode.cellIndex === 1) label.value = chip.textContent;
  else return;
  find();
  scrollTo(0, 0);
});
form.addEventListener("input", find);
form.addEventListener("submit", event => event.preventDefault());
form.addEventListener("reset", () => setTimeout(find));
find();
"""

_BODY = """<p class="sum">{summary}</p>
<p class="how">{explained}</p>
<form hidden>
<input name="text" type="search" placeholder="find items, such as [-1]=the" aria-label="find items" \
autocomplete="off" spellcheck="false">
<select name="label" aria-label="label"><option value="">all labels</option>{options}</select>
<button type="reset">show all</button>
<output></output>
</form>
<div class="wide">
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
<p class="none" hidden>No rule here is like that.</p>"""
