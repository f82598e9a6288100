// The page: shows the state that the server sends, and turns keys and clicks into changes and answers.

import { drawCurve } from "./curve.js";
import { Marks } from "./marks.js";

const $ = id => document.getElementById(id);
const UNSURE = 0.75; // tokens with a smaller probability are marked
const POLL = 1000; // milliseconds

let state = null, marks = null, caret = 0, anchor = 0, busy = false, dragging = false, tokens = [], timer = 0;

// ---- the server

// Send a request and show the new state; ``anew``: begin the sentence again even if it is the same one.
async function ask(path, content, anew = false) {
  if (busy) return;
  busy = true;
  try {
    const request = content === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content),
    };
    const response = await fetch(path, request);
    const found = await response.json();
    if (response.status === 409) {
      complain(found.error);
      busy = false;
      await ask("state");
    } else if (!response.ok) {
      complain(`${found.error}. Nothing is lost: the sentence is still here.`);
    } else {
      complain("");
      show(found, anew);
    }
  } catch {
    complain("The server does not answer. Is crfkit annotate still running? Your last change is still here: "
      + "start it again and open the new address, or try again.");
  } finally {
    busy = false;
  }
}

async function poll() {
  try {
    const found = await (await fetch("state")).json();
    if (!busy) show(found);
  } catch { /* the next answer says that the server is gone */ }
}

function complain(words) {
  $("message").textContent = words;
  $("message").hidden = !words;
}

// ---- showing

function show(found, anew = false) {
  const before = state && state.sentence, now = found.sentence;
  state = found;
  if (anew || !before || !now || before.number !== now.number) begin(now);
  showProgress();
  clearTimeout(timer);
  if (state.progress.fitting) timer = setTimeout(poll, POLL);
}

function begin(sentence) {
  $("work").hidden = !sentence;
  $("done").hidden = Boolean(sentence);
  if (!sentence) return;
  marks = new Marks(sentence.rows.length, sentence.spans, sentence.unknown);
  const unsure = sentence.probabilities.findIndex(p => p < UNSURE);
  caret = anchor = Math.max(0, unsure);
  showLabels();
  draw();
  $("sentence").focus({ preventScroll: true });
  say(`Sentence ${state.progress.done + 1}, ${sentence.rows.length} tokens`);
}

const looks = name => {
  const label = state.labels.find(one => one.name === name);
  return label ? `k${label.colour}${label.turn ? ` turn${label.turn}` : ""}` : "k0";
};
const shown = name => name === "" ? "(segment)" : name;

function showLabels() {
  const names = state.labels.map(label => label.name).join("\n");
  if ($("labels").dataset.names === names) return;
  $("labels").dataset.names = names;
  $("labels").replaceChildren(...state.labels.map(label => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = looks(label.name);
    button.append(shown(label.name));
    if (label.key) {
      const key = document.createElement("kbd");
      key.textContent = label.key;
      button.append(" ", key);
      button.setAttribute("aria-keyshortcuts", label.key === label.key.toLowerCase() ? label.key : `Shift+${label.key}`);
    }
    button.addEventListener("click", () => edit(() => marks.label(...chosen(), label.name), `${shown(label.name)}`));
    return button;
  }));
}

function draw() {
  const rows = state.sentence.rows, probabilities = state.sentence.probabilities;
  const [start, stop] = chosen();
  tokens = rows.map((row, t) => {
    const token = document.createElement("span");
    token.id = `t${t}`;
    token.dataset.t = t;
    token.setAttribute("role", "option");
    const span = marks.spanAt(t);
    const name = marks.unknown.has(t) ? "unknown" : span ? shown(span[2]) : state.outside ? "no label" : "not labelled";
    token.setAttribute("aria-label", `${row[0]}, ${name}`);
    token.setAttribute("aria-selected", String(start <= t && t < stop && stop - start > 1));
    token.className = "token" + (t === caret ? " caret" : "") + (marks.unknown.has(t) ? " unknown" : "")
      + (probabilities[t] < UNSURE && !marks.history.length ? " unsure" : "");
    token.textContent = row[0];
    return token;
  });
  const pieces = [];
  for (let t = 0; t < tokens.length;) {
    const span = marks.spanAt(t);
    if (t) pieces.push(" ");
    if (!span) {
      pieces.push(tokens[t++]);
      continue;
    }
    const group = document.createElement("span"), name = document.createElement("b");
    group.className = `span ${looks(span[2])}`;
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", shown(span[2]));
    name.textContent = shown(span[2]);
    name.setAttribute("aria-hidden", "true");
    for (; t < span[1]; t++) group.append(...(t > span[0] ? [" "] : []), tokens[t]);
    group.append(name);
    pieces.push(group);
  }
  $("sentence").replaceChildren(...pieces);
  $("sentence").setAttribute("aria-activedescendant", `t${caret}`);
  showDetail();
  $("undo").disabled = !marks.history.length && !state.progress.done;
}

