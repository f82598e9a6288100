"""A slow reader of CRFsuite data, one character at a time, and texts to read."""

import io

import numpy as np
from hypothesis import strategies as st

from crfkit.data import Vocabulary
from crfkit.io.crfsuite_data import read_crfsuite, write_crfsuite


def fields_of(line):
    """Return (name, value) of every field, one character at a time."""
    fields, name, value, inside = [], "", None, False
    i = 0
    while i <= len(line):
        c = line[i : i + 1]
        if c in ("\t", ""):
            if inside:
                fields.append((name, value))
            name, value, inside = "", None, False
        else:
            inside = True
            if c == "\\" and line[i + 1 : i + 2] in ("\\", ":") and value is None:
                i += 1
                name += line[i]
            elif c == ":" and value is None:
                value = ""
            elif value is None:
                name += c
            else:
                value += c
        i += 1
    return fields


def slow_read(text):
    """Return [(weight, [(label, {attribute: value})])]."""
    sequences, items, weight = [], [], 1.0
    for line in [*text.split("\n"), ""]:
        if not line:
            if items:
                sequences.append((weight, items))
            items, weight = [], 1.0
            continue
        label, attributes = None, {}
        for name, value in fields_of(line):
            if label is None and name.startswith("@"):
                weight = float(value)
            elif label is None:
                label = name
            else:
                attributes[name] = attributes.get(name, 0.0) + (float(value) if value else 1.0)
        if not np.isfinite(list(attributes.values())).all():
            raise ValueError("infinite")
        if label is not None:
            items.append((label, {name: value for name, value in attributes.items() if value}))
    return sequences


def plain(examples, vocabulary):
    """Return Examples in the form of slow_read."""
    x, names = examples.sequences, vocabulary.strings()
    values = np.ones(x.indices.size) if x.values is None else x.values
    weights = np.ones(x.n_sequences) if examples.weights is None else examples.weights
    rows = [
        {names[a]: float(v) for a, v in zip(x.indices[i:j], values[i:j], strict=True)}
        for i, j in zip(x.indptr[:-1], x.indptr[1:], strict=True)
    ]
    return [
        (float(weight), list(zip(labels, rows[i:j], strict=True)))
        for weight, labels, i, j in zip(weights, examples.labels, x.offsets[:-1], x.offsets[1:], strict=True)
    ]


def read(data, **options):
    """Read a text or bytes into the form of slow_read."""
    vocabulary = Vocabulary()
    data = data.encode() if isinstance(data, str) else data
    return plain(read_crfsuite(io.BytesIO(data), vocabulary, grow=True, **options), vocabulary)


def written(*args, **options):
    file = io.BytesIO()
    write_crfsuite(file, *args, **options)
    return file.getvalue().decode()


NAMES = st.text(st.sampled_from("ab:\\ #@=é語\u00a0\u2028😀"), max_size=5)
NUMBERS = st.sampled_from(["", "1", "0.5", "-2e3", "+3", " 4 ", "0", "1e-999", ".5", "5.", "1e308"])


@st.composite
def files(draw):
    """Draw texts without surprises for CRFsuite: labels without a value, numbers, one colon per field."""

    def escaped(name):
        # A backslash before anything except a colon or another backslash may stay unescaped.
        text = name.replace("\\", "\\\\") if draw(st.booleans()) else name.replace("\\\\", "\\\\\\\\")
        text = (
            text.replace(":", "\\:") if "\\:" not in name else name.replace("\\", "\\\\").replace(":", "\\:")
        )
        return text

    lines = []
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.integers(0, 4)) == 0:
            lines.append("")
            continue
        tabs = st.sampled_from(["\t", "\t\t"])
        line = draw(st.sampled_from(["", "", "", "@weight:2.5\t", "@weight:0\t\t"]))
        label = escaped(draw(NAMES)).lstrip("@")
        line += label if label not in ("", "\\") else "L"
        for _ in range(draw(st.integers(0, 4))):
            name = escaped(draw(NAMES))
            line += draw(tabs) + (name + ":" + draw(NUMBERS) if draw(st.booleans()) or not name else name)
        lines.append(line + draw(st.sampled_from(["", "\t"])))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))
