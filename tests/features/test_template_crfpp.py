"""CRF++'s template language."""

import pytest
from refusals import refuses

from crfkit.exceptions import InputError
from crfkit.features import Template


def attributes(text, rows):
    return Template.parse(text, "crf++", "t").attributes(rows)


ROWS = [["He", "PRP"], ["reckons", "VBZ"], ["the", "DT"]]


def test_the_manuals_example():
    """The line is copied, name and all; %x[row,column] is replaced."""
    text = """# Unigram
U00:%x[-2,0]
U02:%x[0,0]
U05:%x[-1,0]/%x[0,0]
U16:%x[-1,1]/%x[0,1]

# Bigram
B
"""
    assert attributes(text, ROWS) == [
        ["U00:_B-2", "U02:He", "U05:_B-1/He", "U16:_B-1/PRP"],
        ["U00:_B-1", "U02:reckons", "U05:He/reckons", "U16:PRP/VBZ"],
        ["U00:He", "U02:the", "U05:reckons/the", "U16:VBZ/DT"],
    ]


def test_outside_the_sequence():
    text = "".join(f"U{row}:%x[{row},0]\n" for row in (-8, -4, -1, 1, 4, 8))
    expected = ["U-8:_B-8", "U-4:_B-4", "U-1:_B-1", "U1:_B+1", "U4:_B+4", "U8:_B+8"]
    assert attributes(text, [["a"]]) == [expected]
    assert attributes("U%x[-8,0]\nU%x[8,0]\n", [["a"], ["b"]]) == [["U_B-8", "U_B+7"], ["U_B-7", "U_B+8"]]


def test_edge_lines_begin_at_the_second_position():
    assert attributes("U%x[0,0]\nB1:%x[-1,0]/%x[0,0]\nB", [["a"], ["b"]]) == [["Ua"], ["Ub", "B1:a/b"]]


def test_a_hash_is_a_comment_at_the_start_of_a_line_alone():
    assert attributes("#U0:%x[0,0]\nU1:%x[0,0] # x", [["a"]]) == [["U1:a # x"]]
    assert attributes("U:%x[0,0]#", [["#"]]) == [["U:##"]]


def test_blanks_belong_to_the_attribute_and_carriage_returns_do_not():
    assert attributes("U:%x[0,0] \r\n \r\n\r\nU2\t\r\n", [["a"]]) == [["U:a ", "U2\t"]]


def test_lines_without_macros_and_macros_without_names():
    assert attributes("U\nUbias\nU%x[0,0]%x[0,0]", [["a"]]) == [["U", "Ubias", "Uaa"]]


def test_cells_are_copied_as_they_are():
    assert attributes("U:%x[0,0]", [["%x[0,0]"], ["ü\u00a0ß"], [""]]) == [
        ["U:%x[0,0]"],
        ["U:ü\u00a0ß"],
        ["U:"],
    ]


def test_long_columns_and_leading_zeros():
    assert attributes("U%x[-01,00]%x[00,2]", [["a", "b", "c"]]) == [["U_B-1c"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("X", "a CRF++ template line begins with U, B or #"),
        (" U", "a CRF++ template line begins with U, B or #"),
        ("u:%x[0,0]", "a CRF++ template line begins with U, B or #"),
        ("*:%x[0,0]", "a CRF++ template line begins with U, B or #"),
        ("U%x[9,0]", "rows are -8 to 8, got 9"),
        ("U%x[-9,0]", "rows are -8 to 8, got -9"),
        ("U%x[99999999999999999999,0]", "rows are -8 to 8"),
        ("U%x[+1,0]", "expected %x[row,column], like %x[-1,0], got '%x[+1,0]'"),
        ("U%x[0, 0]", "expected %x[row,column]"),
        ("U%x[0,-1]", "expected %x[row,column]"),
        ("U%x[0]", "expected %x[row,column]"),
        ("U%x[0,0", "expected %x[row,column]"),
        ("U%x", "expected %x[row,column]"),
        ("U%", "expected %x[row,column]"),
        ("U100%:%x[0,0]", "expected %x[row,column], like %x[-1,0], got '%:%x[0,0]'"),
        ("U%X[0,0]", "expected %x[row,column]"),
        ('U%t[0,0,"a"]', "expected %x[row,column]"),
        ("U%x[@1,0]", "expected %x[row,column]"),
        ("U%x[²,0]", "expected %x[row,column]"),
    ],
)
def test_errors_name_source_and_line(line, message):
    with pytest.raises(InputError) as caught:
        Template.parse(f"# a comment\nU:%x[0,0]\n{line}\nB", "crf++", "my.tpl")
    assert str(caught.value).startswith("my.tpl:3: " + message)
    assert str(caught.value).endswith(f": {line!r}")


def test_a_column_far_away():
    refuses(r"t:1: .* looks at column 123456789", attributes, "U%x[0,123456789]", [["a"]])
    for digits in ("123456789012", "9" * 10_000):
        refuses(r"t:1: the column is too large", attributes, f"U%x[0,{digits}]", [["a"]])
    assert attributes("U%x[-0000000000001,0000000000000]", [["a"]]) == [["U_B-1"]]
