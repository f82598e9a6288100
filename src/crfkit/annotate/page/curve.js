// The accuracy of the proposals over the sentences labelled so far, as two lines.

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 38, RIGHT = 412, TOP = 10, BOTTOM = 128;

function make(name, attributes, text) {
  const found = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  if (text !== undefined) found.textContent = text;
  return found;
}

const percent = share => `${(100 * share).toFixed(1)}\u00a0%`;

export function drawCurve(svg, legend, progress) {
  const lines = [["recent", "sentences just corrected", progress.recent], ["sample", "random sample", progress.sample]];
  const points = lines.flatMap(line => line[2]);
  svg.replaceChildren();
  svg.classList.toggle("empty", !points.length);
  const low = Math.min(0.9, ...points.map(point => Math.floor(point[1] * 10) / 10));
  const last = Math.max(10, progress.done);
  const x = n => LEFT + (RIGHT - LEFT) * n / last;
  const y = share => BOTTOM - (BOTTOM - TOP) * (share - low) / (1 - low);
  for (const share of [low, (1 + low) / 2, 1]) {
    svg.append(make("line", { x1: LEFT, x2: RIGHT, y1: y(share), y2: y(share) }));
    svg.append(make("text", { x: LEFT - 5, y: y(share) + 4, "text-anchor": "end" }, `${Math.round(100 * share)} %`));
  }
  svg.append(make("text", { x: LEFT, y: 144 }, "0"));
  svg.append(make("text", { x: RIGHT, y: 144, "text-anchor": "end" }, `${last} sentences`));
  const words = [];
  legend.replaceChildren();
  for (const [name, title, line] of lines) {
    if (line.length > 1) {
      svg.append(make("polyline", { class: name, points: line.map(([n, share]) => `${x(n)},${y(share)}`).join(" ") }));
    } else if (line.length) {
      svg.append(make("circle", { class: name, r: 3, cx: x(line[0][0]), cy: y(line[0][1]) }));
    }
    const now = line.length ? percent(line.at(-1)[1]) : "none yet";
    const count = name === "sample" ? ` (${progress.n_sample} sentences)` : "";
    words.push(`${title}${count}: ${now}`);
    const key = make("svg", { viewBox: "0 0 24 8", "aria-hidden": "true" });
    key.append(make("line", { class: name, x1: 0, x2: 24, y1: 4, y2: 4 }));
    const entry = document.createElement("span");
    entry.append(key, words.at(-1));
    legend.append(entry);
  }
  legend.prepend("Labels proposed correctly, over the last sentences of each kind. ");
  svg.setAttribute("aria-label", `Labels proposed correctly, over the last sentences of each kind: ${words.join("; ")}`);
}
