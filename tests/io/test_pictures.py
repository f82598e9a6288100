"""Plots in files."""

import os

import pytest
from refusals import refuses

from crfkit.io.pictures import picture_format, save_picture

pytest.importorskip("matplotlib")


def plot():
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot([1, 2, 3], label="x")
    figure.legend()
    return figure


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "PNG"])
def test_the_same_plot_gives_the_same_bytes(ending, tmp_path, monkeypatch):
    """Also at another time: matplotlib writes it into svg and pdf files."""
    for name, when in (("a", "100000000"), ("b", "200000000")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", when)
        save_picture(plot(), tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_names_of_pictures(tmp_path):
    assert picture_format("a.b.SVG") == "svg"
    refuses("got one in .jpg", save_picture, plot(), tmp_path / "a.jpg")
    refuses("got one without an ending", picture_format, "a")
    assert os.listdir(tmp_path) == []
