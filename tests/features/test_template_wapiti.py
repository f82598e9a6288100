r"""Wapiti's template language. The expected attributes are what Wapiti 1.5 itself made of the same templates.

``wapiti train -p template data model`` writes all attributes into the model file, in order of appearance.
"""

import pytest

from crfkit.exceptions import InputError
from crfkit.features import Template


def attributes(text, rows):
    return Template.parse(text, "wapiti", "t").attributes(rows)


def test_all_kinds_of_lines_and_macros():
    text = r"""U1:%x[-6,0]/%x[-1,0]/%x[0,0]/%x[+1,0]/%x[6,0]
b
*T:%X[0,1]
u A:%t[-1,0,"\d"]%T[0,0,"^\u"] # a comment
B:%M[0,0,"\l*$"]%m[0,0,"^.?.?"]
"""
    assert attributes(text, [["Été", "NOM"], ["Paris", "12"]]) == [
        # "_x-1" has a digit; capitals, small letters and the rest are ASCII, and patterns work on bytes.
        ["u1:_x-#/_x-1/Été/Paris/_x+#", "*T:nom", "u A:truefalse", "b:É"],
        ["u1:_x-#/Été/Paris/_x+1/_x+#", "*T:12", "u A:falsetrue", "b:arisPa"],
    ]


def test_absolute_rows_and_numbers_as_c_reads_them():
    text = "u:%x[@1,0]|%x[@-1,0]|%x[@0,0]|%x[@2,0]|%x[@-2,0]|%x[@9,0]|%x[@-9,0]|%x[010,0]|%x[-0x2,0]"
    assert attributes(text, [["a"], ["b"]]) == [
        ["u:a|b|_x-1|b|a|_x+#|_x-#|_x+#|_x-2"],
        ["u:a|b|_x-1|b|a|_x+#|_x-#|_x+#|_x-1"],
    ]
    assert attributes(text, [["c"]]) == [["u:c|c|_x-1|_x+1|_x-1|_x+#|_x-#|_x+#|_x-2"]]
    assert attributes("u%x[ 1, +0]%x[@ 1,0]", [["a"], ["b"]]) == [["uba"], ["u_x+1a"]]


def test_outside_the_sequence():
    text = "".join(f"u{row}:%x[{row},0]\n" for row in (-1, -4, -5, -99, 1, 4, 5, 99))
    assert attributes(text, [["a"]]) == [
        ["u-1:_x-1", "u-4:_x-4", "u-5:_x-#", "u-99:_x-#", "u1:_x+1", "u4:_x+4", "u5:_x+#", "u99:_x+#"]
    ]


def test_a_hash_is_a_comment_anywhere():
    assert attributes("u:%x[0,0]# x\n#\n  # y\nu2:%x[0,0]\t \r\n", [["#"]]) == [["u:#", "u2:#"]]
    with pytest.raises(InputError, match=r"t:1: .*; # begins a comment, in patterns too"):
        attributes('u:%t[0,0,"#"]', [["a"]])


def test_edge_attributes_are_made_at_the_first_position_too():
    assert attributes("b%x[0,0]\n*%x[0,0]", [["a"]]) == [["ba", "*a"]]


def test_the_first_letter_is_small_and_the_rest_stays():
    assert attributes("UA:%x[0,0]\nBB:%x[0,0]", [["A"]]) == [["uA:A", "bB:A"]]


def test_rows_far_apart():
    text = "u1:%x[0,0]\nu2:%x[100000,0]\nu3:%x[-2147483647,0]%x[2147483647,0]"
    assert attributes(text, [["a"]]) == [["u1:a", "u2:_x+#", "u3:_x-#_x+#"]]


