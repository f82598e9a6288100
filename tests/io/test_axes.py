"""Axes without pyplot: they show themselves as pictures, and leave no figure open."""

import sys

import numpy as np
import pytest

from crfkit.io.axes import draw_matrix, new_axes, new_row

pytest.importorskip("matplotlib")
PNG = b"\x89PNG"


def test_pyplot_knows_nothing():
    ax, row = new_axes((3, 2)), new_row(2, (2, 2))
    assert ax._repr_png_().startswith(PNG)
    assert row._repr_png_().startswith(PNG)
    assert new_row(0)._repr_png_() is None
    assert len(row[0].figure.axes) == 2
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_the_same_picture_has_the_same_bytes():
    def picture():
        ax = new_axes((3, 2))
        ax.plot([1, 2])
        return ax._repr_png_()

    assert picture() == picture()


def test_a_matrix():
    values = np.array([[1.0, -2.0], [np.nan, 0.0]])
    ax = draw_matrix(
        values, ["$a", "b"], ["x", "long"], signed=True, written=[["1", "2"], ["3", "4"]], name="n"
    )
    assert [text.get_text() for text in ax.texts] == ["1", "2", "4"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["$a", "b"]
    assert ax.images[0].get_clim() == (-2, 2)
    assert ax._repr_png_().startswith(PNG)
    own = new_axes()
    assert (
        draw_matrix(np.zeros((100, 100)), ["l"] * 100, ["l"] * 100, own, written=[["1"] * 100] * 100) is own
    )
    assert not own.texts
    assert len(own.get_xticklabels()) == 50
