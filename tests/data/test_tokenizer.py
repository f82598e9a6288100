"""The tokenizer against a description of its rule in Python, and spans to labels and back."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit import _native
from crfkit.data.tokenizer import Span, labels_of_spans, tokenize
from crfkit.metrics.segments import segments

TEXTS = st.text(
    st.sampled_from("ab1_ \n.,-'’é\u0301\u0915\u094d東タ\U00020000👍\ufe0f") | st.characters(codec="utf-8")
)


def expected(text):
    """Return the tokens by the rule as it is written."""
    tokens, in_word = [], False
    for place, c in enumerate(text):
        name = unicodedata.name(c, "")
        alone = "CJK" in name or name.startswith(("HIRAGANA", "KATAKANA"))
        mark = unicodedata.category(c).startswith("M")
        word = (c.isalnum() or c == "_" or mark) and not alone
        touches = tokens and tokens[-1][1] == place
        if c.isspace():
            continue
        if touches and (mark or (word and in_word)):
            tokens[-1] = (tokens[-1][0], place + 1)
        else:
            tokens.append((place, place + 1))
            in_word = word
    return tokens


@pytest.mark.skipif(
    unicodedata.unidata_version != _native.UNICODE_VERSION,
    reason="this Python has another version of Unicode",
)
@given(st.text(st.sampled_from("ab1_ \n.,-'’é\u0301\u0915\u094d東タ\U00020000👍\ufe0f½ß\u0e01\u0e34")))
def test_the_rule(text):
    assert [(token.start, token.end) for token in tokenize(text)] == expected(text)


@given(TEXTS)
def test_tokens_are_the_text_without_its_white_space(text):
    tokens = tokenize(text)
    assert all(text[token.start : token.end] == token.text for token in tokens)
    covered = {place for token in tokens for place in range(token.start, token.end)}
    assert all((place in covered) or c.isspace() for place, c in enumerate(text))


def test_scripts():
    words = "Dr. Müller's नमस्ते 東京 don't\u00a0x_1 3.5€"
    shown = "Dr|.|Müller|'|s|नमस्ते|東|京|don|'|t|x_1|3|.|5|€"
    assert "|".join(token.text for token in tokenize(words)) == shown
    assert tokenize("") == tokenize(" \n\t") == []
    refuses("text must be a str, got bytes", tokenize, b"a")
    refuses("a lone surrogate", tokenize, "a\ud800")


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2), st.sampled_from("XY")), max_size=6))
def test_spans_become_labels_and_labels_spans(parts):
    """Segments of n words with gaps of m words between them."""
    spans, words = [], []
    for n, gap, label in parts:
        start = len(" ".join(words)) + bool(words)
        words += ["ab"] * n
        spans.append(Span(start, len(" ".join(words)), label))
        words += ["o"] * gap
    text = " ".join(words)
    tokens = tokenize(text)
    labels, widened = labels_of_spans(tokens, reversed(spans), text)
    found = [Span(tokens[s.start].start, tokens[s.end - 1].end, s.type) for s in segments(labels, "IOB2")]
    assert (found, widened) == (spans, 0)


def test_spans_that_do_not_fit():
    text = "New York-based firm"
    tokens = tokenize(text)
    refuses(
        r"the span LOC \[0, 6\) 'New Yo' cuts the token 'York' \[4, 8\)",
        labels_of_spans,
        tokens,
        [Span(0, 6, "LOC")],
        text,
    )
    labels, widened = labels_of_spans(tokens, [Span(0, 6, "LOC"), Span(9, 14, "X")], text, snap=True)
    assert labels == ["B-LOC", "I-LOC", "O", "B-X", "O"]
    assert widened == 1
    assert labels_of_spans(tokens, [Span(0, 4, "A")], text) == (
        ["B-A", "O", "O", "O", "O"],
        0,
    )  # with a blank
    for span, words in [
        ((3, 4), "no token"),
        ((5, 99), "not lie in the text"),
        ((5, 5), "not lie"),
        ((-1, 3), "not lie"),
    ]:
        refuses(words, labels_of_spans, tokens, [Span(*span, "A")], text)
    refuses(
        "overlaps another at the token 'York'",
        labels_of_spans,
        tokens,
        [Span(0, 8, "A"), Span(4, 8, "B")],
        text,
    )
