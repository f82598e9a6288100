r"""Wapiti's template language. The expected attributes are what Wapiti 1.5 itself made of the same templates.

``wapiti train -p template data model`` writes all attributes into the model file, in order of appearance.
"""

import pytest
from refusals import refuses
from template_lines import refuses_line

from crfkit.features import Template


def attributes(text, rows):
    return Template.parse(text, "wapiti", "t").attributes(rows)


A, AB = [["a"]], [["a"], ["b"]]
KINDS = r"""U1:%x[-6,0]/%x[-1,0]/%x[0,0]/%x[+1,0]/%x[6,0]
b
*T:%X[0,1]
u A:%t[-1,0,"\d"]%T[0,0,"^\u"] # a comment
B:%M[0,0,"\l*$"]%m[0,0,"^.?.?"]
"""
ABSOLUTE = "u:%x[@1,0]|%x[@-1,0]|%x[@0,0]|%x[@2,0]|%x[@-2,0]|%x[@9,0]|%x[@-9,0]|%x[010,0]|%x[-0x2,0]"
OUTSIDE = "".join(f"u{row}:%x[{row},0]\n" for row in (-1, -4, -5, -99, 1, 4, 5, 99))
LONG = "a?" * 40 + "a" * 40 + "a*" * 20 + "b$"  # must not take exponential time


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        pytest.param(
            KINDS,
            [["Été", "NOM"], ["Paris", "12"]],
            [  # "_x-1" has a digit; capitals and small letters are ASCII, and patterns work on bytes
                ["u1:_x-#/_x-1/Été/Paris/_x+#", "*T:nom", "u A:truefalse", "b:É"],
                ["u1:_x-#/Été/Paris/_x+1/_x+#", "*T:12", "u A:falsetrue", "b:arisPa"],
            ],
            id="all kinds of lines and macros",
        ),
        # Absolute rows, and numbers as C reads them.
        (ABSOLUTE, AB, [[f"u:a|b|_x-1|b|a|_x+#|_x-#|_x+#|_x-{row}"] for row in (2, 1)]),
        (ABSOLUTE, [["c"]], [["u:c|c|_x-1|_x+1|_x-1|_x+#|_x-#|_x+#|_x-2"]]),
        ("u%x[ 1, +0]%x[@ 1,0]", AB, [["uba"], ["u_x+1a"]]),
        (
            OUTSIDE,
            A,
            [["u-1:_x-1", "u-4:_x-4", "u-5:_x-#", "u-99:_x-#", "u1:_x+1", "u4:_x+4", "u5:_x+#", "u99:_x+#"]],
        ),
        # A hash begins a comment anywhere.
        ("u:%x[0,0]# x\n#\n  # y\nu2:%x[0,0]\t \r\n", [["#"]], [["u:#", "u2:#"]]),
        # Edge attributes are made at the first position, too.
        ("b%x[0,0]\n*%x[0,0]", A, [["ba", "*a"]]),
        # The first letter is small, and the rest stays.
        ("UA:%x[0,0]\nBB:%x[0,0]", [["A"]], [["uA:A", "bB:A"]]),
        (
            "u1:%x[0,0]\nu2:%x[100000,0]\nu3:%x[-2147483647,0]%x[2147483647,0]",
            A,
            [["u1:a", "u2:_x+#", "u3:_x-#_x+#"]],
        ),
        # Half a character is shown as an escape.
        ('u:%m[0,0,"^."]', [["é"], ["è"], ["日"], ["e"]], [["u:\\xc3"], ["u:\\xc3"], ["u:\\xe6"], ["u:e"]]),
        ('u:%m[0,0,"^."]%m[0,0,".$"]', [["é"]], [["u:é"]]),
        # Capitals outside of ASCII stay.
        ("u:%X[0,0]", [["ÉTÉ-ABC"]], [["u:ÉtÉ-abc"]]),
        (f'u:%t[0,0,"{LONG}"]', [["a" * 60], ["a" * 60 + "b"]], [["u:false"], ["u:true"]]),
        # Wapiti's length of a match includes what a failed attempt at an optional byte counted. If it reaches
        # beyond the cell, the C string ends, and the rest of the attribute is lost.
        (
            'u:%m[0,0,"a?ab"]/z',
            [["ab"], ["abX"], ["xaab"], ["b"]],
            [["u:ab"], ["u:abX/z"], ["u:aab/z"], ["u:/z"]],
        ),
    ],
)
def test_attributes(text, rows, expected):
    assert attributes(text, rows) == expected


def test_a_hash_begins_a_comment_in_patterns_too():
    refuses(r"t:1: .*; # begins a comment, in patterns too", attributes, 'u:%t[0,0,"#"]', A)


# The result of u:%m[0,0,"pattern"]/%t[0,0,"pattern"] for each of these cells.
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


EXPECTED = "expected %x[row,column]"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        *((f"{x}%x[0,0]", "a Wapiti template line begins with u, b, * or #") for x in ("x:", " u:", "")),
        ("u%z[0,0]", 'expected %x[row,column], %t[row,column,"pattern"] or %m'),
        *((f"u%x{x}", EXPECTED) for x in ("[0]", "[0,0", "[@,0]", "[09,0]", "[0x,0]", "[0,-1]", '[0,0,"a"]')),
        *((f"u%t{x}", EXPECTED) for x in ("[0,0]", '[0,0,"a]', '[0,0,"a\\"]', "[0,0,a]")),
        ("u100%", EXPECTED),
        ('u%t[0,0,"*a"]', "'*' follows nothing in '*a'; to match it itself, write \\*"),
        ('u%t[0,0,"^?a"]', "'?' follows nothing"),
        *((f'u%m[0,0,"{x}"]', "'*' follows nothing") for x in ("a**", "a?*")),
        ("u%x[2147483648,0]", "the row or the column is too large in '%x[2147483648,0]'"),
        ("u%x[0,99999999999999999999999]", "the row or the column is too large"),
    ],
)
def test_errors_name_source_and_line(line, message):
    refuses_line(line, message, f"# a comment\nu:%x[0,0]\n{line}\nb", "wapiti")
