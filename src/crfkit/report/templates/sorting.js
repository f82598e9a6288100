// A click on the head of a column sorts its table: by the number in data-v if a cell has one, otherwise by its
// text (that of its part of class "x", if any). Columns of class "n" are numbers, largest first.
for (const table of document.querySelectorAll("table.sortable")) {
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
