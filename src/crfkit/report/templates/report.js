// The sentences with mistakes: filters, order, search, and why a word has its label.
{
  const list = document.getElementById("sentences"), form = document.querySelector("form.kinds");
  const why = JSON.parse(document.getElementById("why").textContent);
  const articles = list ? [...list.children] : [];
  const make = (tag, text, kind) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (kind) node.className = kind;
    return node;
  };
  const put = (node, ...children) => { node.append(...children); return node; };
  const words = article => [...article.querySelectorAll("[data-t] > span")].map(node => node.textContent.trim());

  articles.forEach((article, k) => {
    article.record = why.sentences[k];
    article.words = words(article);
    article.text = article.words.join(" ").toLowerCase();
    article.querySelectorAll("[data-t]").forEach((word, t) => {
      word.setAttribute("role", "button");
      word.setAttribute("aria-expanded", "false");
      word.setAttribute("aria-label", "why: " + article.words[t]);
      word.tabIndex = t ? -1 : 0;
    });
  });

  function find() {
    const data = new FormData(form), kinds = data.getAll("kind"), type = data.get("type");
    const wanted = data.get("text").toLowerCase().split(/\s+/).filter(Boolean), key = data.get("order");
    let n = 0;
    for (const article of articles) {
      const own = article.dataset.k.split("|");
      article.hidden = !((!kinds.length || kinds.some(kind => own.includes(kind))) &&
        (!type || article.dataset.y.split("|").includes(type)) && wanted.every(word => article.text.includes(word)));
      n += !article.hidden;
    }
    const sign = key === "i" ? 1 : -1;
    list.append(...[...articles].sort((a, b) => sign * (a.dataset[key] - b.dataset[key])));
    form.querySelector("output").textContent = n === articles.length ? n.toLocaleString("en") + " sequences" :
      n.toLocaleString("en") + " of " + articles.length.toLocaleString("en") + " sequences";
    document.querySelector("#errs .none").hidden = n > 0;
  }

  const percent = p => p >= .9995 && p < 1 ? "> 99.9 %" : p < .0005 ? "< 0.1 %" : (100 * p).toFixed(1) + " %";
  const weight = w => (w > 0 ? "+" : "−") + (Math.abs(w) >= .1 || !w ? Math.abs(w).toFixed(2) : String(Math.abs(w)));

  function barTable(rows, down) {  // [text, share, number]
    const table = make("table"), body = table.createTBody();
    for (const [text, share, number] of rows) {
      const bar = make("span");
      bar.style.width = 100 * share + "%";
      put(body.insertRow(), make("td", text, "t"), put(make("td", "", "bar" + (down ? " down" : "")), bar), make("td", number, "n"));
    }
    return table;
  }

  function titled(title, ...content) { return put(make("div"), make("h5", title), ...content); }

  function labelling(record, article) {
    const changes = [];
    for (let i = 0; i < record[1].length; i += 2)
      changes.push(article.words[record[1][i]] + ": " + why.labels[record[1][i + 1]]);
    if (record[2]) changes.push(record[2] + " more changes outside this part");
    return changes.join(", ") || "as predicted";
  }

  function panel(article, t) {
    const [label, rival, odds, marginals, reasons, left] = article.record.t[t];
    const name = why.labels[label], other = rival < 0 ? null : why.labels[rival];
    const box = make("section", undefined, "why");
    box.setAttribute("aria-label", "why " + article.words[t] + " is " + name);
    const close = make("button", "close");
    close.type = "button";
    put(box, close, make("h4", article.words[t] + ": " + name + (other === null ? "" : ", not " + other)));
    const columns = put(make("div", undefined, "columns"));
    const p = [];
    for (let i = 0; i < marginals.length; i += 2) p.push([why.labels[marginals[i]], marginals[i + 1], percent(marginals[i + 1])]);
    put(columns, titled("probabilities here", barTable(p)));
    const pairs = [];
    for (let i = 0; i < reasons.length; i += 2) pairs.push([why.texts[reasons[i]], reasons[i + 1]]);
    const most = Math.max(...pairs.map(([, w]) => Math.abs(w)));
    const rows = sign => pairs.filter(([, w]) => sign * w > 0).map(([text, w]) => [text, Math.abs(w) / most, weight(w)]);
    if (other !== null) {
      put(columns, titled("for " + name, barTable(rows(1))), titled("for " + other, barTable(rows(-1), true)));
    }
    put(box, columns);
    put(box, make("p", other === null ? "No other label is possible here." :
      "Log odds of " + name + " against " + other + ", with the labels around fixed: " + weight(odds) +
      (left ? "; " + left + " smaller terms are not shown." : ".")));
    const best = make("table"), body = best.createTBody();
    for (const record of article.record.n)
      put(body.insertRow(), make("td", percent(Math.exp(record[0])), "n"), make("td", labelling(record, article)));
    const several = titled("most probable labellings of the whole sequence", best);
    several.style.marginTop = ".8rem";
    put(box, several);
    return box;
  }

  function toggle(word) {
    const article = word.closest("article"), open = word.getAttribute("aria-expanded") === "true";
    for (const box of document.querySelectorAll("#sentences .why")) box.remove();
    for (const other of document.querySelectorAll("#sentences [aria-expanded=true]")) other.setAttribute("aria-expanded", "false");
    if (open) return;
    word.setAttribute("aria-expanded", "true");
    const box = panel(article, Number(word.dataset.t));
    article.append(box);
    box.querySelector("button").addEventListener("click", () => { toggle(word); word.focus(); });
  }

  if (list) {
    form.hidden = false;
    list.addEventListener("click", event => {
      const word = event.target.closest("[data-t]");
      if (word && !String(getSelection())) toggle(word);
    });
    list.addEventListener("keydown", event => {
      const word = event.target.closest("[data-t]");
      if (!word) return;
      const step = { ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling" }[event.key];
      const next = step && word[step];
      if (event.key === "Enter" || event.key === " ") toggle(word);
      else if (next && next.dataset.t !== undefined) { word.tabIndex = -1; next.tabIndex = 0; next.focus(); }
      else return;
      event.preventDefault();
    });
    form.addEventListener("input", find);
    form.addEventListener("submit", event => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(find));
    find();
  }
}