function showDetail() {
  const { rows, proposed, probabilities } = state.sentence;
  const parts = [`Token ${caret + 1} of ${rows.length}: ${rows[caret].join(" · ")}`];
  if (proposed) {
    const sure = probabilities[caret];
    parts.push(`proposed ${proposed[caret]}${sure === undefined ? "" : `, ${Math.round(100 * sure)} % sure`}`);
  }
  $("detail").textContent = parts.join(" — ");
}

function showProgress() {
  const progress = state.progress;
  $("progress").textContent = `${progress.done.toLocaleString("en")} labelled, ${progress.left.toLocaleString("en")} left`;
  $("model").textContent = progress.failure ? `The model could not be fitted: ${progress.failure}`
    : progress.fitting ? "The model is learning …"
    : progress.fitted_on ? `The model has learnt from ${progress.fitted_on.toLocaleString("en")} sentences.`
    : progress.has_model ? "The model is the one you gave." : "There is no model yet: label a sentence.";
  $("file").textContent = state.file;
  if (!$("order").options.length) {
    for (const order of state.orders) $("order").append(new Option(order.words, order.name));
  }
  $("order").value = state.order;
  drawCurve($("curve"), $("legend"), progress);
}

function say(words) {
  $("live").textContent = words;
}

// ---- changes

const chosen = () => [Math.min(caret, anchor), Math.max(caret, anchor) + 1];

function edit(make, words) {
  if (!state || !state.sentence || busy) return;
  make();
  anchor = caret;
  draw();
  say(`${words}: ${state.sentence.rows[caret][0]}`);
  $("sentence").focus({ preventScroll: true });
}

function move(to, extend) {
  caret = Math.max(0, Math.min(tokens.length - 1, to));
  if (!extend) anchor = caret;
  draw();
  tokens[caret].scrollIntoView({ block: "nearest" });
}

// The token above (-1) or below (1) the caret that is nearest to it.
function vertically(way) {
  const box = tokens[caret].getBoundingClientRect(), middle = (box.left + box.right) / 2;
  let best = caret, least = Infinity;
  tokens.forEach((token, t) => {
    const other = token.getBoundingClientRect();
    const down = (other.top - box.top) * way;
    if (down < box.height / 2) return;
    const far = down * 1000 + Math.abs((other.left + other.right) / 2 - middle);
    if (far < least) [best, least] = [t, far];
  });
  return best;
}

const actions = {
  accept() {
    if (!state || !state.sentence) return;
    ask("answer", { sentence: state.sentence.number, spans: marks.spans, unknown: [...marks.unknown].sort((a, b) => a - b) });
  },
  clear: () => edit(() => marks.clear(...chosen()), "no label"),
  unknown: () => edit(() => marks.toggleUnknown(...chosen()), "unknown"),
  undo() {
    if (marks && state.sentence && marks.undo()) {
      draw();
      say("undone");
    } else if (state && state.progress.done) {
      ask("undo", {}, true);
    }
  },
  help: () => $("help").showModal(),
};

// ---- keys, mouse and touch

document.addEventListener("keydown", event => {
  const target = event.target;
  if (!state || $("help").open || target.matches("select, input")) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a" && state.sentence) {
    event.preventDefault();
    anchor = 0;
    move(tokens.length - 1, true);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const inSentence = target === $("sentence") || target === document.body;
  const forward = state.sentence && getComputedStyle($("sentence")).direction === "rtl" ? -1 : 1;
  const steps = {
    ArrowLeft: () => caret - forward, ArrowRight: () => caret + forward, ArrowUp: () => vertically(-1),
    ArrowDown: () => vertically(1), Home: () => 0, End: () => tokens.length - 1,
  };
  const named = { Enter: "accept", 0: "clear", Delete: "clear", Backspace: "clear", u: "unknown", z: "undo", "?": "help" };
  const label = state.labels.find(one => one.key && one.key === event.key);
  if (event.key in steps && inSentence && state.sentence) {
    move(steps[event.key](), event.shiftKey);
  } else if (event.key in named && (event.key !== "Enter" || inSentence) && !(event.repeat && event.key === "Enter")) {
    actions[named[event.key]]();
  } else if (label && state.sentence) {
    edit(() => marks.label(...chosen(), label.name), shown(label.name));
  } else {
    return;
  }
  event.preventDefault();
});

const tokenAt = event => {
  const found = document.elementFromPoint(event.clientX, event.clientY);
  const token = found && found.closest("#sentence .token");
  return token ? Number(token.dataset.t) : null;
};
$("sentence").addEventListener("pointerdown", event => {
  const t = tokenAt(event);
  if (t === null || event.button !== 0) return;
  dragging = true;
  if ($("sentence").hasPointerCapture(event.pointerId)) $("sentence").releasePointerCapture(event.pointerId);
  move(t, event.shiftKey);
});
document.addEventListener("pointermove", event => {
  const t = dragging ? tokenAt(event) : null;
  if (t !== null && t !== caret) move(t, true);
});
for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => { dragging = false; });

for (const name of ["accept", "clear", "unknown", "undo"]) $(name).addEventListener("click", actions[name]);
$("help-button").addEventListener("click", actions.help);
$("help").addEventListener("close", () => $("sentence").focus({ preventScroll: true }));
$("order").addEventListener("change", () => ask("order", { order: $("order").value }));

ask("state");
