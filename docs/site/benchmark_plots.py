"""Draw the pictures of docs/benchmarks.md from the tables of benchmarks/RESULTS.md.

    python docs/site/benchmark_plots.py          # writes docs/images/benchmarks/*.svg

Every picture holds the numbers that it was drawn from, and a test compares them with the tables: run this
again when a table has changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from themed_svg import colours

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images" / "benchmarks"
INK = "#010203"  # stands for the page's own colour of text until the picture is written
OURS, THEIRS, THIRD, FOURTH = "#2a78d6", "#d9822b", "#2e9e78", "#a05fc0"

Rows = list[dict[str, str]]
Data = dict[str, Any]


def tables_below(heading: str) -> list[Rows]:
    """Return the tables of a chapter of RESULTS.md, up to the next heading of its level or above."""
    text = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    start = re.search(rf"^(#+) {re.escape(heading)}\s*$", text, re.MULTILINE)
    if start is None:
        raise ValueError(f"benchmarks/RESULTS.md has no heading {heading!r}")
    end = re.search(rf"^#{{1,{len(start.group(1))}}} ", text[start.end() :], re.MULTILINE)
    part = text[start.end() :][: end.start() if end else None]
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", part, re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        # Of columns with the same name the first one counts.
        found.append([dict(reversed(list(zip(lines[0], line, strict=True)))) for line in lines[2:]])
    return found


def number(cell: str) -> float:
    """Return the first number of a cell, in seconds if its unit is milliseconds."""
    found = re.search(r"-?[\d,]*\.?\d+", cell.replace("−", "-"))
    if found is None:
        raise ValueError(f"no number in the cell {cell!r}")
    return float(found.group().replace(",", "")) * (1e-3 if " ms" in cell else 1)


def column(rows: Rows, name: str, value: str) -> dict[str, float]:
    """Return {name: value} of two columns."""
    return {row[name]: number(row[value]) for row in rows if re.search(r"\d", row[value])}


def speed() -> Data:
    """How many times as fast as python-crfsuite, batch by batch."""
    (first,) = tables_below("211,727 tokens, 22 labels, 335,674 attributes, 452,610 state features")
    found = {row[""]: number(row["ratio"]) for row in first if "memory" not in row[""]}
    for penalty in ("c2 = 0.05", "c2 = 1", "c1 = 0.1, c2 = 0.1"):
        (rows,) = tables_below(f"Training, {penalty}")
        row = next(row for row in rows if row[""] == "to within 0.1% of the optimum")
        found[f"training to 0.1 %, {penalty}"] = number(row["ratio"])
    (rows,) = tables_below("The models, c2 = 0.05")
    found |= {row[""]: number(row["ratio"]) for row in rows if row[""].startswith(("tagging", "marginals"))}
    return {"times as fast as python-crfsuite": found}


def one_sentence() -> Data:
    """How many times as fast per call."""
    (rows,) = tables_below("One sentence per call")
    kept = [row for row in rows if "µs" in row["crfkit"]]
    return {
        "times as fast": {
            row["usaddress' model"].replace("`", ""): number(row["crfkit is faster by"]) for row in kept
        }
    }


def labels() -> Data:
    """Time of a pass against the number of labels."""
    (rows,) = tables_below("Against labels")
    ours, theirs = (
        {row["labels"]: number(row[key]) for row in rows} for key in ("pass, 2 threads", "CRFsuite's pass")
    )
    return {"crfkit, 2 threads": ours, "CRFsuite": theirs}


def chunking() -> Data:
    """F1 on CoNLL-2000's test file by what was added to the base."""
    rows = tables_below("In a chunker: CoNLL-2000, 19 templates")[1]
    return {"here": column(rows, "configuration", "F1"), "the paper": column(rows, "configuration", "paper")}


def selection() -> Data:
    """F1 on the test file against the number of features."""
    rows = tables_below("Text: CoNLL-2000, 19 templates")[0]
    numbers = [name for name in rows[0] if name != "method"]
    return {row["method"]: {n: number(row[n].split("/")[1]) for n in numbers} for row in rows}


