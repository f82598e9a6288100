"""The frame of pages: values are escaped, nothing is loaded from the network, a missing library is named."""

import sys

import pytest
from html_page import Page

from crfkit.cli import main
from crfkit.exceptions import MissingLibraryError
from crfkit.report import frame, rules_html

BAD = "<script>alert('x')</script>&amp;\"{{ title }}%s"


def test_the_base_page():
    text = frame.render("base.html", title=BAD)
    page = Page(text)
    assert page.words.count(BAD) == 2  # title and heading
    assert page.tags.count("script") == page.tags.count("style") == 1
    assert page.loads == []
    assert "http" not in text.replace("http-equiv", "")
    assert text.startswith("<!DOCTYPE html>")


def test_tables():
    macros = frame._environment().get_template("macros.html").module
    page = Page(str(macros.data_table([(BAD, False), ("n", True)], [[(BAD, None), ("1 %", 1.5)]])))
    assert page.words.count(BAD) == 2
    assert ("data-v", "1.5") in page.attributes
    assert page.attributes.count(("class", "n")) == 2
    assert page.tags.count("button") == 2


def test_without_jinja(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingLibraryError, match=r"Jinja2, which .*pip install 'crfkit\[report\]'"):
        frame.render("base.html", title="x")
    for command in (["mine", "data.txt", "--html"], ["stocks", "backtest", "prices.csv", "--report"]):
        assert main([*command, str(tmp_path / "out.html")]) == 1  # before the data is looked for
        told = capsys.readouterr().err
        assert f"{command[-1]} needs Jinja2" in told
        assert "crfkit[report]" in told


def test_older_names():
    from crfkit.apps.stocks import report_html, write_report
    from crfkit.mining import rules_html as older
    from crfkit.report import stocks_page

    assert (report_html, write_report) == (stocks_page.report_html, stocks_page.write_report)
    assert older is rules_html
