"""The native expansion against Python: any template, any table, any number of threads."""

from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from crfkit.data import Columns, Vocabulary
from crfkit.features import Template
from crfkit.features.template_syntax import Macro

K = 3
CELL_BYTES = "abA9._é"


def is_class(letter: str, c: str) -> bool:
    member = {
        "a": c.isalpha(),
        "d": c.isdigit(),
        "l": c.islower(),
        "u": c.isupper(),
        "w": c.isalnum(),
        "s": c.isspace(),
        "p": c.isprintable() and not c.isalnum() and c != " ",
    }
    inside = c < "\x80" and member[letter.lower()]
    return inside == letter.islower()


def atoms_of(pattern: str) -> list[tuple[str, bool, str]]:
    """Return (byte, escaped, repetition) of each atom."""
    atoms = []
    while pattern:
        escaped = pattern[0] == "\\"
        pattern = pattern[escaped:]
        byte, pattern = pattern[0], pattern[1:]
        repeat = pattern[:1] if pattern[:1] in ("*", "?") else ""
        pattern = pattern[len(repeat) :]
        atoms.append((byte, escaped, repeat))
    return atoms


def attempt(atoms, at_end: bool, text: str) -> tuple[bool, int]:
    """Backtrack from the start of the text; return whether it matches, and the count with failed attempts."""
    if not atoms:
        return (not at_end or not text), 0
    (byte, escaped, repeat), rest = atoms[0], atoms[1:]

    def one(text):
        if not text:
            return False
        if escaped and byte in "adluwspADLUWSP":
            return is_class(byte, text[0])
        return byte == text[0] or (byte == "." and not escaped)

    if repeat == "*":
        for n in range(len(text) + 1):
            found, counted = attempt(rest, at_end, text[n:])
            if found:
                return True, n + counted
            if not one(text[n:]):
                return False, n + 1
    if repeat == "?" and one(text):
        found, counted = attempt(rest, at_end, text[1:])
        if found:
            return True, counted + 1
        again, counted_again = attempt(rest, at_end, text)
        return again, counted + counted_again
    if repeat == "?":
        return attempt(rest, at_end, text)
    if not one(text):
        return False, 1
    found, counted = attempt(rest, at_end, text[1:])
    return found, counted + 1


def search(pattern: str, text: str) -> tuple[int, int] | None:
    """Return the start of the first match and its counted length."""
    at_start = pattern.startswith("^")
    body = pattern[at_start:]
    at_end = body.endswith("$") and (len(body) == 1 or body[-2] != "\\")
    atoms = atoms_of(body[: len(body) - at_end])
    for start in range(1 if at_start else len(text) + 1):
        found, counted = attempt(atoms, at_end, text[start:])
        if found:
            return start, counted
    return None


def expand(template: Template, rows, t: int, pieces) -> str:
    """Return one attribute. Texts are bytes, one character each, until the end."""
    n = len(rows)
    crfpp = template.dialect == "crf++"
    out = ""
    for piece in pieces:
        if not isinstance(piece, Macro):
            out += piece.encode().decode("latin-1")
            continue
        row = piece.row + {"here": t, "first": 0, "last": n}[piece.anchor]
        if 0 <= row < n:
            text = rows[row][piece.column]
        else:
            distance = -row if row < 0 else row - n + 1
            sign = "-" if row < 0 else "+"
            text = f"_B{sign}{distance}" if crfpp else f"_x{sign}{distance if distance < 5 else '#'}"
        text = text.encode().decode("latin-1")
        ends = False
        if piece.command != "x":
            match = search(piece.pattern.encode().decode("latin-1"), text)
            if piece.command == "t":
                text = "false" if match is None else "true"
            else:
                start, counted = match or (0, 0)
                ends = start + counted > len(text)
                text = text[start : start + counted]
        if piece.fold:
            text = "".join(c.lower() if c < "\x80" else c for c in text)
        out += text
        if ends:
            break
    return out.encode("latin-1").decode(errors="backslashreplace")


