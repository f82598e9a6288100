"""The template that ``crfkit train`` makes when none is given: a window of two rows on either side.

For the first column, which holds the words: each of the five, and the pairs with the middle one. For the
others, which have fewer values (parts of speech, classes of words): each of the five, all pairs and all
threes of neighbours. With two columns that is the set of 19 templates that Sha and Pereira (2003) made known
for chunking. And ``B``: transitions between labels.
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
    """The text of the template for so many columns, the label's not counted, in CRF++'s language."""
    lines = []
    for column in range(n_columns):
        runs = [run for kind in (_CLASS_RUNS if column else _WORD_RUNS) for run in kind]
        for number, run in enumerate(runs):
            macros = "/".join(f"%x[{offset},{column}]" for offset in run)
            lines.append(f"U{column}{number:02}:{macros}")
    return "\n".join([*lines, "B", ""])
