"""The template that ``crfkit train`` uses if none is given: a window of two rows on either side.

For the first column, the words: each of the five cells, and the two pairs of neighbours with the middle one.
For the other columns, which have fewer values (parts of speech, word classes): each of the five cells, and
all pairs and triples of neighbours. Two columns give the 19 templates of Sha and Pereira (2003) for chunking.
``B`` adds transitions between labels.
"""

from __future__ import annotations

_OFFSETS = range(-2, 3)
_WORD_RUNS = ([(offset,) for offset in _OFFSETS], [(-1, 0), (0, 1)])
_CLASS_RUNS = (
    [(offset,) for offset in _OFFSETS],
    [(offset, offset + 1) for offset in _OFFSETS[:-1]],
    [(offset, offset + 1, offset + 2) for offset in _OFFSETS[:-2]],
)


def default_template(n_columns: int) -> str:
    """Return the template for this many columns (without the label's), in CRF++'s syntax."""
    lines = []
    for column in range(n_columns):
        runs = [run for kind in (_CLASS_RUNS if column else _WORD_RUNS) for run in kind]
        for number, run in enumerate(runs):
            macros = "/".join(f"%x[{offset},{column}]" for offset in run)
            lines.append(f"U{column}{number:02}:{macros}")
    return "\n".join([*lines, "B", ""])
