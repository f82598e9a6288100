"""The frame of HTML pages: one file, nothing from the network.

Colours follow the reader's light or dark setting. A click on the head of a column sorts its table: by the
number in ``data-v`` if a cell has one, otherwise by its text (that of its part of class ``x``, if any). Heads
of class ``n`` are numbers, largest first. Without scripts the tables are not sorted.
"""

from __future__ import annotations

from html import escape


def framed(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """Return a page with this HTML as its body; ``style`` and ``script`` are added to the common ones."""
    return _PAGE.format(title=escape(title), body=body, style=_STYLE + style, script=_SORTING + script)


def column_head(name: str, *, number: bool = False) -> str:
    """Return the head of a sortable column."""
    kind = ' class="n"' if number else ""
    return f'<th{kind} scope="col"><button type="button">{escape(name)}</button></th>'


_STYLE = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1c1c1e; --dim: #6b6b70; --line: #e4e4e8;
  --head: #f6f6f8; --hover: #f2f6fc; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #17181a; --fg: #e6e6e8; --dim: #98989f; --line: #2e2f33; --head: #1f2023;
    --hover: #20242b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 15px/1.45 system-ui, sans-serif; }
main { margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 .15rem; }
.sum, .how { color: var(--dim); }
.how { font-size: .92em; }
.how b { color: var(--fg); font-weight: 600; }
table { border-collapse: collapse; }
th { background: var(--head); text-align: left; padding: 0; border-bottom: 1px solid var(--line); }
th button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; width: 100%;
  text-align: inherit; padding: .5rem .6rem; cursor: pointer; white-space: nowrap; }
th button::after { content: "\\2195"; color: var(--dim); opacity: .45; margin-left: .3em; }
th[aria-sort=ascending] button::after { content: "\\2191"; opacity: 1; }
th[aria-sort=descending] button::after { content: "\\2193"; opacity: 1; }
td { padding: .45rem .6rem; border-bottom: 1px solid var(--line); }
tbody tr:hover { background: var(--hover); }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
@media print { th button::after { display: none; } }
"""

_SORTING = """
for (const table of document.querySelectorAll("table")) {
  const value = (row, k) => {
    const cell = row.cells[k], number = cell.dataset.v;
    return number === undefined ? (cell.querySelector(".x") || cell).textContent : Number(number);
  };
  table.tHead.addEventListener("click", event => {
    const head = event.target.closest("th");
    if (!head) return;
    const k = head.cellIndex, before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : head.className === "n";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = [...table.tBodies[0].rows].map(row => [value(row, k), row]);
    keyed.sort(([a], [b]) => {
      const order = typeof a === "number" && typeof b === "number" ? a - b
        : String(a).localeCompare(String(b), undefined, { numeric: true });
      return down ? -order : order;
    });
    const sorted = document.createDocumentFragment();
    for (const [, row] of keyed) sorted.append(row);
    table.tBodies[0].append(sorted);
  });
}
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
<script>{script}</script>
</body>
</html>
"""