# What u:%m[0,0,"pattern"]/%t[0,0,"pattern"] makes of each of these cells.
CELLS = ["a", "ab", "Aab9", "é", "a.b", "$a", "a^b*", '"', "X", "^", "aaab", "AB"]
MATCHES = [
    ("a", "a/true a/true a/true /false a/true a/true a/true /false /false /false a/true /false"),
    ("^a", "a/true a/true /false /false a/true /false a/true /false /false /false a/true /false"),
    ("a$", "a/true /false /false /false /false a/true /false /false /false /false /false /false"),
    ("^a$", "a/true /false /false /false /false /false /false /false /false /false /false /false"),
    (".", 'a/true a/true A/true \\xc3/true a/true $/true a/true "/true X/true ^/true a/true A/true'),
    ("^.", 'a/true a/true A/true \\xc3/true a/true $/true a/true "/true X/true ^/true a/true A/true'),
    (".$", 'a/true b/true 9/true \\xa9/true b/true a/true */true "/true X/true ^/true b/true B/true'),
    ("", "/true /true /true /true /true /true /true /true /true /true /true /true"),
    ("^", "/true /true /true /true /true /true /true /true /true /true /true /true"),
    ("$", "/true /true /true /true /true /true /true /true /true /true /true /true"),
    ("^$", "/false /false /false /false /false /false /false /false /false /false /false /false"),
    ("a*", "/true /true /true /true /true /true /true /true /true /true /true /true"),
    ("a*$", "a/true /true /true /true /true a/true /true /true /true /true /true /true"),
    ("^a*b", "/false ab/true /false /false /false /false /false /false /false /false aaab/true /false"),
    ("a?b", "/false ab/true ab/true /false b/true /false b/true /false /false /false ab/true /false"),
    ("a?$", "a/true /true /true /true /true a/true /true /true /true /true /true /true"),
    ("\\d", "/false /false 9/true /false /false /false /false /false /false /false /false /false"),
    ("\\d*$", "/true /true 9/true /true /true /true /true /true /true /true /true /true"),
    ("\\a", "a/true a/true A/true /false a/true a/true a/true /false X/true /false a/true A/true"),
    ("\\w*$", "a/true ab/true Aab9/true /true b/true a/true /true /true X/true /true aaab/true AB/true"),
    ("\\l", "a/true a/true a/true /false a/true a/true a/true /false /false /false a/true /false"),
    ("\\u", "/false /false A/true /false /false /false /false /false X/true /false /false A/true"),
    ("\\p", '/false /false /false /false ./true $/true ^/true "/true /false ^/true /false /false'),
    ("\\s", "/false /false /false /false /false /false /false /false /false /false /false /false"),
    ("\\D", 'a/true a/true A/true \\xc3/true a/true $/true a/true "/true X/true ^/true a/true A/true'),
    ("\\A", '/false /false 9/true \\xc3/true ./true $/true ^/true "/true /false ^/true /false /false'),
    ("\\W", '/false /false /false \\xc3/true ./true $/true ^/true "/true /false ^/true /false /false'),
    ("\\L", '/false /false A/true \\xc3/true ./true $/true ^/true "/true X/true ^/true /false A/true'),
    ("\\U", 'a/true a/true a/true \\xc3/true a/true $/true a/true "/true /false ^/true a/true /false'),
    ("\\P", "a/true a/true A/true \\xc3/true a/true a/true a/true /false X/true /false a/true A/true"),
    ("\\S", 'a/true a/true A/true \\xc3/true a/true $/true a/true "/true X/true ^/true a/true A/true'),
    ("\\.", "/false /false /false /false ./true /false /false /false /false /false /false /false"),
    ("\\$", "/false /false /false /false /false $/true /false /false /false /false /false /false"),
    ("$a", "/false /false /false /false /false $a/true /false /false /false /false /false /false"),
    ("a^", "/false /false /false /false /false /false a^/true /false /false /false /false /false"),
    ("b\\*", "/false /false /false /false /false /false b*/true /false /false /false /false /false"),
    ("\\u\\u*$", "/false /false /false /false /false /false /false /false X/true /false /false AB/true"),
    ("^\\u\\l*$", "/false /false /false /false /false /false /false /false X/true /false /false /false"),
    (".*b", "/false ab/true Aab/true /false a.b/true /false a^b/true /false /false /false aaab/true /false"),
    ("a?a?b", "/false ab/true ab/true /false b/true /false b/true /false /false /false aab/true /false"),
    ("a?ab", "/false ab ab9/true /false /false /false /false /false /false /false aab/true /false"),
    ('\\"', '/false /false /false /false /false /false /false "/true /false /false /false /false'),
    ("$*x", "/false /false /false /false /false /false /false /false /false /false /false /false"),
    ("^^", "/false /false /false /false /false /false /false /false /false ^/true /false /false"),
]