def little_data() -> Data:
    """F1 against the number of training sentences."""
    rows = tables_below("Text with little data, under validation constraints")[0]
    kept = ("plain CRF", "CRF, c2 tuned by cross-validation", "ConstrainedCRF", "… c2 the largest feasible")
    sizes = [name for name in rows[0] if name != "model"]
    return {row["model"]: {n: number(row[n]) for n in sizes} for row in rows if row["model"] in kept}


def genes() -> Data:
    """Exons found and exons right, by program."""
    rows = tables_below("Genes")[0]
    name = "four splits, Sn/Sp in %"
    kept = (
        "SNAP",
        "AUGUSTUS",
        "AUGUSTUS, settings optimised, split 0 alone (quoted)",
        "crfkit, split 0",
        "crfkit",
    )
    by = {row[name]: row["exon"].split("/") for row in rows}
    return {what: {tool: number(by[tool][i]) for tool in kept} for i, what in enumerate(("Sn", "Sp"))}


def nettalk() -> Data:
    """Words right with 10,000 words and phonemes alone."""
    rows = [row for row in tables_below("NETtalk")[0] if row["task"].startswith("10,000 words, phoneme (")]
    return {"words right, %": {row["model"]: number(row["letters / words"].split("/")[1]) for row in rows}}


def proteins() -> Data:
    """RS126 in seven folds: residues right."""
    (rows,) = tables_below("RS126, 7-fold cross-validation: 126 chains")
    return {what: column(rows, "method", f"{what}, %") for what in ("Q3", "transitions")}


def stocks() -> Data:
    """Days right, with their intervals."""
    rows = tables_below("Ours, EMA over 10 days")[0]
    bounds = {row["method"]: [float(x) for x in re.findall(r"\d+\.\d+", row["95 %"])] for row in rows}
    return {"accuracy, %": column(rows, "method", "accuracy"), "interval": bounds}


def corrections() -> Data:
    """F1 against the number of corrected sentences, by the order in which they are shown."""
    rows = tables_below("Labelling with a model in the loop")[1]
    orders = {"random order": "random", "least sure first": "total", "least sure per token": "token"}
    return {
        name: {row["sentences"]: number(row[f"{order}: F1"]) for row in rows if row[f"{order}: F1"] != "–"}
        for name, order in orders.items()
    }


def bars(ax: Any, data: Data, **options: Any) -> None:
    """Draw horizontal bars from 0 with their values: one colour per series, one row per name."""
    names = list(next(iter(data.values())))
    height = 0.8 / len(data)
    for i, (series, values) in enumerate(data.items()):
        rows = [k + height * (i - (len(data) - 1) / 2) for k in range(len(names))]
        lengths = [values[name] for name in names]
        drawn = ax.barh(rows, lengths, height, color=(OURS, THEIRS)[i], label=series)
        ax.bar_label(drawn, [options["form"].format(x) for x in lengths], padding=3)
    ax.set_xlim(0, options["end"])
    _finish(ax, names, data, options)


def dots(ax: Any, data: Data, **options: Any) -> None:
    """Draw points with their values, for scales that do not begin at 0; intervals as lines through them."""
    series = {name: values for name, values in data.items() if name != "interval"}
    names = list(next(iter(series.values())))
    for i, (name, values) in enumerate(series.items()):
        shift = 0.32 * (i - (len(series) - 1) / 2)
        for k, row in enumerate(names):
            if row in values:  # values of the second series stand below their points
                place = {"va": "top", "y": k + shift + 0.12} if i else {"va": "bottom", "y": k + shift - 0.1}
                ax.text(values[row], s=options["form"].format(values[row]), ha="center", **place)
            if row in data.get("interval", {}):
                ax.plot(data["interval"][row], [k, k], color=OURS, lw=1.5)
        found = [(values[row], k + shift) for k, row in enumerate(names) if row in values]
        ax.plot(*zip(*found, strict=True), "os"[i], color=(OURS, THEIRS)[i], ms=7, label=name)
    for k in range(len(names)):
        ax.axhline(k, color=INK, lw=0.4, alpha=0.4, zorder=0)
    ax.margins(0.1, 0.08)
    _finish(ax, names, series, options)


def _finish(ax: Any, names: list[str], series: Data, options: dict[str, Any]) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel(options.get("label", next(iter(series))))
    if len(series) > 1:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)


