"""Which columns are labels, and which are left for the template."""

import pytest
from refusals import refuses

from crfkit.cli.column_roles import Roles, column_place, label_place, tagging_roles
from crfkit.data.columns import Columns
from crfkit.exceptions import InputError

TRAINED = {"columns": 3, "label_column": 2}
FIRST = {"columns": 3, "label_column": 0}


def table(n):
    return Columns.from_rows([[[str(k) for k in range(n)]]], "data.txt")


@pytest.mark.parametrize(
    ("n", "needed", "record", "label", "known", "expected"),
    [
        (3, 2, TRAINED, None, None, Roles(2)),
        (2, 2, TRAINED, None, None, Roles(None)),
        (3, 2, FIRST, None, None, Roles(0)),
        (2, 2, FIRST, None, None, Roles(None)),
        (3, 2, TRAINED, None, "-1", Roles(None, 2)),  # the third column is known labels, not the truth
        (4, 2, TRAINED, None, "-1", Roles(2, 3)),
        (4, 2, TRAINED, None, "0", Roles(3, 0)),
        (5, 2, TRAINED, "3", None, Roles(3)),
        (3, 1, TRAINED, "none", None, Roles(None)),
        (1, 1, TRAINED, None, None, Roles(None)),  # all columns that the template reads
        (2, 2, None, None, None, Roles(None)),  # a model without stored columns
        (3, 2, None, None, None, Roles(2)),
        (5, 2, None, None, None, Roles(4)),
    ],
)
def test_tagging(n, needed, record, label, known, expected):
    assert tagging_roles(table(n), needed, record, label, known) == expected


@pytest.mark.parametrize(
    ("n", "needed", "record", "label", "words"),
    [
        (5, 2, TRAINED, None, "data.txt: rows have 5 columns; the model was trained on 3"),
        (1, 2, None, None, "template uses 2 columns, but rows have 1"),
        (2, 2, TRAINED, "1", "template uses 2 columns, but rows have 1 beside the label"),
        (3, 2, TRAINED, "7", "--label-column 7: the rows have 3 columns, 0 to 2"),
        (3, 2, TRAINED, "pos", "--label-column pos: there is no such column"),
    ],
)
def test_tagging_errors(n, needed, record, label, words):
    with pytest.raises(InputError, match=r"data\.txt: ") as caught:
        tagging_roles(table(n), needed, record, label, None)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("roles", "left"),
    [
        (Roles(3), "012"),
        (Roles(None), "0123"),
        (Roles(0), "123"),
        (Roles(3, 2), "01"),
        (Roles(3, 0), "12"),
        (Roles(1, 3), "02"),
    ],
)
def test_for_template(roles, left):
    (row,) = roles.for_template(table(4))[0]
    assert "".join(row) == left


def test_label_place():
    assert label_place(table(3), None) == 2
    assert label_place(table(3), "-3") == 0
    refuses("rows have one column", label_place, table(1), None)


def test_names_of_a_header():
    class Named:
        names, n_columns, source = ("word", "1"), 2, "t.csv"

    assert column_place(Named(), "word", "--x") == 0
    assert column_place(Named(), "1", "--x") == 1
    assert column_place(Named(), "0", "--x") == 0
    refuses("the columns are word, 1", column_place, Named(), "pos", "--x")
