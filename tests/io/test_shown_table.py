"""Tables of results: text, HTML and data frames."""

from html.parser import HTMLParser

import pytest

from crfkit import CRF, metrics
from crfkit.features import Features, column
from crfkit.io.shown_table import ShownTable

TRUE = [["B-X", "I-X", "O", "B-<b>&"], ["O", "B-Y"]]
FOUND = [["B-X", "O", "O", "B-<b>&"], ["O", "B-Y"]]
RESULTS = {
    "segment_scores": lambda: metrics.segment_scores(TRUE, FOUND),
    "strict_segment_scores": lambda: metrics.strict_segment_scores(TRUE[1:], FOUND[1:]),
    "token_report": lambda: metrics.token_report(TRUE, FOUND),
    "conlleval": lambda: metrics.conlleval(TRUE, FOUND),
    "confusion_matrix": lambda: metrics.confusion_matrix(TRUE, FOUND),
    "bootstrap": lambda: metrics.bootstrap(TRUE, FOUND, n=10, random_state=0),
    "bootstrap_difference": lambda: metrics.bootstrap_difference(TRUE, FOUND, TRUE, n=10, random_state=0),
    "randomisation_test": lambda: metrics.randomisation_test(TRUE, FOUND, TRUE, n=10, random_state=0),
    "mcnemar": lambda: metrics.mcnemar(TRUE, FOUND, TRUE),
    "explain": lambda: explained(),
    "explain, one sequence": lambda: explained()[0],
    "explain, one position": lambda: explained()[0][0],
    "reliability": lambda: metrics.reliability([0.2, 0.9], [False, True], n_bins=2),
    "features": lambda: Features(column(0, "w")).explain(["<b>&", "x"]),
}


def explained():
    X = [[["w=<b>&"], ["w=b"]], [["w=b"]]]
    return CRF(verbose=False).fit(X, [["<b>&", "O"], ["O"]]).explain(X)


class Reader(HTMLParser):
    """Reads the cells of a table, and checks that all elements are closed."""

    def __init__(self):
        super().__init__()
        self.open, self.rows = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data


def cells_of(html):
    reader = Reader()
    reader.feed(html)
    assert not reader.open
    return reader.rows


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_tables(name):
    result = RESULTS[name]()
    assert "(" not in repr(result).split("\n")[0].split(" ")[0]  # no dataclass: not "Name(…"
    rows = cells_of(result._repr_html_())
    assert len({len(row) for row in rows}) == 1  # all rows have the cells of the head
    assert "<b>" not in result._repr_html_()
    pandas = pytest.importorskip("pandas")
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) > 0


def test_text_and_html_have_the_same_cells():
    table = ShownTable(["", "a", "b"], [[["x", "1", "2"]], [["all", "10", ""]]], ["a note"])
    assert table.text() == "\n".join(["      a  b", "x     1  2", "", "all  10", "", "a note"])
    assert cells_of(table.html()) == [["", "a", "b"], ["x", "1", "2"], ["all", "10", ""]]
    assert "<div>a note</div>" in table.html()


def test_wide_tables_are_continued_below():
    table = ShownTable(["", "one", "two"], [[["row", "1", "2"]]])
    assert table.text(9).splitlines() == ["     one", "row    1", "", "     two", "row    2"]
    assert table.text(2) == table.text(9)  # at least one column


def test_control_characters_are_visible():
    assert "\x1b" not in ShownTable(["", "a"], [[["\x1b[31m", "1"]]]).text()


def test_frames_have_numbers():
    pytest.importorskip("pandas")
    report = metrics.token_report(TRUE, FOUND).to_frame()
    assert report.loc["I-X", "recall"] == 0.0
    assert report.loc["overall", "f1"] == pytest.approx(5 / 6)
    counts = metrics.confusion_matrix(TRUE, FOUND).to_frame()
    assert counts.loc["I-X", "O"] == 1
    assert (counts.index.name, counts.columns.name) == ("true", "predicted")
    found = explained().to_frame()
    assert found.columns[:3].tolist() == ["sequence", "position", "label"]
    assert found["label"].tolist() == ["<b>&", "O", "O"]


def test_intervals_show_no_samples():
    interval = RESULTS["bootstrap"]()
    assert repr(interval).splitlines()[0].split() == ["score", "low", "high", "confidence"]
    assert interval.to_frame().columns.tolist() == ["value", "low", "high", "confidence"]


def test_long_explanations_are_cut():
    X = [[["a"]] * 300]
    model = CRF().fit([[["a"], ["b"]]], [["x", "y"]])
    shown = repr(model.explain(X))
    assert "only the first 200 positions are shown" in shown
    assert len(shown.splitlines()) < 210