@pytest.mark.parametrize(("pattern", "matches"), MATCHES)
def test_patterns(pattern, matches):
    rows = [[cell] for cell in CELLS]
    made = attributes(f'u:%m[0,0,"{pattern}"]/%t[0,0,"{pattern}"]', rows)
    assert " ".join(attribute.removeprefix("u:") for (attribute,) in made) == matches


def test_matches_counted_too_long():
    """Wapiti's length of a match keeps what a failed attempt at an optional byte had counted.

    Where it goes beyond the cell, the C string ends, and the rest of the attribute is lost.
    """
    made = attributes('u:%m[0,0,"a?ab"]/z', [["ab"], ["abX"], ["xaab"], ["b"]])
    assert made == [["u:ab"], ["u:abX/z"], ["u:aab/z"], ["u:/z"]]


def test_half_a_character_is_shown_as_an_escape():
    assert attributes('u:%m[0,0,"^."]', [["é"], ["è"], ["日"], ["e"]]) == [
        ["u:\\xc3"],
        ["u:\\xc3"],
        ["u:\\xe6"],
        ["u:e"],
    ]
    assert attributes('u:%m[0,0,"^."]%m[0,0,".$"]', [["é"]]) == [["u:é"]]


def test_capitals_outside_ascii_stay():
    assert attributes("u:%X[0,0]", [["ÉTÉ-ABC"]]) == [["u:ÉtÉ-abc"]]


def test_patterns_take_no_exponential_time():
    pattern = "a?" * 40 + "a" * 40 + "a*" * 20 + "b$"
    assert attributes(f'u:%t[0,0,"{pattern}"]', [["a" * 60], ["a" * 60 + "b"]]) == [["u:false"], ["u:true"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x:%x[0,0]", "a Wapiti template line begins with u, b, * or #"),
        (" u:%x[0,0]", "a Wapiti template line begins with u, b, * or #"),
        ("%x[0,0]", "a Wapiti template line begins with u, b, * or #"),
        ("u%z[0,0]", 'expected %x[row,column], %t[row,column,"pattern"] or %m'),
        ("u%x[0]", "expected %x[row,column]"),
        ("u%x[0,0", "expected %x[row,column]"),
        ("u%x[@,0]", "expected %x[row,column]"),
        ("u%x[09,0]", "expected %x[row,column]"),
        ("u%x[0x,0]", "expected %x[row,column]"),
        ("u%x[0,-1]", "expected %x[row,column]"),
        ('u%x[0,0,"a"]', "expected %x[row,column]"),
        ("u%t[0,0]", "expected %x[row,column]"),
        ('u%t[0,0,"a]', "expected %x[row,column]"),
        ('u%t[0,0,"a\\"]', "expected %x[row,column]"),
        ("u%t[0,0,a]", "expected %x[row,column]"),
        ("u100%", "expected %x[row,column]"),
        ('u%t[0,0,"*a"]', "'*' follows nothing in '*a'; to match it itself, write \\*"),
        ('u%t[0,0,"^?a"]', "'?' follows nothing"),
        ('u%m[0,0,"a**"]', "'*' follows nothing"),
        ('u%m[0,0,"a?*"]', "'*' follows nothing"),
        ("u%x[2147483648,0]", "the row or the column is too large in '%x[2147483648,0]'"),
        ("u%x[0,99999999999999999999999]", "the row or the column is too large"),
    ],
)
def test_errors_name_source_and_line(line, message):
    with pytest.raises(InputError) as caught:
        Template.parse(f"# a comment\nu:%x[0,0]\n{line}\nb", "wapiti", "my.tpl")
    assert str(caught.value).startswith("my.tpl:3: " + message)
    assert str(caught.value).endswith(f": {line!r}")