def lines(ax: Any, data: Data, **options: Any) -> None:
    """Draw one line per name over numbers."""
    for (name, values), colour, dash in zip(
        data.items(), (OURS, THEIRS, THIRD, FOURTH), ("-", "--", "-.", ":"), strict=False
    ):
        x = [float(key.replace(",", "")) for key in values]
        ax.plot(x, list(values.values()), dash, color=colour, marker="o", ms=4, label=name)
    for level, words in options.get("levels", ()):
        ax.axhline(level, color=INK, lw=1, ls=(0, (1, 2)))
        ax.annotate(words, (0.99, level), xycoords=("axes fraction", "data"), ha="right", va="bottom")
    ax.set_xscale("log")
    if options.get("log"):
        ax.set_yscale("log")
    ticks = [float(key.replace(",", "")) for key in next(iter(data.values()))]
    wide: list[float] = []  # those with room for their words
    for tick in ticks:
        wide += [tick] if not wide or tick > 1.6 * wide[-1] else []
    ax.set_xticks(wide, [f"{tick:,.0f}" for tick in wide])
    ax.minorticks_off()
    ax.set_ylim(*options.get("limits", (None, None)))
    ax.set_xlabel(options["x"])
    ax.set_ylabel(options["y"])
    ax.legend(frameon=False)


Plot = tuple[Callable[[], Data], Callable[..., None], float, dict[str, Any]]
PLOTS: dict[str, Plot] = {
    "speed": (speed, bars, 3.6, {"form": "{:.1f}×", "end": 85}),
    "one-sentence": (one_sentence, bars, 2.6, {"form": "{:.1f}×", "end": 21}),
    "labels": (labels, lines, 3.2, {"log": True, "x": "labels", "y": "seconds per pass"}),
    "chunking": (chunking, dots, 5.6, {"form": "{:.2f}", "label": "F1 on the test file"}),
    "selection": (
        selection,
        lines,
        3.8,
        {
            "x": "features",
            "y": "F1 on the test file",
            "limits": (90, 94),
            "levels": ((93.70, "all features, c2 = 0.05: 93.70"),),
        },
    ),
    "little-data": (little_data, lines, 3.6, {"x": "training sentences", "y": "F1 on the test file"}),
    "corrections": (corrections, lines, 3.6, {"x": "corrected sentences", "y": "F1 on the test file"}),
    "genes": (genes, dots, 3.8, {"form": "{:.1f}", "label": "exons, %"}),
    "nettalk": (nettalk, dots, 2.4, {"form": "{:.1f}"}),
    "proteins": (proteins, bars, 5.6, {"form": "{:.1f}", "end": 85, "label": "%"}),
    "stocks": (stocks, dots, 2.8, {"form": "{:.1f}"}),
}


def draw(name: str) -> str:
    """Return one picture, with the numbers that it was drawn from."""
    import io

    import matplotlib
    from matplotlib.figure import Figure

    read, how, height, options = PLOTS[name]
    data = read()
    plain = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings = dict.fromkeys(plain, INK) | {"svg.fonttype": "none", "font.size": 10, "svg.hashsalt": name}
    with matplotlib.rc_context({**settings, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(7, height), layout="constrained")
        how(figure.add_subplot(), data, **options)
        out = io.StringIO()
        about = {"Date": None, "Creator": None, "Description": json.dumps(data, ensure_ascii=False)}
        figure.savefig(out, format="svg", transparent=True, metadata=about)
    words = (read.__doc__ or "").strip().rstrip(".")
    svg = out.getvalue().replace(INK, "currentColor")
    head = f'<svg class="plot" role="img" aria-label="{words}" '
    svg = re.sub(r"<svg ", head, svg, count=1)
    svg = re.sub(
        r' width="[\d.]+pt" height="[\d.]+pt"| height="[\d.]+pt"| width="[\d.]+pt"', "", svg, count=2
    )
    style = f"<style>\n{colours('plot')}\n</style>\n"
    return svg.replace("<metadata>", style + "<metadata>", 1)


def drawn_from(svg: str) -> Data:
    """Return the numbers that a picture was drawn from."""
    import html

    found = re.search(r"<dc:description>(.*?)</dc:description>", svg, re.DOTALL)
    return json.loads(html.unescape(found.group(1))) if found else {}


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in PLOTS:
        (IMAGES / f"{name}.svg").write_text(draw(name), encoding="utf-8")
