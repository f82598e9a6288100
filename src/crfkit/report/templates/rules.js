// Rules are found by words anywhere in them, in quotes by whole items; a click on an item or a label fills in.
{
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
  const item = event.target.closest(".i"), chip = event.target.closest(".chip");
  if (item) text.value = item.textContent.includes('"') ? item.textContent : `"${item.textContent}"`;
  else if (chip && chip.closest("td").cellIndex === 1) label.value = chip.textContent;
  else return;
  find();
  scrollTo(0, 0);
});
form.addEventListener("input", find);
form.addEventListener("submit", event => event.preventDefault());
form.addEventListener("reset", () => setTimeout(find));
find();
}