def reference(template: Template, sentences) -> list[list[dict[str, float]]]:
    lines = template._lines
    plain = next((line for line in lines if line.scope == "edge" and not line.macros), None)
    return [
        [
            Counter(
                expand(template, rows, t, line.pieces)
                for line in lines
                if line is not plain and (t > 0 or template.dialect == "wapiti" or line.scope != "edge")
            )
            for t in range(len(rows))
        ]
        for rows in sentences
    ]


cells = st.text(CELL_BYTES, min_size=1, max_size=4)
tables = st.lists(st.lists(st.lists(cells, min_size=K, max_size=K), max_size=6), max_size=4)
columns_ = st.integers(0, K - 1)
literals = st.sampled_from(["", "/", "0:", "1", "é"])

crfpp_macros = st.builds("%x[{},{}]".format, st.integers(-8, 8), columns_)
atoms = st.builds(
    "{}{}".format,
    st.sampled_from([*"abA9._$^é.", *(rf"\{c}" for c in "adluwspADLUWSP.$*")]),
    st.sampled_from(["", "", "*", "?"]),
)
patterns = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "^"]),
    st.lists(atoms, max_size=5).map("".join),
    st.sampled_from(["", "$"]),
).filter(lambda pattern: pattern[:2] not in ("^*", "^?"))
wapiti_rows = st.one_of(
    st.integers(-7, 7).map(str), st.builds("@{}".format, st.integers(-4, 4)), st.just("40")
)
wapiti_macros = st.one_of(
    st.builds("%{}[{},{}]".format, st.sampled_from("xX"), wapiti_rows, columns_),
    st.builds('%{}[{},{},"{}"]'.format, st.sampled_from("tTmM"), wapiti_rows, columns_, patterns),
)


def texts(letters, macros):
    line = st.builds(
        "{}{}{}".format,
        st.sampled_from(letters),
        st.lists(st.builds("{}{}".format, literals, macros), max_size=4).map("".join),
        literals,
    )
    return st.lists(line, min_size=1, max_size=6).map("\n".join)


templates = st.one_of(
    st.tuples(texts("UUB", crfpp_macros), st.just("crf++")),
    st.tuples(texts("uUb*", wapiti_macros), st.just("wapiti")),
)


@settings(max_examples=300)
@given(templates, tables, st.integers(0, 2))
@example(("U%x[0,0]%x[1,0]\nU%x[0,0]\nU\nU", "crf++"), [[["ab", "b", "b"], ["a", "b", "b"]]], 0)
@example(('u:%m[0,0,"a?ab"]/z\nu:ab', "wapiti"), [[["ab", "b", "b"]]], 0)
def test_the_same_attributes_as_in_python(template_and_dialect, sentences, forgotten):
    template = Template.parse(*template_and_dialect)
    expected = reference(template, sentences)
    vocabulary = Vocabulary()
    columns = Columns.from_rows(sentences)
    encoded = template.encode(columns, vocabulary, grow=True)
    assert readable(encoded, vocabulary.strings()) == expected
    in_order = [name for sequence in expected for position in sequence for name in position]
    assert vocabulary.strings() == list(dict.fromkeys(in_order))
    # Look-ups find the same ids, except for attributes missing from the vocabulary.
    some = vocabulary.strings()[forgotten::2]
    encoded = template.encode(columns, Vocabulary(some), grow=False)
    assert readable(encoded, some) == [
        [{name: value for name, value in position.items() if name in set(some)} for position in sequence]
        for sequence in expected
    ]


def readable(encoded, names):
    values = [1.0] * encoded.indices.size if encoded.values is None else encoded.values.tolist()
    ids = encoded.indices.tolist()
    positions = [
        {names[i]: value for i, value in zip(ids[a:b], values[a:b], strict=True)}
        for a, b in zip(encoded.indptr[:-1], encoded.indptr[1:], strict=True)
    ]
    assert sum(map(len, positions)) == len(ids)  # each attribute once per position
    return [positions[a:b] for a, b in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)]
