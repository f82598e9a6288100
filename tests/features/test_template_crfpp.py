"""CRF++'s template language."""

import pytest
from refusals import refuses
from template_lines import refuses_line

from crfkit.features import Template


def attributes(text, rows):
    return Template.parse(text, "crf++", "t").attributes(rows)


A, AB = [["a"]], [["a"], ["b"]]
ROWS = [["He", "PRP"], ["reckons", "VBZ"], ["the", "DT"]]
MANUAL = """# Unigram
U00:%x[-2,0]
U02:%x[0,0]
U05:%x[-1,0]/%x[0,0]
U16:%x[-1,1]/%x[0,1]

# Bigram
B
"""
OUTSIDE = "".join(f"U{row}:%x[{row},0]\n" for row in (-8, -4, -1, 1, 4, 8))


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        pytest.param(  # the line is copied, name and all; %x[row,column] is replaced
            MANUAL,
            ROWS,
            [
                ["U00:_B-2", "U02:He", "U05:_B-1/He", "U16:_B-1/PRP"],
                ["U00:_B-1", "U02:reckons", "U05:He/reckons", "U16:PRP/VBZ"],
                ["U00:He", "U02:the", "U05:reckons/the", "U16:VBZ/DT"],
            ],
            id="the manual's example",
        ),
        (OUTSIDE, A, [["U-8:_B-8", "U-4:_B-4", "U-1:_B-1", "U1:_B+1", "U4:_B+4", "U8:_B+8"]]),
        ("U%x[-8,0]\nU%x[8,0]\n", AB, [["U_B-8", "U_B+7"], ["U_B-7", "U_B+8"]]),
        # Edge lines begin at the second position.
        ("U%x[0,0]\nB1:%x[-1,0]/%x[0,0]\nB", AB, [["Ua"], ["Ub", "B1:a/b"]]),
        # A hash begins a comment only at the start of a line.
        ("#U0:%x[0,0]\nU1:%x[0,0] # x", A, [["U1:a # x"]]),
        ("U:%x[0,0]#", [["#"]], [["U:##"]]),
        # Blanks belong to the attribute, and carriage returns do not.
        ("U:%x[0,0] \r\n \r\n\r\nU2\t\r\n", A, [["U:a ", "U2\t"]]),
        # Lines without macros, and macros without names.
        ("U\nUbias\nU%x[0,0]%x[0,0]", A, [["U", "Ubias", "Uaa"]]),
        # Cells are copied as they are.
        ("U:%x[0,0]", [["%x[0,0]"], ["ü\u00a0ß"], [""]], [["U:%x[0,0]"], ["U:ü\u00a0ß"], ["U:"]]),
        ("U%x[-01,00]%x[00,2]", [["a", "b", "c"]], [["U_B-1c"]]),
        ("U%x[-0000000000001,0000000000000]", A, [["U_B-1"]]),
    ],
)
def test_attributes(text, rows, expected):
    assert attributes(text, rows) == expected


EXPECTED = "expected %x[row,column]"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        *((x, "a CRF++ template line begins with U, B or #") for x in ("X", " U", "u:%x[0,0]", "*:%x[0,0]")),
        ("U%x[9,0]", "rows are -8 to 8, got 9"),
        ("U%x[-9,0]", "rows are -8 to 8, got -9"),
        ("U%x[99999999999999999999,0]", "rows are -8 to 8"),
        ("U%x[+1,0]", "expected %x[row,column], like %x[-1,0], got '%x[+1,0]'"),
        ("U100%:%x[0,0]", "expected %x[row,column], like %x[-1,0], got '%:%x[0,0]'"),
        *((f"U%x{x}", EXPECTED) for x in ("[0, 0]", "[0,-1]", "[0]", "[0,0", "", "[@1,0]", "[²,0]")),
        *((f"U%{x}", EXPECTED) for x in ("", "X[0,0]", 't[0,0,"a"]')),
    ],
)
def test_errors_name_source_and_line(line, message):
    refuses_line(line, message, f"# a comment\nU:%x[0,0]\n{line}\nB", "crf++")


def test_a_column_far_away():
    refuses(r"t:1: .* reads column 123456789", attributes, "U%x[0,123456789]", [["a"]])
    for digits in ("123456789012", "9" * 10_000):
        refuses(r"t:1: the column is too large", attributes, f"U%x[0,{digits}]", [["a"]])
