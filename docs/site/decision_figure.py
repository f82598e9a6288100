"""Draw "which model when" as SVG: questions down the left, answers on the right.

    python docs/site/decision_figure.py          # writes docs/images/which-model.svg

The picture takes its colours from the page that it stands in, or from the reader's light or dark setting if
it stands alone.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

from themed_svg import colours

IMAGE = Path(__file__).resolve().parents[1] / "images" / "which-model.svg"


class Step(NamedTuple):
    """A question, and where "yes" leads: a model, a few words about it, and its page."""

    question: tuple[str, ...]
    answer: str
    words: tuple[str, ...]
    page: str


STEPS = (
    Step(
        ("Do labels depend on nothing", "but their own position?"),
        "a classifier",
        ("such as those of scikit-learn", "or LightGBM; no CRF needed"),
        "",
    ),
    Step(
        ("Text, thousands of labelled sentences,", "a GPU, and accuracy above all?"),
        "a transformer",
        ("crfkit.inference decodes its scores:", "legal labels, n-best, probabilities"),
        "inference",
    ),
    Step(
        ("Genes in DNA?",),
        "crfkit genes",
        ("segments with lengths, from", "FASTA and GFF3"),
        "genes",
    ),
    Step(
        ("Words, or other sparse attributes?",),
        "CRF",
        ("linear: fast, readable weights;", "start here with text"),
        "tutorial",
    ),
    Step(
        ("Few labelled sequences of vectors,", "and many without labels?"),
        "KernelCRF with a graph",
        ("similarity to chosen positions;", "labels spread along clusters"),
        "kernel",
    ),
    Step(
        ("Columns of text, numbers and gaps,", "and no idea which matter?"),
        "TreeCRF",
        ("finds windows, thresholds and", "conjunctions by itself"),
        "trees",
    ),
)
LAST = Step(
    (),
    "CRF, then KernelCRF",
    ("arrays of numbers: the linear one", "first, as the measure of the others"),
    "kernel",
)

LEFT, RIGHT, WIDE, NARROW = 8, 392, 306, 296  # edges and widths of the two columns
ROW, BOX = 108, 74
STYLE = """
.decision text { font: 15px system-ui, sans-serif; fill: var(--ink); text-anchor: middle; }
.decision .name { font-weight: 700; }
.decision a { text-decoration: none; }
.decision a text.name { text-decoration: underline; }
.decision .way { font-size: 13px; font-style: italic; }
.decision rect { stroke: var(--edge); stroke-width: 1.2; }
.decision .ask { fill: var(--ask); }
.decision .take { fill: var(--take); }
.decision path { stroke: var(--edge); stroke-width: 1.4; fill: none; }
.decision .head { fill: var(--edge); stroke: none; }
""".strip()


def _lines(lines: tuple[str, ...], x: float, middle: float, names: int = 0) -> list[str]:
    """Return lines of text around a height; the first ``names`` are set as names."""
    top = middle - 9.5 * (len(lines) - 1) + 5
    return [
        f'<text x="{x:g}" y="{top + 19 * i:g}"{" class=" + chr(34) + "name" + chr(34) if i < names else ""}>'
        f"{escape(line)}</text>"
        for i, line in enumerate(lines)
    ]


def _answer(step: Step, top: float, links: str | None) -> list[str]:
    box = f'<rect class="take" x="{RIGHT}" y="{top}" width="{NARROW}" height="{BOX}" rx="8"/>'
    parts = [box, *_lines((step.answer, *step.words), RIGHT + NARROW / 2, top + BOX / 2, names=1)]
    if links is None or not step.page:
        return parts
    return [f'<a href="{step.page}{links}">', *parts, "</a>"]


def decision_svg(links: str | None = None) -> str:
    """Return the picture; ``links`` is what page names end in, None for a picture without links."""
    height = ROW * len(STEPS) + BOX + 16
    parts = []
    for i, step in enumerate(STEPS):
        top, x = 8 + i * ROW, LEFT + WIDE / 2
        middle, bottom = top + BOX / 2, top + BOX
        parts += [f'<rect class="ask" x="{LEFT}" y="{top}" width="{WIDE}" height="{BOX}" rx="8"/>']
        parts += _lines(step.question, x, middle)
        parts += [f'<path d="M{LEFT + WIDE} {middle}H{RIGHT - 8}"/>']
        parts += [f'<path class="head" d="M{RIGHT - 2} {middle}l-9 -5v10z"/>']
        parts += [f'<text class="way" x="{(LEFT + WIDE + RIGHT) / 2 - 4:g}" y="{middle - 7}">yes</text>']
        if i + 1 < len(STEPS):
            parts += [f'<path d="M{x:g} {bottom}V{bottom + ROW - BOX - 8}"/>']
            parts += [f'<path class="head" d="M{x:g} {bottom + ROW - BOX - 2}l-5 -9h10z"/>']
        else:  # the last "no" bends to the last answer
            parts += [f'<path d="M{x:g} {bottom}V{bottom + ROW - BOX / 2}H{RIGHT - 8}"/>']
            parts += [f'<path class="head" d="M{RIGHT - 2} {bottom + ROW - BOX / 2:g}l-9 -5v10z"/>']
        parts += [f'<text class="way" x="{x + 16:g}" y="{bottom + 22}">no</text>']
        parts += _answer(step, top, links)
    parts += _answer(LAST, 8 + len(STEPS) * ROW, links)
    words = "Which model when: six questions from top to bottom, each with the model that yes leads to"
    width = RIGHT + NARROW + 8
    role = "img" if links is None else "group"  # links inside a picture would be hidden from screen readers
    head = f'<svg class="decision" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    return "\n".join(
        [
            f'{head} role="{role}" aria-label="{words}">',
            f"<style>\n{colours('decision')}\n{STYLE}\n</style>",
            *parts,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    IMAGE.write_text(decision_svg(), encoding="utf-8")
